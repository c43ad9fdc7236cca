"""Reads settings from environment variables and fails loudly on a bad value."""

import os
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}


class SettingError(ValueError):
    """Names a variable that has a value that nobody can mean."""


def env_text(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def env_bool(name: str, *, default: bool = False) -> bool:
    word = os.environ.get(name, str(default)).strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise SettingError(f"{name} must be yes or no, not {word!r}")


def env_int(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise SettingError(f"{name} must be a whole number, not {text!r}") from None


def env_list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


def env_path(name: str, default: Path) -> Path:
    return Path(os.environ.get(name) or default).resolve()


def env_place(name: str, default: Path) -> Path | str:
    """Reads a folder, or the URL of a place elsewhere (`s3a://..`), as it is."""
    text = os.environ.get(name, "").strip()
    if text.startswith("file://"):
        return Path(url2pathname(urlsplit(text).path)).resolve()
    return text if "://" in text else env_path(name, default)


def env_folder(name: str, default: Path) -> Path:
    """Reads a folder for those who can only write to a disk."""
    place = env_place(name, default)
    if isinstance(place, str):
        raise SettingError(f"{name} must be a folder of this machine here, not {place}")
    return place

"""Reads what an ad servers' process is told by its environment, its only settings.

Imports nothing of the process itself: where its metrics go is decided before they are made.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from exchange.environment import SettingError, env_folder, env_int, env_path, env_text

CHECKOUT = Path(__file__).resolve().parents[2]
DEFAULT_ADDRESS = "127.0.0.1:8001"
SALT_CHARACTERS = 32
INSECURE_SECRET = "development-only-secret-never-use-it-in-production"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings. `answers_every`: one answer in so many is kept; 0 keeps none. `visits_one_in`:
    the visits of one user in so many are logged; 0 logs none. `visits_per_second` is for each API
    key and process."""

    host: str
    port: int
    processes: int
    snapshot_dir: Path
    visits_per_second: int
    metrics_token: str
    answers_every: int
    answers_dir: Path
    answers_days: int
    answers_bytes: int
    answers_salt: str
    visits_one_in: int
    visits_dir: Path
    visits_days: int
    visits_bytes: int
    visits_salt: str
    log_level: str


def read_configuration() -> Configuration:
    var = env_path("TREELINE_VAR", CHECKOUT / "var")
    host, port = read_address("TREELINE_SERVING_ADDRESS", DEFAULT_ADDRESS)
    every = env_int("TREELINE_ANSWER_LOG_EVERY", 100)
    one_in = read_one_in("TREELINE_VISIT_LOG_ONE_IN")
    return Configuration(
        host=host,
        port=port,
        processes=max(env_int("TREELINE_SERVING_PROCESSES", 1), 1),
        snapshot_dir=env_path("TREELINE_SNAPSHOT_DIR", var / "snapshots"),
        visits_per_second=env_int("TREELINE_ELIGIBILITY_RATE", 50_000),
        metrics_token=env_text("TREELINE_METRICS_TOKEN"),
        answers_every=every,
        answers_dir=env_path("TREELINE_ANSWER_LOG_DIR", var / "answers"),
        answers_days=env_int("TREELINE_ANSWER_LOG_DAYS", 14),
        answers_bytes=env_int("TREELINE_ANSWER_LOG_MEGABYTES", 5_000) * 1_000_000,
        answers_salt=read_salt("TREELINE_ANSWER_LOG_SALT", var / "answer-log-salt")
        if every
        else "",
        visits_one_in=one_in,
        visits_dir=env_folder("TREELINE_VISIT_LOG_DIR", var / "visits") if one_in else var,
        visits_days=env_int("TREELINE_VISIT_LOG_DAYS", 35),
        visits_bytes=env_int("TREELINE_VISIT_LOG_MEGABYTES", 50_000) * 1_000_000,
        visits_salt=read_salt("TREELINE_VISIT_LOG_SALT", var / "visit-log-salt") if one_in else "",
        log_level=env_text("TREELINE_LOG_LEVEL", "INFO"),
    )


def read_address(name: str, default: str) -> tuple[str, int]:
    """Reads a host and a port, as `127.0.0.1:8001` or `[::1]:8001`."""
    text = env_text(name) or default
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingError(f"{name} must be a host and a port like {default}, not {text!r}")
    return host.strip("[]"), int(port)


def read_one_in(name: str) -> int:
    one_in = env_int(name, 0)
    if one_in < 0:
        raise SettingError(f"{name} must be 0 for none, or one user in so many, not {one_in}")
    return one_in


def read_salt(name: str, kept_in: Path) -> str:
    """Reads the salt that hashes what of a visit could name a person, before it is kept. It is the
    log's own: whoever changes or learns the key of people's sessions neither changes nor learns who
    is who in the log. It is kept away from the log, which others may read; several machines share
    it by the setting."""
    given = env_text(name)
    if given and len(given) < SALT_CHARACTERS:
        raise SettingError(f"{name} must be a random text of at least {SALT_CHARACTERS} characters")
    try:
        return given or keep_salt(kept_in)
    except OSError as error:
        raise SettingError(
            f"a log's salt cannot be kept in {kept_in} ({error.strerror}): set {name}"
        ) from error


def keep_salt(path: Path) -> str:
    """Reads the salt, and writes it first if there is none: a link is made whole or not at all."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        with suppress(FileExistsError):
            os.link(aside, path)
        aside.unlink()
    return path.read_text()

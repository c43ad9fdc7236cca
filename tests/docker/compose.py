"""Reads compose.yml as `docker compose` does: merged, with `${..}` filled in."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
COMPOSE = CHECKOUT / "docker" / "compose.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
PLACEHOLDER = re.compile(r"\$(?:\$|\{(\w+)(?:(:[?-])([^}]*))?\})")


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Fills in `${NAME}`, `${NAME:-default}`, `${NAME:?what it is}`, and `$$` for one dollar."""

    def value_of(found: re.Match[str]) -> str:
        name, operator, rest = found.groups()
        if name is None:
            return "$"
        value = values.get(name, "")
        if operator == ":?":
            assert value, f"{name} is needed: {rest}"
        return value or (rest if operator == ":-" else "")

    return PLACEHOLDER.sub(value_of, text)

"""Reads the demo's word lists (`words/*.json`) into frozen values."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

FOLDER = Path(__file__).with_name("words")


@cache
def read_words(name: str) -> dict[str, Any]:
    words: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return words


def build(kind: type[T], row: dict[str, Any]) -> T:
    """Builds one value of a row; lists become tuples, so that values stay hashable."""
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})


def build_all(kind: type[T], rows: list[dict[str, Any]]) -> tuple[T, ...]:
    return tuple(build(kind, row) for row in rows)

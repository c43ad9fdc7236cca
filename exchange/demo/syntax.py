"""Writes literals of the targeting language, so that generators never paste quotes themselves."""

from __future__ import annotations

from collections.abc import Iterable


def text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def texts(values: Iterable[str]) -> str:
    return "(" + ", ".join(text(value) for value in values) + ")"


def numbers(values: Iterable[int]) -> str:
    return "(" + ", ".join(str(value) for value in values) + ")"


def either(attribute: str, values: Iterable[str]) -> str:
    """Writes `= 'a'` for one value, `in (..)` for more."""
    listed = sorted(set(values))
    if len(listed) == 1:
        return f"{attribute} = {text(listed[0])}"
    return f"{attribute} in {texts(listed)}"


def all_of(parts: Iterable[str]) -> str:
    """Joins parts with `and`; each part must already bind tighter than `and`."""
    return " and ".join(parts)


def any_of(parts: Iterable[str]) -> str:
    """Joins parts with `or` in parentheses, so that the result may stand anywhere."""
    listed = list(parts)
    return listed[0] if len(listed) == 1 else "(" + " or ".join(listed) + ")"


def or_missing(attribute: str, condition: str) -> str:
    """Writes the builder's "also when missing"."""
    return f"({condition} or {attribute} is missing)"

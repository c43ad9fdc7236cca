"""Defines what a row of Today is."""

from __future__ import annotations

from dataclasses import dataclass

from exchange.reading.troubles import Change


@dataclass(frozen=True, slots=True)
class Action:
    """A link; or, with a question that is asked first, a form that changes something."""

    label: str
    url: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """One of those that a row is about."""

    name: str
    url: str
    said: str = ""


@dataclass(frozen=True, slots=True)
class Matter:
    """A row. `visits` a day are at stake, None where that is not known; `source` says where the row
    comes from: the last check, the last night's count, or the moment of asking."""

    what: str
    source: str
    said: str = ""
    visits: int | None = None
    is_at_least: bool = False
    is_urgent: bool = False
    change: Change | None = None
    named: tuple[Named, ...] = ()
    actions: tuple[Action, ...] = ()


def count_words(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"

"""Holds what a table answers, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Step:
    """Of the visits that came here: passed, false, and the rest unknown. `name` is the definition
    of an edge or of a reach, or `campaign`."""

    name: str
    passed: int
    false: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """The way of a booking's visits: all of the publisher's that carry what is required, then step
    by step."""

    visits: int
    steps: tuple[Step, ...]

    @property
    def eligible(self) -> int:
        return self.steps[-1].passed


@dataclass(frozen=True, slots=True)
class Blocker:
    """A condition, and the visits that satisfy all of a booking but this."""

    condition: str
    visits: int


@dataclass(frozen=True, slots=True)
class Way:
    """A path by its edges' ids, what its fees leave of 1, and the eligible visits whose cheapest
    way it is."""

    edges: tuple[int, ...]
    share: Fraction
    visits: int


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """An edge that visits cannot do without, all else being as the booking asks: `depending` ones
    satisfy it and are eligible, `blocked` ones do not and would be."""

    edge: int
    depending: int
    blocked: int


@dataclass(frozen=True, slots=True)
class BookingImpact:
    """Of one booking's publisher: visits that its path is open for, and those of them that the
    expression is true of."""

    booking: str
    open: int
    eligible: int


@dataclass(frozen=True, slots=True)
class Impact:
    """What an expression does to the visits of a table. `visits` and `users` are those that it is
    true of, whoever's; `open` and `eligible` of all bookings together, each visit once. `gains`
    are the visits (eligible ones, where there are bookings) that dropping a condition would add."""

    visits: int
    users: int
    by_publisher: Mapping[str | None, int]
    open: int
    eligible: int
    bookings: tuple[BookingImpact, ...]
    gains: tuple[Blocker, ...]


class ByBooking(Mapping[int, Result]):
    """Results by booking, each made when it is read: numbers of a hundred thousand bookings take
    less time to count than to wrap."""

    def __init__(self, ids: Iterable[int], make: Callable[[int], Result]) -> None:
        """Makes results when they are asked for; `make` takes the place of an id."""
        self._places = {booking: place for place, booking in enumerate(ids)}
        self._make = make

    def __getitem__(self, booking: int) -> Result:
        return self._make(self._places[booking])

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))


def make_steps(visits: int, names: list[str], counts: list[int]) -> Funnel:
    """Makes a funnel of (passed, false) pairs, one for each name."""
    steps = []
    came = visits
    for name, passed, false in zip(names, counts[::2], counts[1::2], strict=True):
        steps.append(Step(name, passed, false, came - passed - false))
        came = passed
    return Funnel(visits, tuple(steps))

"""Which values stand in which of several long lists: the regions of a Venn diagram.

All values of a region are alike to those lists, so an analysis needs few of each. The regions of
lists that are kept (long_lists.py) are kept too, for the next analysis.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from targeting.budget import Budget, OutOfBudgetError
from targeting.long_lists import KEPT, LongList, Same, sort_once

Numbers = NDArray[np.int64]
MAX_LISTS = 60  # as bits of a word
MAX_WHOLE = 2**53  # up to which a float holds every whole number
ORDER = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """`lists` are bits by the list's place."""

    lists: int
    members: set[Any] | frozenset[Any]

    def first(self, count: int, *, beside: Container[Any]) -> list[Any]:
        return list(islice((value for value in self.members if value not in beside), count))


@dataclass(frozen=True, slots=True, eq=False)
class NumberRegions:
    """The same of numbers, in ascending order. `named` are those of any list; `shifted` is each of
    them less its place, which tells where a number is missing."""

    regions: tuple[Numbers, ...]
    named: Numbers
    shifted: Numbers

    def between(self, low: int, high: int) -> Iterator[int]:
        """One number of each region, and one that no list names, as far as there are any."""
        for region in self.regions:
            place = int(region.searchsorted(low))
            if place < len(region) and region[place] <= high:
                yield int(region[place])
        place = int(self.named.searchsorted(low))
        gap = int(self.shifted.searchsorted(low - place, side="right"))
        if (missing := low + max(gap - place, 0)) <= high:
            yield missing


def distinct(lists: Sequence[LongList]) -> tuple[LongList, ...]:
    """The same values may be used by several conditions."""
    return tuple({id(each.values): each for each in lists}.values())


def find_regions(lists: tuple[LongList, ...], budget: Budget) -> Sequence[Region]:
    budget.look_once(identity(lists), sum(map(len, lists)) * len(lists))
    return keep_regions(lists) if are_kept(lists) else split(lists)


def find_number_regions(
    lists: tuple[LongList, ...], budget: Budget, *, is_float: bool
) -> NumberRegions:
    """Of floats: of their places among all floats."""
    if len(lists) > MAX_LISTS:
        raise OutOfBudgetError
    budget.look_once(identity(lists), sum(map(len, lists)) * len(lists))
    made = keep_number_regions if are_kept(lists) else split_numbers
    return made(lists, is_float)


def identity(lists: Sequence[LongList]) -> tuple[Same, ...]:
    return tuple(Same(each.values) for each in lists)


def are_kept(lists: Sequence[LongList]) -> bool:
    return all(len(each) >= KEPT for each in lists)


def split(lists: tuple[LongList, ...]) -> list[Region]:
    """One list after the other cuts the regions so far in two."""
    found = [Region(1, lists[0].members)] if lists else []
    for place, each in enumerate(lists[1:], start=1):
        cut: list[Region] = []
        for region in found:
            inside = region.members & each.members
            cut += [Region(region.lists | 1 << place, inside)] if inside else []
            if len(inside) < len(region.members):
                cut.append(Region(region.lists, region.members - inside))
        beside = each.members.difference(*(region.members for region in found))
        found = [*cut, Region(1 << place, beside)] if beside else cut
    return found


keep_regions = lru_cache(maxsize=8)(split)


def split_numbers(lists: tuple[LongList, ...], is_float: bool) -> NumberRegions:
    numbers = [places_of_floats(each) if is_float else each.whole_numbers for each in lists]
    named = sort_once(np.concatenate(numbers))
    bits = np.zeros(len(named), np.int64)
    for place, each in enumerate(numbers):
        bits[named.searchsorted(each)] |= 1 << place
    regions = tuple(named[bits == lists_of] for lists_of in sort_once(bits))
    return NumberRegions(regions, named, named - np.arange(len(named)))


keep_number_regions = lru_cache(maxsize=8)(split_numbers)


def places_of_floats(values: LongList) -> Numbers:
    """Of a list of whole numbers, or of floats. One that floats hold only nearly is none of them,
    which nobody needs to tell apart."""
    if any(abs(value) > MAX_WHOLE for value in values.values if isinstance(value, int)):
        raise OutOfBudgetError
    floats = np.fromiter(map(float, values.values), np.float64, len(values)) + 0.0
    bits = floats.view(np.int64)
    return sort_once(np.where(bits < 0, (bits ^ ORDER) + 1, bits))


def place_of_float(value: float) -> int:
    """Neighbouring floats have neighbouring places; there is only one zero."""
    bits = int(np.float64(value + 0.0).view(np.int64))
    return (bits ^ ORDER) + 1 if bits < 0 else bits


def float_at(place: int) -> float:
    return float(np.int64((place - 1) ^ ORDER if place < 0 else place).view(np.float64))


HIGHEST_FLOAT = place_of_float(math.nextafter(math.inf, 0))
LOWEST_FLOAT = place_of_float(math.nextafter(-math.inf, 0))


def pieces(bounds: Sequence[int], lowest: int, highest: int) -> Iterator[tuple[int, int]]:
    """Each bound alone, and what lies between: from and to, both included."""
    start = lowest
    for bound in sorted({bound for bound in bounds if lowest <= bound <= highest}):
        if start < bound:
            yield start, bound - 1
        yield bound, bound
        start = bound + 1
    if start <= highest:
        yield start, highest

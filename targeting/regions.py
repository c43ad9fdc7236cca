"""Finds which values stand in which of several long lists: the regions of a Venn diagram.

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
MAX_LISTS = 60  # each takes a bit of a word
MAX_WHOLE = 2**53  # a float holds every whole number up to here
ORDER = 2**63 - 1  # all bits but the sign: turns the order of negative floats' bits around


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Values that stand in the same lists. Bit i of `lists` is set for the i-th list."""

    lists: int
    members: set[Any] | frozenset[Any]

    def first(self, count: int, *, beside: Container[Any]) -> list[Any]:
        return list(islice((value for value in self.members if value not in beside), count))


@dataclass(frozen=True, slots=True, eq=False)
class NumberRegions:
    """Regions of numbers, each ascending. `named` are the numbers of any list; `shifted` is each
    of them less its place, which tells where a number is missing."""

    regions: tuple[Numbers, ...]
    named: Numbers
    shifted: Numbers

    def between(self, low: int, high: int) -> Iterator[int]:
        """Yields one number of each region, and one that no list names, as far as there are any."""
        for region in self.regions:
            place = int(region.searchsorted(low))
            if place < len(region) and region[place] <= high:
                yield int(region[place])
        place = int(self.named.searchsorted(low))
        gap = int(self.shifted.searchsorted(low - place, side="right"))
        if (missing := low + max(gap - place, 0)) <= high:
            yield missing


def distinct(lists: Sequence[LongList]) -> tuple[LongList, ...]:
    """Leaves each list of values once, though several conditions may use it."""
    return tuple({id(each.values): each for each in lists}.values())


def find_regions(lists: tuple[LongList, ...], budget: Budget) -> Sequence[Region]:
    budget.look_once(identity(lists), sum(map(len, lists)) * len(lists))
    return keep_regions(lists) if are_kept(lists) else split(lists)


def find_number_regions(
    lists: tuple[LongList, ...], budget: Budget, *, is_float: bool
) -> NumberRegions:
    """Finds the regions of numbers; a float is told by its place among all floats."""
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
    """Splits the values into regions: each list in turn cuts the regions so far in two."""
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
    """Finds the places of a list's numbers among all floats. Gives up where a whole number has no
    float of its own."""
    if any(abs(value) > MAX_WHOLE for value in values.values if isinstance(value, int)):
        raise OutOfBudgetError
    floats = np.fromiter(map(float, values.values), np.float64, len(values)) + 0.0
    bits = floats.view(np.int64)
    return sort_once(np.where(bits < 0, (bits ^ ORDER) + 1, bits))


def place_of_float(value: float) -> int:
    """Numbers all floats in their order: neighbours have neighbouring places, both zeros one."""
    bits = int(np.float64(value + 0.0).view(np.int64))
    return (bits ^ ORDER) + 1 if bits < 0 else bits


def float_at(place: int) -> float:
    return float(np.int64((place - 1) ^ ORDER if place < 0 else place).view(np.float64))


HIGHEST_FLOAT = place_of_float(math.nextafter(math.inf, 0))
LOWEST_FLOAT = place_of_float(math.nextafter(-math.inf, 0))


def pieces(bounds: Sequence[int], lowest: int, highest: int) -> Iterator[tuple[int, int]]:
    """Yields each bound alone and what lies between, as pairs (from, to), both included."""
    start = lowest
    for bound in sorted({bound for bound in bounds if lowest <= bound <= highest}):
        if start < bound:
            yield start, bound - 1
        yield bound, bound
        start = bound + 1
    if start <= highest:
        yield start, highest

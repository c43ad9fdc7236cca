"""Lists values that between them reach every class of an attribute's conditions that can be listed.

Few values of long lists are tried: all values of a region (regions.py) are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, product
from typing import Any

from targeting.budget import Budget
from targeting.catalog import Attribute, AttributeType
from targeting.conditions import MAX_READ, PATTERNS, Condition, TooManyClassesError
from targeting.long_lists import LongList
from targeting.operators import DAY_MINUTES, TESTS, WEEK_MINUTES, read_network, read_schedule
from targeting.regions import (
    HIGHEST_FLOAT,
    LOWEST_FLOAT,
    Region,
    distinct,
    find_number_regions,
    find_regions,
    float_at,
    pieces,
    place_of_float,
)

MAX_CLASSES = 4096
# What testing a pattern, or looking a host up in a long list, costs: in values looked at.
PATTERN_STEPS, HOST_STEPS = 5, 10
INTEGERS = -(2**63), 2**63 - 1
MONDAY_MS = 4 * DAY_MINUTES * 60_000  # 1970-01-05, the first Monday
Asked = tuple[Sequence[Condition], Iterable[Any]]


def candidates(attribute: Attribute, conditions: Sequence[Condition], budget: Budget) -> Asked:
    """Gives the values to try and the conditions to try them on: lists of sets are shortened."""
    kind = attribute.type
    if kind in (AttributeType.STRING_SET, AttributeType.INTEGER_SET):
        return sets_of(conditions, budget)
    return conditions, values_of(kind, conditions, budget)


def values_of(
    kind: AttributeType, conditions: Sequence[Condition], budget: Budget
) -> Iterable[Any]:
    if kind is AttributeType.BOOLEAN:
        return (True, False)
    if kind is AttributeType.STRING:
        return texts_of(conditions, budget)
    if kind is AttributeType.GEO:
        return places_of(conditions)
    if kind is AttributeType.IP:
        return addresses_of(conditions)
    if kind is AttributeType.FLOAT:
        return floats_of(conditions, budget)
    if kind is AttributeType.INTEGER:
        return integers_of(conditions, budget)
    return times_of(conditions)


def short_operands(conditions: Iterable[Condition]) -> dict[Any, None]:
    """Collects the operands of conditions without a long list, each once."""
    short = (c.listed for c in conditions if c.long is None and c.operator != "during")
    return dict.fromkeys(chain.from_iterable(short))


def all_operands(conditions: Iterable[Condition]) -> dict[Any, None]:
    return dict.fromkeys(chain.from_iterable(condition.listed for condition in conditions))


def long_lists(conditions: Iterable[Condition]) -> tuple[LongList, ...]:
    return distinct([c.long for c in conditions if c.long is not None])


# Texts.


def texts_of(conditions: Sequence[Condition], budget: Budget) -> Iterator[str]:
    named = short_operands(conditions)
    yield from named
    yield fresh_text(conditions)
    for condition in conditions:
        if condition.operator == "under" and condition.long is not None:
            yield from condition.listed[:MAX_READ]  # as witnesses; free classes miss none anyway
    equal = [condition for condition in conditions if condition.operator == "in"]
    patterns = [condition for condition in conditions if condition.operator in PATTERNS]
    for region in find_regions(long_lists(equal), budget):
        beside = frozenset(text for text in named if text in region.members)
        if patterns:
            yield from find_first_of_each(region, beside, patterns, budget)
        else:
            yield from region.first(1, beside=beside)


def find_first_of_each(
    region: Region, beside: frozenset[str], patterns: Sequence[Condition], budget: Budget
) -> Iterable[str]:
    """Finds one text of the region for each combination of the patterns' answers."""
    if any(pattern.long for pattern in patterns):
        budget.look_at(HOST_STEPS * len(region.members) * len(patterns))
        return first_of_each(region, beside, [pattern.truth_of for pattern in patterns])
    tests = tuple((pattern.operator, tuple(pattern.listed)) for pattern in patterns)
    steps = PATTERN_STEPS * len(region.members) * len(tests)
    budget.look_once((region, beside, tests), steps)
    return keep_first_of_each(region, beside, tests)


@lru_cache(maxsize=16)
def keep_first_of_each(
    region: Region, beside: frozenset[str], tests: tuple[tuple[str, tuple[str, ...]], ...]
) -> Iterable[str]:
    return first_of_each(
        region, beside, [partial(test_pattern, operator, listed) for operator, listed in tests]
    )


def test_pattern(operator: str, listed: tuple[str, ...], text: str) -> bool:
    return TESTS[operator](text, listed)


def first_of_each(
    region: Region, beside: frozenset[str], tests: Sequence[Callable[[str], object]]
) -> tuple[str, ...]:
    found: dict[tuple[object, ...], str] = {}
    for text in region.members:
        if text not in beside:
            found.setdefault(tuple([test(text) for test in tests]), text)
    return tuple(found.values())


def fresh_text(conditions: Iterable[Condition]) -> str:
    """Makes a text that equals no operand and fits few patterns: a long row of a rare character."""
    longest = [c.long.longest if c.long else max(map(len, c.listed), default=0) for c in conditions]
    return "\x01" * (max(longest, default=0) + 1)


# Numbers and times.


def integers_of(conditions: Sequence[Condition], budget: Budget) -> Iterator[int]:
    bounds = short_operands(conditions)
    lists = long_lists(conditions)
    if not lists:
        yield from integers_around(bounds)
        return
    regions = find_number_regions(lists, budget, is_float=False)
    for low, high in pieces(list(bounds), *INTEGERS):
        yield from regions.between(low, high)


def floats_of(conditions: Sequence[Condition], budget: Budget) -> Iterator[float]:
    bounds = short_operands(conditions)
    lists = long_lists(conditions)
    if not lists:
        yield from floats_around(bounds)
        return
    regions = find_number_regions(lists, budget, is_float=True)
    places = [place_of_float(bound) for bound in bounds]
    for low, high in pieces(places, LOWEST_FLOAT, HIGHEST_FLOAT):
        yield from map(float_at, regions.between(low, high))


def integers_around(bounds: Iterable[int]) -> Iterator[int]:
    """Yields the neighbours of bounds: between two bounds all integers are alike."""
    yield 0
    for bound in bounds:
        for value in (bound - 1, bound, bound + 1):
            if -(2**63) <= value < 2**63:
                yield value


def floats_around(bounds: Iterable[float]) -> Iterator[float]:
    yield 0.0
    for bound in bounds:
        for value in (math.nextafter(bound, -math.inf), bound, math.nextafter(bound, math.inf)):
            if math.isfinite(value):
                yield value


def times_of(conditions: Sequence[Condition]) -> Iterator[int]:
    """Yields the neighbours of bounds, and of the first and last minute of each schedule entry."""
    yield from integers_around(all_operands(c for c in conditions if c.operator != "during"))
    for condition in conditions:
        if condition.operator == "during":
            for start, length in read_schedule(str(condition.listed[0])):
                for minute in (start - 1, start, start + length - 1, start + length):
                    yield MONDAY_MS + minute % WEEK_MINUTES * 60_000


# Addresses and places.


def addresses_of(conditions: Sequence[Condition]) -> Iterator[int]:
    yield 0
    for operand in all_operands(conditions):
        if isinstance(operand, str):
            base, mask = read_network(operand)
            last = base | ~mask & (1 << 128) - 1
        else:
            base = last = int(operand)
        for value in (base - 1, base, last, last + 1):
            if 0 <= value < 1 << 128:
                yield value


def places_of(conditions: Iterable[Condition]) -> Iterator[tuple[float, float]]:
    """Yields the centres of areas: enough to witness each condition alone."""
    yield 0.0, 0.0
    for condition in conditions:
        numbers = [float(number) for number in condition.listed]
        if condition.operator == "within":
            yield numbers[0], numbers[1]
        elif condition.operator == "inside polygon":
            half = len(numbers) // 2
            yield sum(numbers[::2]) / half, sum(numbers[1::2]) / half


# Sets.


def sets_of(conditions: Sequence[Condition], budget: Budget) -> Asked:
    """Makes sets of elements, and shortens the conditions' lists to the elements that are used.
    Elements that stand in the same lists are alike, so that a few of each kind suffice."""
    sizes = [int(c.listed[0]) for c in conditions if c.predicate.counted]
    most = max(sizes, default=0) + 1  # all larger counts are alike
    if most > MAX_CLASSES:
        raise TooManyClassesError
    listing = [condition for condition in conditions if condition.lists_elements]
    groups = group_elements(listing, max(most, 1) + 1 if sizes else 2, budget)
    kept = [list_kept(condition, listing, groups) for condition in conditions]
    members = [*groups.values(), fresh_elements(groups.values(), max(most, 0))]
    options = [choices(len(group), counted=bool(sizes)) for group in members]
    if math.prod(len(option) for option in options) > MAX_CLASSES:
        raise TooManyClassesError
    return kept, (
        frozenset(
            element
            for group, count in zip(members, chosen, strict=True)
            for element in group[:count]
        )
        for chosen in product(*options)
    )


Groups = dict[tuple[bool, ...], list[Any]]  # elements, by which conditions list them


def group_elements(listing: Sequence[Condition], count: int, budget: Budget) -> Groups:
    """Takes at most `count` elements for each combination of lists that elements stand in."""
    groups: Groups = {}
    named = short_operands(listing)
    budget.look_at(len(named) * len(listing))
    members = [c.long.members if c.long else frozenset(c.listed) for c in listing]
    for element in sorted(named):
        group = groups.setdefault(tuple(element in each for each in members), [])
        if len(group) < count:
            group.append(element)
    for region in find_regions(long_lists(listing), budget):
        for element in region.first(count, beside=named):
            group = groups.setdefault(tuple(element in each for each in members), [])
            if len(group) < count:
                group.append(element)
    return groups


def list_kept(condition: Condition, listing: Sequence[Condition], groups: Groups) -> Condition:
    """Shortens the condition's list to the elements that were kept."""
    if not condition.lists_elements:
        return condition
    place = next(i for i, other in enumerate(listing) if other is condition)
    kept = [element for lists, group in groups.items() if lists[place] for element in group]
    return replace(condition, listed=frozenset(kept), long=None)  # type: ignore[arg-type]


def fresh_elements(groups: Iterable[list[Any]], count: int) -> list[Any]:
    """Makes elements that no list names, enough to tell the counts apart."""
    known = list(chain.from_iterable(groups))
    if any(isinstance(element, int) for element in known):
        start = max(known) + 1
        return list(range(start, start + count))
    longest = max(map(len, known), default=0)
    return ["\x01" * (longest + 1 + extra) for extra in range(count)]


def choices(size: int, *, counted: bool) -> list[int]:
    return list(range(size + 1)) if counted else sorted({0, min(1, size), size})

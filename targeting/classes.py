"""The ways in which one attribute can make its conditions true, false or undefined.

All values of an attribute that give its conditions the same truths are one class. A class is
*witnessed* when a value that gives those truths is at hand. Where the values cannot be listed
(patterns, places), classes are added that may be impossible, but none that is possible is left
out: so "no class does it" is always right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from targeting.catalog import UTC_OFFSET, Attribute, AttributeType
from targeting.evaluator import Context, Truth, operands_of, test
from targeting.operators import DAY_MINUTES, WEEK_MINUTES, is_under, read_network, read_schedule
from targeting.tree import Predicate
from targeting.visits import TypedVisit, Value

MAX_FREE = 8  # conditions whose truths are combined freely
MAX_CLASSES = 4096
PATTERNS = frozenset({"starts with", "ends with", "contains", "like", "under"})
PLACES = frozenset({"within", "inside polygon"})
MONDAY_MS = 4 * DAY_MINUTES * 60_000  # 1970-01-05, the first Monday


class TooManyClassesError(Exception):
    """The attribute's conditions have more classes than can be looked at."""


@dataclass(frozen=True, slots=True)
class ValueClass:
    """Truths in the order of the conditions that they belong to."""

    truths: tuple[Truth, ...]
    witnessed: bool


def classes_of(
    attribute: Attribute, predicates: Sequence[Predicate], context: Context
) -> list[ValueClass]:
    """All classes of the attribute's values, those with a witness first."""
    missing = truths_of(predicates, context, {})
    # Without a required attribute a visit is eligible for nothing: that class does not count.
    found = {} if attribute.required else {missing: True}
    for value in candidates(attribute, predicates, context):
        found[truths_of(predicates, context, {UTC_OFFSET: 0, attribute.name: value})] = True
        if attribute.type is AttributeType.TIMESTAMP_LOCAL:
            found[truths_of(predicates, context, {attribute.name: value})] = True
    known = [truths for truths in found if truths != missing]
    for truths in free_classes(attribute, predicates, context, known):
        found.setdefault(truths, False)
    if len(found) > MAX_CLASSES:
        raise TooManyClassesError
    return [ValueClass(truths, witnessed) for truths, witnessed in found.items()]


def truths_of(
    predicates: Sequence[Predicate], context: Context, values: dict[str, Value]
) -> tuple[Truth, ...]:
    there = replace(context, visit=TypedVisit(values, ()))
    return tuple(test(predicate, there) for predicate in predicates)


def candidates(
    attribute: Attribute, predicates: Sequence[Predicate], context: Context
) -> Iterator[Any]:
    """Values that between them reach every class that can be listed."""
    kind = attribute.type
    if kind is AttributeType.BOOLEAN:
        yield from (True, False)
    elif kind in (AttributeType.STRING_SET, AttributeType.INTEGER_SET):
        yield from sets_of(predicates, context)
    elif kind is AttributeType.STRING:
        operands = flat_operands(predicates, context)
        yield from operands
        yield fresh_text(operands)
    elif kind is AttributeType.GEO:
        yield from places_of(predicates)
    elif kind is AttributeType.IP:
        yield from addresses_of(predicates, context)
    elif kind is AttributeType.FLOAT:
        yield from floats_around(flat_operands(predicates, context))
    else:
        yield from integers_around(flat_operands(predicates, context))
        yield from times_of(predicates)


def flat_operands(predicates: Iterable[Predicate], context: Context) -> list[Any]:
    return [
        operand
        for predicate in predicates
        if predicate.operator != "during"
        for operand in operands_of(predicate, context)
    ]


def fresh_text(operands: Iterable[Any]) -> str:
    """A text that is none of these, nor begins, ends or contains with most of them."""
    longest = max((len(text) for text in operands), default=0)
    return "\x01" * (longest + 1)


def integers_around(bounds: Iterable[int]) -> Iterator[int]:
    """Between two bounds all integers are alike, so neighbours of the bounds reach them all."""
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


def times_of(predicates: Iterable[Predicate]) -> Iterator[int]:
    """The first and last minute of every entry of a schedule, and their neighbours."""
    for predicate in predicates:
        if predicate.operator == "during":
            for start, length in read_schedule(str(predicate.operands[0])):
                for minute in (start - 1, start, start + length - 1, start + length):
                    yield MONDAY_MS + minute % WEEK_MINUTES * 60_000


def addresses_of(predicates: Iterable[Predicate], context: Context) -> Iterator[int]:
    yield 0
    for predicate in predicates:
        for operand in operands_of(predicate, context):
            if isinstance(operand, str):
                base, mask = read_network(operand)
                last = base | ~mask & (1 << 128) - 1
            else:
                base = last = int(operand)
            for value in (base - 1, base, last, last + 1):
                if 0 <= value < 1 << 128:
                    yield value


def places_of(predicates: Iterable[Predicate]) -> Iterator[tuple[float, float]]:
    """Centres: enough to witness a condition alone."""
    yield 0.0, 0.0
    for predicate in predicates:
        numbers = [float(number) for number in predicate.operands]
        if predicate.operator == "within":
            yield numbers[0], numbers[1]
        elif predicate.operator == "inside polygon":
            half = len(numbers) // 2
            yield sum(numbers[::2]) / half, sum(numbers[1::2]) / half


def sets_of(predicates: Sequence[Predicate], context: Context) -> Iterator[frozenset[Any]]:
    """Elements that stand in the same lists are alike: none, some or all of them are chosen."""
    lists = [
        frozenset(operands_of(predicate, context))
        for predicate in predicates
        if uses_list(predicate)
    ]
    sizes = [int(p.operands[0]) for p in predicates if p.counted]
    alike: dict[tuple[bool, ...], list[Any]] = {}
    for element in sorted(frozenset().union(*lists)):
        alike.setdefault(tuple(element in values for values in lists), []).append(element)
    groups = [*alike.values(), fresh_elements(lists, max(sizes, default=0) + 1)]
    options = [choices(len(group), counted=bool(sizes)) for group in groups]
    if math.prod(len(option) for option in options) > MAX_CLASSES:
        raise TooManyClassesError
    for chosen in product(*options):
        yield frozenset(
            element
            for group, count in zip(groups, chosen, strict=True)
            for element in group[:count]
        )


def uses_list(predicate: Predicate) -> bool:
    return not predicate.counted and predicate.operator.endswith(" of")


def fresh_elements(lists: Sequence[frozenset[Any]], count: int) -> list[Any]:
    """Elements that no list names, enough to tell the counts apart."""
    if count > MAX_CLASSES:
        raise TooManyClassesError
    known = frozenset().union(*lists)
    if any(isinstance(element, int) for element in known):
        start = max(known) + 1
        return list(range(start, start + count))
    return [fresh_text(known) + "\x01" * extra for extra in range(count)]


def choices(size: int, *, counted: bool) -> list[int]:
    return list(range(size + 1)) if counted else sorted({0, min(1, size), size})


def free_classes(
    attribute: Attribute,
    predicates: Sequence[Predicate],
    context: Context,
    known: list[tuple[Truth, ...]],
) -> Iterator[tuple[Truth, ...]]:
    """Classes of values that cannot be listed: every combination that is not surely impossible.

    A text that no condition names is beside all equalities. Schedules are free beside the
    comparisons of the same time.
    """
    free = [i for i, p in enumerate(predicates) if is_free_beside(p, predicates)]
    if not free:
        return
    if len(free) > MAX_FREE:
        raise TooManyClassesError
    if attribute.type is AttributeType.STRING:
        other = fresh_text(flat_operands(predicates, context))
        known = [truths_of(predicates, context, {attribute.name: other})]
    for combined in product((True, False), repeat=len(free)):
        own: dict[int, Truth] = dict(zip(free, combined, strict=True))
        if not is_impossible([(predicates[i], truth) for i, truth in own.items()]):
            for truths in known:
                yield tuple(own.get(i, truth) for i, truth in enumerate(truths))


def is_free_beside(predicate: Predicate, others: Sequence[Predicate]) -> bool:
    if predicate.operator == "during":
        return any(p.operator not in ("during", "is present", "is missing") for p in others)
    return predicate.operator in PATTERNS or predicate.operator in PLACES


def is_impossible(truths: Sequence[tuple[Predicate, Truth]]) -> bool:
    """Whether two patterns surely exclude this: one holds that entails one that does not, or two
    hold that exclude each other. Schedules and places are never said to."""
    patterns = [(p, truth != p.negated) for p, truth in truths if p.operator in PATTERNS]
    true = [predicate for predicate, holds in patterns if holds]
    false = [predicate for predicate, holds in patterns if not holds]
    return any(entails(a, b) for a in true for b in false) or any(
        excludes(a, b) for i, a in enumerate(true) for b in true[i + 1 :]
    )


def entails(a: Predicate, b: Predicate) -> bool:
    """Whether every text of pattern `a` surely is one of pattern `b`."""
    if a.operator == b.operator and a.operands == b.operands:
        return True
    if a.operator == b.operator == "under":
        return all(is_under(str(host), tuple(map(str, b.operands))) for host in a.operands)
    if a.operator in ("under", "like") or b.operator in ("under", "like") or not a.operands:
        return False
    inner: Callable[[str], bool] = {
        "starts with": str(a.operands[0]).startswith,
        "ends with": str(a.operands[0]).endswith,
        "contains": str(a.operands[0]).__contains__,
    }[b.operator]
    return (a.operator == b.operator or b.operator == "contains") and inner(str(b.operands[0]))


def excludes(a: Predicate, b: Predicate) -> bool:
    """Whether no text can be of both patterns."""
    if a.operator != b.operator or a.operator not in ("starts with", "ends with", "under"):
        return False
    if a.operator == "under":
        hosts, others = tuple(map(str, a.operands)), tuple(map(str, b.operands))
        return not any(is_under(host, others) for host in hosts) and not any(
            is_under(host, hosts) for host in others
        )
    return not entails(a, b) and not entails(b, a)

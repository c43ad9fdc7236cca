"""Finds the ways in which one attribute can make its conditions true, false or undefined.

All values of an attribute that give its conditions the same truths are one class. A class is
*witnessed* when a value that gives those truths is at hand. Where the values cannot be listed
(patterns, places), classes are added that may be impossible, but none that is possible is left
out: so "no class does it" is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from targeting.budget import Budget
from targeting.candidates import MAX_CLASSES, candidates, fresh_text
from targeting.catalog import Attribute, AttributeType
from targeting.conditions import (
    PATTERNS,
    PLACES,
    Condition,
    TooManyClassesError,
    read_condition,
)
from targeting.evaluator import Context, Truth
from targeting.long_lists import is_under_any
from targeting.operators import is_under
from targeting.tree import Predicate

MAX_FREE = 8  # conditions whose truths are combined freely
MAX_ENTAILED = 20_000  # hosts that are looked up to see whether one list entails another


@dataclass(frozen=True, slots=True)
class ValueClass:
    """One class. `truths` are in the order of the conditions that they belong to."""

    truths: tuple[Truth, ...]
    witnessed: bool


class Classes(dict[tuple[Truth, ...], bool]):
    """The classes found so far, and whether each is witnessed. Each new one is paid for at once."""

    def __init__(self, budget: Budget, count: int) -> None:
        self._budget = budget
        self._cost = 4 * count

    def add(self, truths: tuple[Truth, ...], *, witnessed: bool) -> None:
        if truths not in self:
            self._budget.spend(self._cost)
            self[truths] = witnessed


def classes_of(
    attribute: Attribute, predicates: Sequence[Predicate], context: Context, budget: Budget
) -> list[ValueClass]:
    """Finds all classes of the attribute's values, those with a witness first."""
    conditions = [read_condition(predicate, context) for predicate in predicates]
    missing = tuple(condition.truth_of_nothing for condition in conditions)
    found = Classes(budget, len(conditions))
    # Without a required attribute a visit is eligible for nothing: that class does not count.
    if not attribute.required:
        found.add(missing, witnessed=True)
    asked, values = candidates(attribute, conditions, budget)
    for value in values:
        budget.look_at(len(asked))
        found.add(truths_of(asked, value), witnessed=True)
        if attribute.type is AttributeType.TIMESTAMP_LOCAL:
            found.add(truths_of(asked, value, has_offset=False), witnessed=True)
    known = [truths for truths in found if truths != missing]
    for truths in free_classes(attribute, conditions, known):
        found.add(truths, witnessed=False)
    if len(found) > MAX_CLASSES:
        raise TooManyClassesError
    return [ValueClass(truths, witnessed) for truths, witnessed in found.items()]


def truths_of(
    conditions: Sequence[Condition], value: object, *, has_offset: bool = True
) -> tuple[Truth, ...]:
    return tuple(condition.truth_of(value, has_offset=has_offset) for condition in conditions)


def free_classes(
    attribute: Attribute, conditions: Sequence[Condition], known: list[tuple[Truth, ...]]
) -> Iterator[tuple[Truth, ...]]:
    """Yields the classes of values that cannot be listed: all combinations not surely impossible.

    They are combined with the classes known so far; of texts with that of a text that no condition
    names, since listed texts were tried. Schedules are free beside comparisons of the same time.
    """
    free = [i for i, c in enumerate(conditions) if is_free_beside(c, conditions)]
    if not free:
        return
    if len(free) > MAX_FREE:
        raise TooManyClassesError
    if attribute.type is AttributeType.STRING:
        known = [truths_of(conditions, fresh_text(conditions))]
    is_impossible = find_impossible([conditions[i] for i in free])
    for combined in product((True, False), repeat=len(free)):
        if not is_impossible(combined):
            own: dict[int, Truth] = dict(zip(free, combined, strict=True))
            for truths in known:
                yield tuple(own.get(i, truth) for i, truth in enumerate(truths))


def is_free_beside(condition: Condition, others: Sequence[Condition]) -> bool:
    if condition.operator == "during":
        return any(c.operator not in ("during", "is present", "is missing") for c in others)
    return condition.operator in PATTERNS or condition.operator in PLACES


def find_impossible(conditions: Sequence[Condition]) -> Callable[[Sequence[bool]], bool]:
    """Makes a test that tells whether truths are surely impossible: a pattern holds and one that it
    entails does not, or two hold that exclude each other. It rules out no schedule or place."""
    patterns = [i for i, c in enumerate(conditions) if c.operator in PATTERNS]
    pairs = [(i, j) for i in patterns for j in patterns if i != j]
    entailed = [(i, j) for i, j in pairs if entails(conditions[i], conditions[j])]
    apart = [(i, j) for i, j in pairs if i < j and excludes(conditions[i], conditions[j])]

    def is_impossible(truths: Sequence[bool]) -> bool:
        holds = [t != c.predicate.negated for t, c in zip(truths, conditions, strict=True)]
        return any(holds[i] and not holds[j] for i, j in entailed) or any(
            holds[i] and holds[j] for i, j in apart
        )

    return is_impossible


def entails(a: Condition, b: Condition) -> bool:
    """Tells whether every text that fits pattern `a` surely fits pattern `b`."""
    if a.operator == b.operator and (a.listed is b.listed or a.listed == b.listed):
        return True
    if a.operator == b.operator == "under":
        return len(a.listed) <= MAX_ENTAILED and all(is_below(host, b) for host in a.listed)
    if a.operator in ("under", "like") or b.operator in ("under", "like"):
        return False
    text = str(a.listed[0])
    inner: Callable[[str], bool] = {
        "starts with": text.startswith,
        "ends with": text.endswith,
        "contains": text.__contains__,
    }[b.operator]
    return (a.operator == b.operator or b.operator == "contains") and inner(str(b.listed[0]))


def excludes(a: Condition, b: Condition) -> bool:
    """Tells whether surely no text fits both patterns."""
    if a.operator != b.operator or a.operator not in ("starts with", "ends with", "under"):
        return False
    if a.operator == "under":
        return max(len(a.listed), len(b.listed)) <= MAX_ENTAILED and not (
            any(is_below(host, b) for host in a.listed)
            or any(is_below(host, a) for host in b.listed)
        )
    return not entails(a, b) and not entails(b, a)


def is_below(host: str, condition: Condition) -> bool:
    if condition.long is not None:
        return is_under_any(host, condition.long.hosts)
    return is_under(host, tuple(condition.listed))

"""Reads a predicate's operands once, so that the analysis can try many values on it.

The truths are those of the plain evaluator, whose tests it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from targeting.catalog import AttributeType
from targeting.evaluator import TIMES, Context, Truth, listed_by, negate
from targeting.long_lists import LONG_TESTS, LongList, find_long_list
from targeting.operators import TESTS, is_during
from targeting.tree import Predicate
from targeting.visits import parse_timestamp, read_ip

PATTERNS = frozenset({"starts with", "ends with", "contains", "like", "under"})
PLACES = frozenset({"within", "inside polygon"})
MAX_READ = 20_000  # operands of kinds that must be read one by one: times, addresses, hosts


class TooManyClassesError(Exception):
    """The attribute's conditions have more classes than can be looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A predicate that can be tried. `listed` are its operands in the attribute's type; `long` is
    the list as a whole, if they are many; `is_local`: its schedule needs the visit's offset."""

    predicate: Predicate
    listed: Sequence[Any]
    long: LongList | None = None
    is_local: bool = False

    @property
    def operator(self) -> str:
        return self.predicate.operator

    @property
    def lists_elements(self) -> bool:
        return not self.predicate.counted and self.operator.endswith(" of")

    @property
    def truth_of_nothing(self) -> Truth:
        """Judges a visit without the attribute."""
        if self.operator in ("is present", "is missing"):
            return (self.operator == "is missing") != self.predicate.negated
        return None

    def truth_of(self, value: Any, *, has_offset: bool = True) -> Truth:
        if self.operator in ("is present", "is missing"):
            return negate(self.truth_of_nothing)
        if self.operator == "during":
            if self.is_local and not has_offset:
                return None
            answer = is_during(value, str(self.listed[0]), 0)
        elif self.long is not None:
            answer = LONG_TESTS[self.operator](value, self.long)
        else:
            tested = len(value) if self.predicate.counted else value
            answer = TESTS[self.operator](tested, self.listed)  # type: ignore[arg-type]
        return answer != self.predicate.negated


def read_condition(predicate: Predicate, context: Context) -> Condition:
    kind = context.catalog[predicate.attribute].type
    listed: Sequence[Any] = listed_by(predicate, context)
    if predicate.operator == "during":
        return Condition(predicate, listed, is_local=kind is AttributeType.TIMESTAMP_LOCAL)
    if kind in (*TIMES, AttributeType.IP) and len(listed) > MAX_READ:
        raise TooManyClassesError
    if kind in TIMES:
        listed = tuple(map(parse_timestamp, listed))
    if kind is AttributeType.IP and predicate.operator in ("=", "!="):
        listed = tuple(map(read_ip, listed))
    long = find_long_list(listed) if predicate.operator in LONG_TESTS else None
    return Condition(predicate, listed, long)

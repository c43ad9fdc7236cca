"""Writes a canonical predicate as a text that parses back to the same predicate.

It reads the numbers of predicate.pxd. What people wrote is printed by `targeting.printer`.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

MINUTES_OF_DAY = 1440
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Test(IntEnum):
    """The tests, numbered as in predicate.pxd."""

    PRESENT = 0
    EQUAL = 1
    IN = 2
    LESS = 3
    LESS_EQUAL = 4
    BETWEEN = 5
    DURING = 6
    STARTS_WITH = 7
    ENDS_WITH = 8
    CONTAINS = 9
    LIKE = 10
    UNDER = 11
    ONE_OF = 12
    ALL_OF = 13
    ONLY_OF = 14
    COUNT_EQUAL = 15
    COUNT_LESS_EQUAL = 16
    IN_NETWORK = 17
    WITHIN = 18
    INSIDE = 19


COMPARISONS = {
    (Test.EQUAL, False): "=",
    (Test.EQUAL, True): "!=",
    (Test.LESS, False): "<",
    (Test.LESS, True): ">=",
    (Test.LESS_EQUAL, False): "<=",
    (Test.LESS_EQUAL, True): ">",
    (Test.COUNT_EQUAL, False): "=",
    (Test.COUNT_EQUAL, True): "!=",
    (Test.COUNT_LESS_EQUAL, False): "<=",
    (Test.COUNT_LESS_EQUAL, True): ">",
}
TEXT_OPERATORS = {
    Test.STARTS_WITH: "starts with",
    Test.ENDS_WITH: "ends with",
    Test.CONTAINS: "contains",
    Test.LIKE: "like",
}
LIST_OPERATORS = {
    Test.IN: "in",
    Test.UNDER: "under",
    Test.ONE_OF: "one of",
    Test.ALL_OF: "all of",
    Test.ONLY_OF: "only of",
}


def word_predicate(
    attribute: str, type_name: str, test: int, negated: bool, values: Sequence[Any]
) -> str:
    """Writes the predicate, for example `geo.country != "US"`."""
    kind = Test(test)
    no = "not " if negated else ""
    if kind == Test.PRESENT:
        return f"{attribute} is {'missing' if negated else 'present'}"
    if kind == Test.COUNT_LESS_EQUAL and values[0] < 0:
        return f"count({attribute}) {COMPARISONS[Test.LESS, negated]} 0"  # -1 is no count
    if kind in (Test.COUNT_EQUAL, Test.COUNT_LESS_EQUAL):
        return f"count({attribute}) {COMPARISONS[kind, negated]} {values[0]}"
    literals = [word_value(type_name, value) for value in values]
    if (kind, negated) in COMPARISONS:
        return f"{attribute} {COMPARISONS[kind, negated]} {literals[0]}"
    if kind == Test.BETWEEN:
        return f"{attribute} {no}between {literals[0]} and {literals[1]}"
    if kind in TEXT_OPERATORS:
        return f"{attribute} {no}{TEXT_OPERATORS[kind]} {literals[0]}"
    if kind in LIST_OPERATORS:
        return f"{attribute} {no}{LIST_OPERATORS[kind]} ({', '.join(literals)})"
    return f"{attribute} {no}{word_rest(kind, values)}"


def word_rest(kind: Test, values: Sequence[Any]) -> str:
    if kind == Test.DURING:
        return f"during '{word_schedule(values)}'"
    if kind == Test.IN_NETWORK:
        triples = zip(values[::3], values[1::3], values[2::3], strict=True)
        return f"in network ({', '.join(word_network(*triple) for triple in triples)})"
    if kind == Test.WITHIN:
        return f"within {values[2]!r} km of ({values[0]!r}, {values[1]!r})"
    points = zip(values[::2], values[1::2], strict=True)
    return f"inside polygon ({', '.join(f'({lat!r}, {lon!r})' for lat, lon in points)})"


def word_value(type_name: str, value: Any) -> str:
    if type_name == "boolean":
        return "true" if value else "false"
    if type_name.startswith("timestamp"):
        moment = EPOCH + timedelta(milliseconds=value)
        return f"'{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z'"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def word_network(high: int, low: int, prefix: int) -> str:
    address = ipaddress.IPv6Address((high % 2**64) << 64 | low % 2**64)
    if prefix >= 96 and address.ipv4_mapped is not None:
        return f"'{address.ipv4_mapped}/{prefix - 96}'"
    return f"'{address}/{prefix}'"


def word_schedule(minutes: Sequence[int]) -> str:
    """Writes a schedule, given as pairs of minutes of the week; cuts them at midnight."""
    parts = []
    for start, end in zip(minutes[::2], minutes[1::2], strict=True):
        while start < end:
            day, minute = divmod(start, MINUTES_OF_DAY)
            last = min(end - day * MINUTES_OF_DAY, MINUTES_OF_DAY)
            parts.append(f"{DAYS[day % 7]} {word_time(minute)}-{word_time(last)}")
            start = day * MINUTES_OF_DAY + last
    return ", ".join(parts)


def word_time(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"

"""Normal forms written back as expressions, to normalise them once more."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import Any

from targeting import AttributeType
from targeting.printer import print_value
from tests.targeting.strategies import CATALOG

OPPOSITES = {"=": "!=", "<": ">=", "<=": ">"}
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LISTS = ("in", "under", "one of", "all of", "only of", "in network")
TIMES = (AttributeType.TIMESTAMP, AttributeType.TIMESTAMP_LOCAL)


def text_of(document: Any) -> str:
    if isinstance(document, bool):
        return "true" if document else "false"
    for connective in ("and", "or"):
        if connective in document:
            parts = [text_of(child) for child in document[connective]]
            return f"({f' {connective} '.join(parts)})"
    if "reference" in document:
        return f"{'not ' if document['negated'] else ''}@{document['reference']}"
    return predicate_text(document)


def predicate_text(document: dict[str, Any]) -> str:
    name, test, negated = document["attribute"], document["test"], document["negated"]
    kind = CATALOG[name].type
    if test == "present":
        return f"{name} is {'missing' if negated else 'present'}"
    if kind is AttributeType.BOOLEAN:
        return f"{name} = {'false' if negated else 'true'}"
    values = values_text(test, kind, document["values"])
    if test.startswith("count "):
        name, test = f"count({name})", test.removeprefix("count ")
        if (test, values) == ("<=", "-1"):
            test, values = "<", "0"  # nobody can write that a count is negative
    if negated:
        test = OPPOSITES.get(test, f"not {test}")
    return f"{name} {test} {values}"


def values_text(test: str, kind: AttributeType, values: list[Any]) -> str:
    if test == "during":
        return print_value(", ".join(map(entry_of, values[::2], values[1::2])))
    if test == "in network":
        values = [network_of(*values[i : i + 3]) for i in range(0, len(values), 3)]
    elif kind in TIMES:
        values = [time_of(value) for value in values]
    texts = [print_value(value) for value in values]
    if test in LISTS:
        return f"({', '.join(texts)})"
    if test == "within":
        return f"{texts[2]} km of ({texts[0]}, {texts[1]})"
    if test == "inside polygon":
        points = [f"({a}, {b})" for a, b in zip(texts[::2], texts[1::2], strict=True)]
        return f"({', '.join(points)})"
    return " and ".join(texts)


def time_of(ms: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def entry_of(start: int, end: int) -> str:
    """Writes an interval of the week as one entry for each day that it touches."""
    entries = []
    while start < end:
        day = start // 1440
        stop = min(end, (day + 1) * 1440)
        entries.append(f"{DAYS[day]} {clock(start - day * 1440)}-{clock(stop - day * 1440)}")
        start = stop
    return ", ".join(entries)


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def network_of(high: int, low: int, prefix: int) -> str:
    number = (high % 2**64) << 64 | low % 2**64
    return f"{ipaddress.IPv6Address(number)}/{prefix}"

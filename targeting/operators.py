"""Says what each operator means, in plain Python: from a known value and operands to true or false.

Kept apart from the compiled tests on purpose: it is half of the judge.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from targeting.visits import V4_MAPPED, Point, parse_timestamp

EARTH_RADIUS_KM = 6371.0088
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ENTRY = re.compile(
    r" *(?:([A-Za-z]{3})(?:-([A-Za-z]{3}))?(?: +|$))?(?:(\d\d):(\d\d)-(\d\d):(\d\d) *)?", re.ASCII
)
DAY_MINUTES = 1440
WEEK_MINUTES = 7 * DAY_MINUTES

Test = Callable[[Any, tuple[Any, ...]], bool]


def fold_host(host: str) -> str:
    """Writes a host as hosts are compared: ASCII letters in lower case, no dot at the end."""
    return host.encode().lower().decode().removesuffix(".")


def is_under(host: str, parents: tuple[str, ...]) -> bool:
    folded = fold_host(host)
    return any(
        folded == fold_host(parent) or folded.endswith("." + fold_host(parent))
        for parent in parents
    )


def is_like(text: str, pattern: str) -> bool:
    """Tells whether a text fits a pattern, in which `*` is any characters and `?` exactly one."""
    parts = [".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern]
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


@lru_cache(maxsize=4096)
def read_network(text: str) -> tuple[int, int]:
    """Reads a network's base address and mask, both of 128 bits; v4 is mapped into v6."""
    network = ipaddress.ip_network(text)
    base, prefix = int(network.network_address), network.prefixlen
    if network.version == 4:
        base, prefix = base | V4_MAPPED, prefix + 96
    return base, (1 << 128) - (1 << (128 - prefix))


def in_networks(address: int, networks: tuple[str, ...]) -> bool:
    return any(address & mask == base for base, mask in map(read_network, networks))


def distance_km(a: Point, b: Point) -> float:
    """Measures the great-circle distance by the haversine formula. Its operations have the order of
    the compiled code, so that both round alike."""
    radian = math.pi / 180.0
    x = math.sin((b[0] - a[0]) * radian / 2.0)
    y = math.sin((b[1] - a[1]) * radian / 2.0)
    h = x * x + math.cos(a[0] * radian) * math.cos(b[0] * radian) * (y * y)
    return 2.0 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, h)))


def is_inside(point: Point, polygon: tuple[float, ...]) -> bool:
    """Tells whether a point lies in a polygon: by the even-odd rule, on the plane of degrees."""
    latitude, longitude = point
    corners = list(zip(polygon[::2], polygon[1::2], strict=True))
    inside = False
    for (lat1, lon1), (lat2, lon2) in zip([corners[-1], *corners], corners, strict=False):
        if (lat1 > latitude) != (lat2 > latitude) and (
            longitude < (lon2 - lon1) * (latitude - lat1) / (lat2 - lat1) + lon1
        ):
            inside = not inside
    return inside


@lru_cache(maxsize=1024)
def read_schedule(text: str) -> tuple[tuple[int, int], ...]:
    """Reads a schedule as pairs (first minute of the week, length in minutes), one per day and
    entry."""
    spans = []
    for entry in text.split(","):
        match = ENTRY.fullmatch(entry)
        if match is None:
            raise ValueError(f"not a schedule: {text!r}")
        first = DAYS.index(match[1].lower()) if match[1] else 0
        last = DAYS.index((match[2] or match[1]).lower()) if match[1] else 6
        start, length = 0, DAY_MINUTES
        if match[3]:
            start = int(match[3]) * 60 + int(match[4])
            end = int(match[5]) * 60 + int(match[6])
            length = end - start if end > start else end - start + DAY_MINUTES
        for days in range((last - first) % 7 + 1):
            spans.append(((first + days) % 7 * DAY_MINUTES + start, length))
    return tuple(spans)


def is_during(ms: int, schedule: str, offset_minutes: int) -> bool:
    minute = (ms // 60_000 + offset_minutes + 3 * DAY_MINUTES) % WEEK_MINUTES  # 1970: a Thursday
    return any(
        (minute - start) % WEEK_MINUTES < length for start, length in read_schedule(schedule)
    )


TESTS: dict[str, Test] = {
    "is true": lambda value, _: value is True,
    "=": lambda value, o: bool(value == o[0]),
    "!=": lambda value, o: bool(value != o[0]),
    "<": lambda value, o: bool(value < o[0]),
    "<=": lambda value, o: bool(value <= o[0]),
    ">": lambda value, o: bool(value > o[0]),
    ">=": lambda value, o: bool(value >= o[0]),
    "between": lambda value, o: bool(o[0] <= value <= o[1]),
    "in": lambda value, o: value in o,
    "starts with": lambda value, o: value.startswith(o[0]),
    "ends with": lambda value, o: value.endswith(o[0]),
    "contains": lambda value, o: o[0] in value,
    "like": lambda value, o: is_like(value, o[0]),
    "under": is_under,
    "one of": lambda value, o: not value.isdisjoint(o),
    "all of": lambda value, o: value.issuperset(o),
    "none of": lambda value, o: value.isdisjoint(o),
    "only of": lambda value, o: bool(value) and value.issubset(o),
    "is empty": lambda value, _: not value,
    "in network": in_networks,
    "within": lambda value, o: distance_km(value, (o[0], o[1])) <= o[2],
    "inside polygon": is_inside,
}


def read_time_operands(operands: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(parse_timestamp(text) for text in operands)

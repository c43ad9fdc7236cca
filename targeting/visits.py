"""Reads a visit's values in the types of the catalogue, in plain Python.

Kept apart from the compiled reader on purpose: it is half of the judge. A value of the wrong type
is missing, and named in `malformed`.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from targeting.catalog import AttributeType, Catalog

Visit = Mapping[str, Any]
Point = tuple[float, float]
Value = bool | int | float | str | frozenset[str] | frozenset[int] | Point

TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
V4_MAPPED = 0xFFFF << 32


class MalformedError(Exception):
    """The value has the wrong type for its attribute."""


@dataclass(frozen=True, slots=True)
class TypedVisit:
    """The known values by attribute, and the names of those that were malformed."""

    values: dict[str, Value]
    malformed: tuple[str, ...]

    def lacks_required(self, catalog: Catalog) -> bool:
        return any(a.required and a.name not in self.values for a in catalog)


def type_visit(catalog: Catalog, visit: Visit) -> TypedVisit:
    values: dict[str, Value] = {}
    malformed = []
    for name, raw in visit.items():
        if name not in catalog or raw is None or (isinstance(raw, float) and math.isnan(raw)):
            continue
        try:
            values[name] = READERS[catalog[name].type](raw)
        except MalformedError:
            malformed.append(name)
    return TypedVisit(values, tuple(sorted(malformed)))


def read_boolean(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise MalformedError
    return raw


def read_integer(raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise MalformedError
    if isinstance(raw, float) and not raw.is_integer():
        raise MalformedError
    whole = int(raw)
    if not -(2**63) <= whole < 2**63:
        raise MalformedError
    return whole


def read_float(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise MalformedError
    try:
        number = float(raw)
    except OverflowError:
        raise MalformedError from None
    if not math.isfinite(number):
        raise MalformedError
    return number


def read_string(raw: Any) -> str:
    if not isinstance(raw, str):
        raise MalformedError
    try:
        raw.encode()
    except UnicodeEncodeError:  # a lone surrogate is not text
        raise MalformedError from None
    return raw


def read_timestamp(raw: Any) -> int:
    """Reads milliseconds since 1970 UTC, from such a number or from a text with a zone."""
    return parse_timestamp(raw) if isinstance(raw, str) else read_integer(raw)


@lru_cache(maxsize=4096)
def parse_timestamp(text: str) -> int:
    match = TIMESTAMP.fullmatch(text)
    if match is None:
        raise MalformedError
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    zone = match[8]
    if second > 60 or (len(zone) > 1 and (int(zone[1:3]) > 23 or int(zone[4:6]) > 59)):
        raise MalformedError
    try:
        start = datetime(year, month, day, hour, minute, tzinfo=UTC) - EPOCH
    except ValueError:
        raise MalformedError from None
    offset = 0 if len(zone) == 1 else int(zone[1:3]) * 60 + int(zone[4:6])
    minutes = start // timedelta(minutes=1) - (-offset if zone[0] == "-" else offset)
    return minutes * 60_000 + second * 1000 + int((match[7] or "0")[:3].ljust(3, "0"))


def read_ip(raw: Any) -> int:
    """Reads an address as 128 bits; v4 is mapped into v6."""
    if not isinstance(raw, str) or "%" in raw:
        raise MalformedError
    try:
        address = ipaddress.ip_address(raw)
    except ValueError:
        raise MalformedError from None
    return int(address) | V4_MAPPED if address.version == 4 else int(address)


def read_geo(raw: Any) -> Point:
    if isinstance(raw, dict):
        raw = [raw.get("lat"), raw.get("lon")]
    if not isinstance(raw, list | tuple) or len(raw) != 2:
        raise MalformedError
    latitude, longitude = read_float(raw[0]), read_float(raw[1])
    if abs(latitude) > 90 or abs(longitude) > 180:
        raise MalformedError
    return latitude, longitude


def read_set(raw: Any, read: Callable[[Any], Any]) -> frozenset[Any]:
    if not isinstance(raw, list | tuple | set | frozenset):
        raise MalformedError
    return frozenset(read(element) for element in raw)


READERS: dict[AttributeType, Callable[[Any], Value]] = {
    AttributeType.BOOLEAN: read_boolean,
    AttributeType.INTEGER: read_integer,
    AttributeType.FLOAT: read_float,
    AttributeType.TIMESTAMP: read_timestamp,
    AttributeType.TIMESTAMP_LOCAL: read_timestamp,
    AttributeType.STRING: read_string,
    AttributeType.STRING_SET: lambda raw: read_set(raw, read_string),
    AttributeType.INTEGER_SET: lambda raw: read_set(raw, read_integer),
    AttributeType.IP: read_ip,
    AttributeType.GEO: read_geo,
}

"""Makes a row of the log from a visit: typed by the catalogue, user hashed, address shortened.

A value of a wrong type is missing, here as in the index, and named in the row.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

import pyarrow as pa

from targeting.catalog import AttributeType
from targeting.visit_log.columns import (
    SALT,
    TIME,
    USER,
    USER_BEFORE,
    VISIT_ID,
    WEIGHT,
    WRONG_VALUES,
    LogColumns,
)
from targeting.visit_log.salts import Salts
from targeting.visits import (
    EPOCH,
    READERS,
    MalformedError,
    read_geo,
    read_integer,
    read_ip,
    read_string,
    read_timestamp,
)

# What is left of an address names a neighbourhood, not a household.
V4_BITS, V6_BITS = 24, 48
# The years 1 to 9999, on which readers of Parquet agree.
FIRST_MOMENT, LAST_MOMENT = -62_135_596_800_000, 253_402_300_799_999

Row = dict[str, Any]


class RowMaker:
    """Makes rows of visits of one catalogue. `weight`: how many visits each row stands for."""

    def __init__(self, columns: LogColumns, salts: Salts, weight: int) -> None:
        self.columns = columns
        self._salts = salts
        self._weight = weight

    @cached_property
    def schema(self) -> pa.Schema:
        return self.columns.schema

    def make(self, visit_id: str, visit: Mapping[str, object]) -> Row:
        """Makes a row of a flat visit that has its time, in milliseconds; what the catalogue does
        not have is left out."""
        row: Row = {VISIT_ID: visit_id, WEIGHT: self._weight}
        wrong = []
        for name, kind in self.columns.types:
            raw = visit.get(name)
            if raw is None or (isinstance(raw, float) and math.isnan(raw)):
                continue
            try:
                row[name] = WRITERS[kind](raw)
            except MalformedError:
                wrong.append(name)
        row[WRONG_VALUES] = wrong
        self._hide_user(row)
        return row

    def make_batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(list(rows), self.schema)

    def _hide_user(self, row: Row) -> None:
        user = row.pop(USER, None)
        if isinstance(user, str):  # a number cannot be hidden in a column of numbers
            day = (EPOCH + timedelta(milliseconds=row[TIME])).date()
            salt = self._salts.of(day)
            row[USER], row[SALT] = salt.hash(user), salt.id
            row[USER_BEFORE] = self._salts.before(day).hash(user)


def write_set(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """Makes a writer of sets that keeps the visit's own order."""

    def write(raw: Any) -> list[Any]:
        if not isinstance(raw, list | tuple):
            raise MalformedError
        return [read(element) for element in raw]

    return write


def write_moment(raw: Any) -> int:
    moment = read_timestamp(raw)
    if not FIRST_MOMENT <= moment <= LAST_MOMENT:
        raise MalformedError
    return moment


def write_address(raw: Any) -> str:
    read_ip(raw)
    address = ipaddress.ip_address(raw)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    bits = V4_BITS if address.version == 4 else V6_BITS
    return str(ipaddress.ip_network((address, bits), strict=False).network_address)


def write_place(raw: Any) -> dict[str, float]:
    latitude, longitude = read_geo(raw)
    return {"lat": latitude, "lon": longitude}


WRITERS: dict[AttributeType, Callable[[Any], Any]] = {
    **READERS,
    AttributeType.TIMESTAMP: write_moment,
    AttributeType.TIMESTAMP_LOCAL: write_moment,
    AttributeType.STRING_SET: write_set(read_string),
    AttributeType.INTEGER_SET: write_set(read_integer),
    AttributeType.IP: write_address,
    AttributeType.GEO: write_place,
}

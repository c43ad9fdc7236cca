"""Owns the log's columns: one per attribute in the catalogue's types, and the log's own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from matcher_ext.visits import PUBLISHER
from targeting.catalog import AttributeType

TIME, USER = "time", "user.id"
VISIT_ID = "visit_id"
# How many visits a row stands for; a row without it stands for one.
WEIGHT = "visit_weight"
# Which salt `user.id` was hashed with, and the same user under the salt of the window before.
SALT, USER_BEFORE = "visit_salt", "visit_user_before"
# Names of the attributes that carried a value of a wrong type, which is missing in its column.
WRONG_VALUES = "visit_wrong_values"

INSTANT = pa.timestamp("ms", tz="UTC")
ARROW_TYPES: dict[str, pa.DataType] = {
    AttributeType.BOOLEAN: pa.bool_(),
    AttributeType.INTEGER: pa.int64(),
    AttributeType.FLOAT: pa.float64(),
    AttributeType.TIMESTAMP: INSTANT,
    AttributeType.TIMESTAMP_LOCAL: INSTANT,
    AttributeType.STRING: pa.string(),
    AttributeType.IP: pa.string(),
    AttributeType.STRING_SET: pa.list_(pa.string()),
    AttributeType.INTEGER_SET: pa.list_(pa.int64()),
    AttributeType.GEO: pa.struct([("lat", pa.float64()), ("lon", pa.float64())]),
}
OF_THE_ROW: dict[str, pa.DataType] = {
    WEIGHT: pa.int64(),
    SALT: pa.string(),
    USER_BEFORE: pa.string(),
    WRONG_VALUES: pa.list_(pa.string()),
}
# Columns without which no row counts: every log has them, whatever the catalogue says.
NEEDED = ((TIME, AttributeType.TIMESTAMP), (PUBLISHER, AttributeType.STRING))


@dataclass(frozen=True, slots=True)
class LogColumns:
    """The attributes by name, in the catalogue's order. Immutable, so it can be a key."""

    types: tuple[tuple[str, AttributeType], ...]

    @classmethod
    def of(cls, attributes: Iterable[tuple[str, str]]) -> Self:
        """Makes the columns of names and types; what is named like a column of the log's own is
        left out."""
        own = {VISIT_ID, *OF_THE_ROW}
        types = {name: AttributeType(kind) for name, kind in attributes if name not in own}
        return cls(tuple((types | dict(NEEDED)).items()))

    @property
    def schema(self) -> pa.Schema:
        attributes = [(name, ARROW_TYPES[kind]) for name, kind in self.types]
        return pa.schema([(VISIT_ID, pa.string()), *attributes, *OF_THE_ROW.items()])

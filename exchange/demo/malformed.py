"""Spoils a few visits of a day as real logs are spoilt: impossible, unknown, missing, repeated.

Every fault keeps the column's Arrow type; it is the value that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

SHARE_PER_FAULT = 0.0005

BAD_IPS = ("999.12.7.1", "unknown", "10.0.0", "::gggg")
UNKNOWN_DEVICES = ("toaster", "7", "Phone ")
BAD_PLACES = (
    {"lat": 123.4, "lon": 8.5},
    {"lat": 48.1, "lon": -999.0},
    {"lat": float("nan"), "lon": 0.0},
)


def spoil(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    count = max(1, round(table.num_rows * SHARE_PER_FAULT))
    for column, fault in FAULTS.items():
        rows = rng.choice(table.num_rows, size=min(count, table.num_rows), replace=False)
        table = _replace(table, column, {int(row): fault(int(row)) for row in rows})
    repeated = np.sort(rng.choice(table.num_rows, size=min(count, table.num_rows), replace=False))
    return pa.concat_tables([table, table.take(pa.array(repeated))]).combine_chunks()


def _replace(table: pa.Table, name: str, values: dict[int, object]) -> pa.Table:
    """Changes some values of one column of the table."""
    index = table.schema.get_field_index(name)
    field = table.schema.field(index)
    column = table.column(index).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    source = np.arange(table.num_rows)
    source[list(values)] = table.num_rows + np.arange(len(values))
    extended = pa.concat_arrays([column, pa.array(list(values.values()), field.type)])
    return table.set_column(index, field, extended.take(pa.array(source)))


FAULTS: dict[str, Callable[[int], object]] = {
    "geo.location": lambda row: BAD_PLACES[row % len(BAD_PLACES)],
    "device.ip": lambda row: BAD_IPS[row % len(BAD_IPS)],
    "device.type": lambda row: UNKNOWN_DEVICES[row % len(UNKNOWN_DEVICES)],
    "publisher.id": lambda _: None,
    "user.age": lambda row: -1 if row % 2 else 1900,
}

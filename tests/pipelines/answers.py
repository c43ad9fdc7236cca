"""Sampled answers of ad servers, as they lie in their log: finding a day, planting a mistake."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet


def plant_mismatch(file: Path) -> None:
    """Says of the last answer that it was a booking that nobody has."""
    table = parquet.read_table(file)
    place = table.schema.get_field_index("booking_ids")
    ids = [*table["booking_ids"].to_pylist()[:-1], [77]]
    kind = table.schema.field(place)
    parquet.write_table(table.set_column(place, kind, pa.array(ids, kind.type)), file)

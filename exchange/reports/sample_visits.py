"""Takes single visits out of the night's sample, for people who want to try a real one.

Only what is asked for, never what is about one person: who it was cannot be seen, nor found out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq
from django.conf import settings

from exchange.reports.sample_counting import Rows
from exchange.reports.sample_table import JOB, TABLE, Sample
from targeting import Catalog
from targeting.catalog import UTC_OFFSET
from targeting.places import open_place
from targeting.report_tables import list_files

TIME = "time"
STEP = 7919  # a prime: steps through all rows, far apart


@dataclass(frozen=True, slots=True)
class SampledVisit:
    """`masked` names what was left out because it is about persons."""

    values: dict[str, Any]
    at: datetime | None
    masked: tuple[str, ...]


def draw_visit(
    sample: Sample, rows: Rows, names: Iterable[str], catalog: Catalog, number: int
) -> SampledVisit | None:
    """Takes the `number`-th of the rows, in an order that jumps about; None if there are none."""
    places = rows.nonzero()[0]
    if not len(places):
        return None
    place = int(places[number * STEP % len(places)])
    asked = [catalog[name] for name in dict.fromkeys(names) if name in catalog]
    shown = [attribute.name for attribute in asked if not attribute.personal]
    row = read_row(sample, place, dict.fromkeys((*shown, TIME, UTC_OFFSET)))
    at = row.pop(TIME, None)
    moment = at.astimezone(UTC).replace(second=0, microsecond=0) if at else None
    values = {name: value for name, value in row.items() if value is not None}
    return SampledVisit(values, moment, tuple(each.name for each in asked if each.personal))


def read_row(sample: Sample, place: int, names: Iterable[str]) -> dict[str, Any]:
    """Reads it where the sample was read from: the compiled table has no order of its own."""
    out = str(settings.REPORT_DIR)
    files, _ = open_place(out)
    for path in list_files(out, JOB, TABLE, sample.night) or ():
        with pq.ParquetFile(path, filesystem=files) as file:
            if place < file.metadata.num_rows:
                return read_row_of(file, place, names)
            place -= file.metadata.num_rows
    return {}


def read_row_of(file: pq.ParquetFile, place: int, names: Iterable[str]) -> dict[str, Any]:
    """Reads no more than the group that the row is in."""
    columns = [name for name in names if name in file.schema_arrow.names]
    for group in range(file.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        if place < count:
            rows = file.read_row_group(group, columns=columns).slice(place, 1)
            return dict(rows.to_pylist()[0])
        place -= count
    return {}

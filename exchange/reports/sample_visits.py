"""Takes single visits out of the night's sample: one to try, or some to look at.

Only what is asked for, never what is about one person: who it was cannot be seen, nor found out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from numpy.typing import NDArray

from exchange.reports.sample_counting import Rows
from exchange.reports.sample_table import JOB, TABLE, Sample
from targeting import Catalog
from targeting.catalog import UTC_OFFSET
from targeting.places import open_place
from targeting.report_tables import list_files
from targeting.visit_log import TIME

logger = logging.getLogger(__name__)

SHOWN = 20
PERSONAL = "not shown"
STEP = 7919  # a prime: steps through all rows, far apart


@dataclass(frozen=True, slots=True)
class SampledVisit:
    """`masked` names what was left out because it is about persons."""

    values: dict[str, Any]
    at: datetime | None
    masked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownVisit:
    """`values` in the order of the attributes that were asked for; None: the visit does not say."""

    at: datetime | None
    values: tuple[Any, ...]


def draw_visit(
    sample: Sample, rows: Rows, names: Iterable[str], catalog: Catalog, number: int
) -> SampledVisit | None:
    """Takes the `number`-th of the rows, in an order that jumps about; None if there are none."""
    places = rows.nonzero()[0]
    if not len(places):
        return None
    place = places[number * STEP % len(places)]
    asked = [catalog[name] for name in dict.fromkeys(names) if name in catalog]
    shown = [attribute.name for attribute in asked if not attribute.personal]
    row = next(read_rows(sample, np.array([place]), (*shown, TIME, UTC_OFFSET)), {})
    at = row.pop(TIME, None)
    moment = at.astimezone(UTC).replace(second=0, microsecond=0) if at else None
    values = {name: value for name, value in row.items() if value is not None}
    return SampledVisit(values, moment, tuple(each.name for each in asked if each.personal))


def show_visits(
    sample: Sample, places: NDArray[np.int64], attributes: Sequence[str], catalog: Catalog
) -> list[ShownVisit]:
    """Shows some of the rows, spread over all of them; none if their table is gone meanwhile."""
    chosen = places[np.unique(np.linspace(0, len(places) - 1, min(SHOWN, len(places))).astype(int))]
    open_names = [name for name in attributes if name in catalog and not catalog[name].personal]
    try:
        rows = list(read_rows(sample, chosen, (TIME, *open_names)))
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        logger.warning("No visits of the sample: %s", error)
        return []
    return [
        ShownVisit(
            row.get(TIME),
            tuple(row.get(name) if name in open_names else PERSONAL for name in attributes),
        )
        for row in rows
    ]


def read_rows(
    sample: Sample, places: NDArray[np.int64], names: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Reads rows by their ascending places where the sample was read from: the compiled table has
    no order of its own. Groups without any of them are not read."""
    out = str(settings.REPORT_DIR)
    files, _ = open_place(out)
    for path in list_files(out, JOB, TABLE, sample.night) or ():
        with pq.ParquetFile(path, filesystem=files) as file:
            columns = [name for name in dict.fromkeys(names) if name in file.schema_arrow.names]
            for group in range(file.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                here, places = places[places < count], places[places >= count] - count
                if len(here):
                    rows = file.read_row_group(group, columns=columns).take(pa.array(here))
                    yield from rows.to_pylist()

"""Shows single visits of the sample: the values of some attributes, personal ones left out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from numpy.typing import NDArray

from exchange.reports.sample_table import JOB, TABLE, Sample
from targeting import Catalog
from targeting.places import open_place
from targeting.report_tables import list_files, read_table
from targeting.visit_log import TIME

logger = logging.getLogger(__name__)

SHOWN = 20
PERSONAL = "not shown"


@dataclass(frozen=True, slots=True)
class ShownVisit:
    """`values` in the order of the attributes that were asked for; None: the visit does not say."""

    at: datetime | None
    values: tuple[Any, ...]


def show_visits(
    sample: Sample, places: NDArray[np.int64], attributes: Sequence[str], catalog: Catalog
) -> list[ShownVisit]:
    """Shows some of the rows, spread over all of them; none if their table is gone meanwhile."""
    chosen = places[np.unique(np.linspace(0, len(places) - 1, min(SHOWN, len(places))).astype(int))]
    open_names = [name for name in attributes if name in catalog and not catalog[name].personal]
    try:
        rows = read_rows(sample, chosen, [TIME, *open_names])
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        logger.warning("No visits of the sample: %s", error)
        return []
    shown = [
        tuple(row.get(name) if name in open_names else PERSONAL for name in attributes)
        for row in rows
    ]
    return [ShownVisit(row.get(TIME), one) for row, one in zip(rows, shown, strict=True)]


def read_rows(
    sample: Sample, places: NDArray[np.int64], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Reads rows by their place, in the order in which the sample's table was made."""
    out = str(settings.REPORT_DIR)
    if not list_files(out, JOB, TABLE, sample.night):
        return []
    known = read_names(out, sample)
    wanted = list(dict.fromkeys(name for name in names if name in known))
    visits = read_table(out, JOB, TABLE, sample.night, wanted)
    if visits is None or visits.num_rows != len(sample):
        return []
    found: list[dict[str, Any]] = visits.take(pa.array(places)).to_pylist()
    return found


def read_names(out: str, sample: Sample) -> set[str]:
    files, _ = open_place(out)
    paths = list_files(out, JOB, TABLE, sample.night) or []
    return set(pq.read_schema(paths[0], filesystem=files).names)

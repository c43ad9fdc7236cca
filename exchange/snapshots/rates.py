"""How often conditions hold, measured on visits of the last logged day, for the index's order.

The index asks a rare condition before a common one. Without a log that this machine can read it
goes by defaults: nothing in here can fail a build, and no answer depends on it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from matcher_ext import ATree

logger = logging.getLogger(__name__)

SAMPLED_VISITS = 200


def learn_rates(index: ATree) -> int:
    """Says from how many visits; 0: defaults."""
    visits = list(sample_visits(Path(settings.VISIT_LOG_DIR)))
    if visits:
        index.learn_truth_rates(visits)
    return len(visits)


def sample_visits(root: Path) -> Iterator[dict[str, Any]]:
    """Evenly over the newest file, so that all hours of its day are in it."""
    newest = max(root.glob("dt=*/[!._]*.parquet"), default=None)
    if newest is None:
        return
    try:
        table = pq.ParquetFile(newest).read()
    except (OSError, pa.ArrowException) as error:
        logger.warning("No truth rates from %s: %s", newest, error)
        return
    step = max(table.num_rows // SAMPLED_VISITS, 1)
    rows = table.take(pa.array(range(0, table.num_rows, step)[:SAMPLED_VISITS])).to_pylist()
    for row in rows:
        yield {name: as_logged(value) for name, value in row.items() if value is not None}


def as_logged(value: Any) -> Any:
    return int(value.timestamp() * 1000) if isinstance(value, datetime) else value

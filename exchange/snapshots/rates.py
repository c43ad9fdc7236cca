"""Learns how often conditions hold, for the index's order: it asks a rare one before a common one.

The nightly job measures them on all visits of its last day. Before its first run, visits of the
last logged day are sampled, where this machine can read the log; otherwise the index goes by
defaults. Nothing in here can fail a build, and no answer depends on it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from matcher_ext import ATree
from targeting.visit_log import find_newest_part

logger = logging.getLogger(__name__)

FORMAT = 1
SAMPLED_VISITS = 200


class MeasuredRates(msgspec.Struct, frozen=True):
    """What `pipelines.truth_rates` writes: rates by the text of a predicate."""

    format: int
    day: str
    rates: dict[str, float]


def learn_rates(index: ATree) -> str:
    """Gives the index its rates; says where they are from, nothing for defaults."""
    measured = read_measured(settings.TRUTH_RATES_FILE)
    if measured is not None and index.set_truth_rates(measured.rates):
        return f"the visits of {measured.day}"
    visits = list(sample_visits(Path(settings.VISIT_LOG_DIR)))
    if not visits:
        return ""
    index.learn_truth_rates(visits)
    return f"{len(visits)} sampled visits"


def read_measured(path: Path) -> MeasuredRates | None:
    try:
        measured = msgspec.json.decode(path.read_bytes(), type=MeasuredRates)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        logger.warning("No truth rates from %s: %s", path, error)
        return None
    is_sound = measured.format == FORMAT and all(0 <= r <= 1 for r in measured.rates.values())
    return measured if is_sound else None


def sample_visits(root: Path) -> Iterator[dict[str, Any]]:
    """Samples visits evenly over the newest file, so that all hours of its day are in it."""
    newest = find_newest_part(root)
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

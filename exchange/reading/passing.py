"""Measures how many of a publisher's own visits the rules of its edges let pass, by a sample.

Where this machine cannot read the log, or it holds none of the publisher's visits, nothing is said.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.conf import settings

from exchange.market.catalog import load_catalog
from exchange.market.expressions import read_expression
from exchange.market.models import Edge
from exchange.serving.visits import PUBLISHER
from exchange.snapshots.rates import as_logged
from targeting import Catalog, ExpressionError
from targeting.visit_log import find_newest_part

logger = logging.getLogger(__name__)

SAMPLED = 200
BATCH_ROWS = 8_192
BATCHES_READ = 40  # a publisher with few visits is not looked for in all of a large log

Visit = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Passing:
    """`passed` of `sampled` visits of one day at an edge; both None where nothing can be said."""

    edge: Edge
    passed: int | None = None
    sampled: int | None = None
    day: date | None = None

    @property
    def percent(self) -> float | None:
        return None if self.passed is None or not self.sampled else 100 * self.passed / self.sampled


def measure_passing(edges: Sequence[Edge]) -> list[Passing]:
    """Measures edges, which must come with `seller` and `buyer`."""
    newest = find_newest_part(Path(settings.VISIT_LOG_DIR))
    if newest is None:
        return [Passing(edge) for edge in edges]
    catalog = load_catalog()
    day = date.fromisoformat(newest.parent.name.removeprefix("dt="))
    stamp = newest.stat().st_mtime_ns
    return [
        measure_edge(edge, sample_visits(newest, stamp, edge.seller.seller_id), day, catalog)
        for edge in edges
    ]


def measure_edge(edge: Edge, visits: Sequence[Visit], day: date, catalog: Catalog) -> Passing:
    try:
        rule = read_expression(
            text=edge.expression, catalog=catalog, organisation_id=edge.seller.organisation_id
        )
    except ExpressionError:
        return Passing(edge)
    if not visits:
        return Passing(edge)
    return Passing(edge, sum(rule.evaluate(visit) is True for visit in visits), len(visits), day)


@lru_cache(maxsize=64)
def sample_visits(path: Path, stamp: int, seller_id: str) -> tuple[Visit, ...]:  # noqa: ARG001, a newer file
    """Samples the publisher's first visits; kept, because a day's file does not change."""
    try:
        return tuple(read_visits(path, seller_id))
    except (OSError, pa.ArrowException) as error:
        logger.warning("No visits from %s: %s", path, error)
        return ()


def read_visits(path: Path, seller_id: str) -> Iterator[Visit]:
    wanted = SAMPLED
    file = pq.ParquetFile(path)
    if PUBLISHER not in file.schema_arrow.names:
        return
    groups = list(find_row_groups(file, seller_id))
    for number, batch in enumerate(file.iter_batches(BATCH_ROWS, row_groups=groups)):
        if number == BATCHES_READ:
            return
        rows = batch.filter(pc.equal(batch[PUBLISHER], seller_id)).slice(0, wanted)
        yield from map(as_visit, rows.to_pylist())
        wanted -= rows.num_rows
        if not wanted:
            return


def find_row_groups(file: pq.ParquetFile, seller_id: str) -> Iterator[int]:
    """Finds the groups that may hold the publisher: a compacted day is sorted by it."""
    columns = range(len(file.schema))
    column = next(each for each in columns if file.schema.column(each).path == PUBLISHER)
    for number in range(file.num_row_groups):
        bounds = file.metadata.row_group(number).column(column).statistics
        if bounds is None or not bounds.has_min_max or bounds.min <= seller_id <= bounds.max:
            yield number


def as_visit(row: dict[str, Any]) -> Visit:
    return {name: as_logged(value) for name, value in row.items() if value is not None}


def has_sample(measured: Iterable[Passing]) -> bool:
    return any(one.sampled for one in measured)

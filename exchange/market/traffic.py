"""Tells what visits carry, as far as a sample of the newest logged day shows: for hints while one
types.

Where this machine cannot read the log nothing is known, and nothing is said. One sample per file
and process; it is read in the background of the first question, bounded in rows and values.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.conf import settings

from targeting import Catalog
from targeting.catalog import Attribute
from targeting.traffic import Traffic
from targeting.visit_log import find_newest_part

logger = logging.getLogger(__name__)

SAMPLED_ROWS = 20_000
SAMPLED_GROUPS = 8
# An attribute with more values (a page's address, a visitor's number) is known only in part.
MOST_VALUES = 2_000
COUNTED = frozenset({"string", "string set", "integer", "integer set"})


@dataclass(frozen=True, slots=True)
class SampledTraffic:
    """What was sampled: `visits` of a `day` were looked at; none: nothing is known. `counts` says
    how many of them had each value, the most frequent first."""

    traffic: Traffic
    visits: int = 0
    day: str = ""
    counts: Mapping[str, Mapping[str | int, int]] = field(default_factory=dict)

    def nameable(self, attribute: Attribute) -> Mapping[str | int, int]:
        """Gives the values that may be offered to whoever writes an expression: what is about one
        person (a pseudonym, a postal code) is not; a person's segments are words that many
        share."""
        is_personal = attribute.personal and not attribute.type.value.endswith("set")
        return {} if is_personal else self.counts.get(attribute.name, {})

    def __str__(self) -> str:
        return f"{self.visits:,} sampled visits of {self.day}"


UNKNOWN = SampledTraffic(Traffic({}, {}))


def sample_traffic(catalog: Catalog) -> SampledTraffic:
    newest = find_newest_part(Path(settings.VISIT_LOG_DIR))
    if newest is None:
        return UNKNOWN
    kinds = tuple((attribute.name, attribute.type.value) for attribute in catalog)
    try:
        return read_sample(newest, newest.stat().st_mtime_ns, kinds)
    except (OSError, pa.ArrowException) as error:
        logger.warning("No sample of traffic from %s: %s", newest, error)
        return UNKNOWN


@lru_cache(maxsize=2)
def read_sample(path: Path, _written_ns: int, kinds: tuple[tuple[str, str], ...]) -> SampledTraffic:
    with pq.ParquetFile(path) as file:
        logged = set(file.schema_arrow.names)
        columns = [name for name, _ in kinds if name in logged]
        table = pa.Table.from_batches(sample_batches(file, columns), file_schema(file, columns))
    if not table.num_rows:
        return UNKNOWN
    known = {name: table.column(name) for name in columns}
    rates = {name: 1 - values.null_count / table.num_rows for name, values in known.items()}
    counts = {
        name: count_values(known[name]) for name, kind in kinds if name in known and kind in COUNTED
    }
    seen = {name: found for name, found in counts.items() if len(found) <= MOST_VALUES}
    frequent = {name: dict(list(found.items())[:MOST_VALUES]) for name, found in counts.items()}
    day = path.parent.name.removeprefix("dt=")
    return SampledTraffic(Traffic(rates, seen), table.num_rows, day, frequent)


def file_schema(file: pq.ParquetFile, columns: list[str]) -> pa.Schema:
    return pa.schema([file.schema_arrow.field(name) for name in columns])


def sample_batches(file: pq.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yields the beginnings of row groups all over the file: all hours of its day are in it."""
    step = max(file.num_row_groups // SAMPLED_GROUPS, 1)
    groups = range(0, file.num_row_groups, step)[:SAMPLED_GROUPS]
    size = SAMPLED_ROWS // max(len(groups), 1)
    for group in groups:
        yield from (
            batch.select(columns)
            for batch, _ in zip(
                file.iter_batches(batch_size=size, row_groups=[group], columns=columns),
                range(1),
                strict=False,
            )
        )


def count_values(column: pa.ChunkedArray) -> dict[str | int, int]:
    """Counts values, the most frequent first; if there are more than can all be known, one more."""
    flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    counted = pc.value_counts(flat.drop_null())
    order = pc.sort_indices(counted.field("counts"), sort_keys=[("", "descending")])
    rows = counted.take(order[: MOST_VALUES + 1])
    return dict(
        zip(rows.field("values").to_pylist(), rows.field("counts").to_pylist(), strict=True)
    )

"""How often each predicate of a snapshot was true of a day's visits: the next snapshot's order.

The predicates are entries of a small index of their own, counted by the same matcher in the same
batches as campaigns. What comes out is one small file, replaced whole; an earlier day never takes
the place of a later one.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from matcher_ext import ATree, ExpressionError, Snapshot
from matcher_ext.index import list_predicates
from matcher_ext.language import check_text
from pipelines.matching import SnapshotSource
from pipelines.visit_log import ADDED, column

FORMAT = 1
ALL_VISITS = -1  # in the place of a predicate: how many visits there were
TRUTHS = StructType([StructField("predicate", LongType()), StructField("visits", LongType())])


@dataclass(frozen=True, slots=True)
class CountTruths:
    """For `mapInArrow`: visits in, rows of `TRUTHS` out."""

    source: SnapshotSource

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = index_predicates(self.source.open().snapshot)
        counts, visits = np.zeros(len(index), np.int64), 0
        for batch in batches:
            rows = pa.RecordBatch.from_struct_array(batch.column(0))
            counts += index.count_batch(rows)
            visits += rows.num_rows
        seen = np.flatnonzero(counts)
        numbers = np.append(index.ids[seen], ALL_VISITS)
        totals = np.append(counts[seen], visits)
        yield pa.RecordBatch.from_arrays([pa.array(numbers), pa.array(totals)], TRUTHS.names)


def index_predicates(snapshot: Snapshot) -> Snapshot:
    """By their place in the snapshot."""
    index = ATree(snapshot.catalog)
    texts = {
        number: text
        for number, text in enumerate(list_predicates(snapshot))
        if is_readable(snapshot, text)
    }
    index.insert_many(texts.keys(), texts.values())
    return index.freeze()


def is_readable(snapshot: Snapshot, text: str) -> bool:
    try:
        check_text(snapshot.catalog, text, composed=True)
    except ExpressionError:
        return False
    return True


def measure_rates(log: list[DataFrame], source: SnapshotSource) -> dict[str, float]:
    """By the text of the predicate, all that were measured; empty if there was no visit."""
    parts = []
    for part in log:
        attributes = [column(name) for name in part.columns if name not in {"visit_id", *ADDED}]
        visits = part.select(sf.struct(*attributes).alias("visit"))
        parts.append(visits.mapInArrow(CountTruths(source), TRUTHS))
    summed = reduce(DataFrame.union, parts).groupBy("predicate").agg(sf.sum("visits"))
    counts = {row[0]: row[1] for row in summed.collect()}
    visits_seen = counts.pop(ALL_VISITS, 0)
    if not visits_seen:
        return {}
    texts = list_predicates(source.open().snapshot)
    return {text: counts.get(number, 0) / visits_seen for number, text in enumerate(texts)}


def write_rates(path: Path, day: date, rates: dict[str, float]) -> bool:
    """Says whether it did: rates of a later day stay."""
    if not rates or read_day_of(path) > str(day):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}-{os.getpid()}")
    aside.write_text(json.dumps({"format": FORMAT, "day": str(day), "rates": rates}))
    aside.rename(path)
    return True


def read_day_of(path: Path) -> str:
    try:
        return str(json.loads(path.read_text())["day"])
    except (OSError, ValueError, KeyError):
        return ""

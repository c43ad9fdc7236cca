"""Job: where visits are lost on the way to a booking, step by step.

    steps      booking, step: visits that came, passed, were lost to false and to unknown
    blockers   booking, condition: visits that everything but this one lets pass
    edges      edge: the same sums over the bookings behind it, and how many of them it harms

A booking's first step has the visits at its publisher that carry what is required; then come the
edges of its path in their order, or whether any path is open, and last the campaign. The edges'
figures are sums over bookings, so a visit counts once for each booking that it is on its way to.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from matcher_ext import VisitTable
from pipelines.day_input import Batches, DayInput, open_batches
from pipelines.day_jobs import DayJob, Tables
from pipelines.matching import OpenSnapshot, SnapshotSource
from pipelines.visit_log import column
from targeting.visit_log import PUBLISHER, WEIGHT

# Prepared at once: about 60 MB.
ROWS_AT_ONCE = 200_000
EDGE_PREFIX = "edge."
BOOKING = [
    StructField("booking_id", LongType()),
    StructField("campaign_id", LongType()),
    StructField("publisher", StringType()),
]
COUNTS = [
    StructField("came", LongType()),
    StructField("passed", LongType()),
    StructField("lost_to_false", LongType()),
    StructField("lost_to_unknown", LongType()),
]
STEPS = StructType(
    [*BOOKING, StructField("step", IntegerType()), StructField("name", StringType()), *COUNTS]
)
BLOCKERS = StructType(
    [*BOOKING, StructField("condition", StringType()), StructField("visits", LongType())]
)
EDGES = StructType(
    [
        StructField("edge", StringType()),
        StructField("bookings", LongType()),
        StructField("bookings_harmed", LongType()),
        *COUNTS,
    ]
)
# What workers find: rows of STEPS, or of BLOCKERS.
FOUND = StructType([*STEPS, *list(BLOCKERS)[len(BOOKING) :]])


def compute(day: DayInput) -> Tables:
    found = day.keep(day.map_visits(FollowVisits(day.index.source), FOUND))
    steps = day.keep(sum_steps(found))
    return {"steps": steps, "blockers": sum_blockers(found), "edges": sum_edges(steps)}


@dataclass(frozen=True, slots=True)
class FollowVisits:
    """For `map_visits`: rows of FOUND, for each prepared table."""

    source: SnapshotSource

    def __call__(self, batches: Batches) -> Batches:
        index = self.source.open()
        for visits in gather(open_batches(batches)):
            rows = list(follow(index, visits))
            yield pa.RecordBatch.from_pylist(rows, to_arrow_schema(FOUND))


def gather(batches: Batches) -> Iterator[pa.Table]:
    """Joins batches: a table of many visits is asked as quickly as one of few."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if any(each.num_rows for each in waiting):
        yield pa.Table.from_batches(waiting)


def follow(index: OpenSnapshot, visits: pa.Table) -> Iterator[dict[str, Any]]:
    """Follows the visits to the bookings of their publishers."""
    weights = visits[WEIGHT].to_numpy() if WEIGHT in visits.schema.names else None
    table = VisitTable.from_arrow(visits, index.snapshot.catalog, weights=weights, users=None)
    is_here = pc.is_in(index.publishers, pc.unique(visits[PUBLISHER]))
    places = np.flatnonzero(is_here.to_numpy(zero_copy_only=False))
    ids = index.snapshot.ids[places].tolist()
    place_of = dict(zip(ids, places.tolist(), strict=True))
    for booking_id, funnel in table.funnel(index.snapshot, ids).items():
        booking, came = name_booking(index, booking_id, place_of[booking_id]), funnel.visits
        for number, step in enumerate(funnel.steps):
            yield booking | {
                "step": number,
                "name": step.name,
                "came": came,
                "passed": step.passed,
                "lost_to_false": step.false,
                "lost_to_unknown": step.unknown,
            }
            came = step.passed
    for booking_id, blockers in table.sole_blockers(index.snapshot, ids).items():
        booking = name_booking(index, booking_id, place_of[booking_id])
        for blocker in blockers:
            if blocker.visits:
                yield booking | {"condition": blocker.condition, "visits": blocker.visits}


def name_booking(index: OpenSnapshot, booking_id: int, place: int) -> dict[str, Any]:
    return {
        "booking_id": booking_id,
        "campaign_id": index.campaign_ids[place].as_py(),
        "publisher": index.publishers[place].as_py(),
    }


def sum_steps(found: DataFrame) -> DataFrame:
    keys = [each.name for each in STEPS][: -len(COUNTS)]
    sums = [sf.sum(each.name).alias(each.name) for each in COUNTS]
    return found.where(column("step").isNotNull()).groupBy(*keys).agg(*sums)


def sum_blockers(found: DataFrame) -> DataFrame:
    keys = [each.name for each in BLOCKERS][:-1]
    blocked = found.where(column("condition").isNotNull())
    return blocked.groupBy(*keys).agg(sf.sum("visits").alias("visits"))


def sum_edges(steps: DataFrame) -> DataFrame:
    """Sums up the steps that are edges; one harms a booking whose visits it stops."""
    edges = steps.where(column("name").startswith(EDGE_PREFIX))
    is_harmed = column("passed") < column("came")
    return edges.groupBy(sf.substring("name", len(EDGE_PREFIX) + 1, 20).alias("edge")).agg(
        sf.count("*").alias("bookings"),
        sf.sum(is_harmed.cast("long")).alias("bookings_harmed"),
        *[sf.sum(each.name).alias(each.name) for each in COUNTS],
    )


JOB = DayJob("funnel", {"steps": STEPS, "blockers": BLOCKERS, "edges": EDGES}, compute)

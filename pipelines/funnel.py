"""Job: finds where visits are lost on the way to a booking, step by step.

    steps         booking, step: visits that came, passed, were lost to false and to unknown
    blockers      booking, condition: visits that everything but this one lets pass; and all visits
                  that it is false of, or that lack a value for it
    samples       20 visits of each of a booking's three largest blockers
    bottlenecks   booking on any path, edge: visits that cannot do without it (docs/tables.md)
    edges         edge: visits that came to it on fixed paths, each once, and what became of them;
                  the same summed up over bookings, and how many of them it harms; and over bookings
                  on any path: visits that come to nothing but this edge, passed and lost

A booking's first step has the visits at its publisher that carry what is required; then come the
edges of its path in their order, or whether any path is open, and last the campaign.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from matcher_ext.tables.results import Funnel
from pipelines.asking import as_answers
from pipelines.blocking import find_failing, follow_paths
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.prepared import PreparedVisits, PublisherRows, Rows, count_bits
from pipelines.sampling import SAMPLED, Sampler, name_bookings, unite_samples
from pipelines.visit_log import column

NAME = "funnel"
EDGE_PREFIX = "edge."
SAMPLED_BLOCKERS = 3
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
BLOCKED = [
    StructField("visits", LongType()),
    StructField("visits_false", LongType()),
    StructField("visits_missing", LongType()),
]
BLOCKERS = StructType([*BOOKING, StructField("condition", StringType()), *BLOCKED])
SAMPLES = StructType(
    [
        *BOOKING,
        StructField("condition", StringType()),
        StructField("rank", IntegerType()),
        StructField("visits", LongType()),
        StructField("visit_id", StringType()),
    ]
)
WEIGHED = [StructField("depending", LongType()), StructField("blocked", LongType())]
BOTTLENECKS = StructType([*BOOKING, StructField("edge", StringType()), *WEIGHED])
REACHED = [
    StructField("visits_reached", LongType()),
    StructField("visits_passed", LongType()),
    StructField("visits_lost_to_false", LongType()),
    StructField("visits_lost_to_unknown", LongType()),
]
ON_FIXED = [
    StructField("bookings", LongType()),
    StructField("bookings_harmed", LongType()),
    *COUNTS,
]
ON_ANY = [
    StructField("any_path_bookings", LongType()),
    StructField("any_path_harmed", LongType()),
    StructField("any_path_came", LongType()),
    StructField("any_path_passed", LongType()),
    StructField("any_path_lost", LongType()),
]
EDGES = StructType([StructField("edge", StringType()), *ON_FIXED, *REACHED, *ON_ANY])
# What workers find: rows of STEPS, BLOCKERS, BOTTLENECKS or, without a booking, of EDGES.
FOUND = StructType(
    [
        *STEPS,
        StructField("condition", StringType()),
        *BLOCKED,
        StructField("sampled", ArrayType(SAMPLED)),
        StructField("edge", StringType()),
        *WEIGHED,
        *REACHED,
    ]
)


def compute(day: DayInput) -> Tables:
    found = day.found(NAME)
    steps = day.keep(sum_steps(found))
    blockers = day.keep(sum_blockers(found))
    bottlenecks = day.keep(sum_bottlenecks(found))
    return {
        "steps": steps,
        "blockers": blockers,
        "samples": choose_samples(blockers),
        "bottlenecks": bottlenecks,
        "edges": join_edges(sum_edges(steps), sum_reached(found), sum_any_path(bottlenecks)),
    }


@dataclass(frozen=True, slots=True)
class LostVisits:
    """Asks where visits are lost on their way to the bookings of their publishers."""

    name: str = NAME
    answers: StructType = FOUND

    def ask(self, visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
        places = visits.here
        ids = visits.ids_of(places)
        funnels = visits.table.funnel(visits.index.snapshot, ids)
        ways = {place: funnels[booking] for place, booking in zip(places, ids, strict=True)}
        yield tell_steps(visits, ways)
        asked = visits.ask_conditions(places)
        for publisher, some in group_places(visits, places).items():
            yield tell_blockers(visits, asked[publisher], some)
            yield tell_edges(visits, asked[publisher], list_paths(ways, some))
        yield tell_bottlenecks(visits, places)


def group_places(visits: PreparedVisits, places: Sequence[int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for name, place in zip(visits.publishers_of(places), places, strict=True):
        found.setdefault(name, []).append(place)
    return found


def list_paths(ways: dict[int, Funnel], places: Sequence[int]) -> set[tuple[str, ...]]:
    """Lists the different paths of bookings on fixed ones, as conditions."""
    paths = {
        tuple(f"@{step.name}" for step in ways[place].steps if step.name.startswith(EDGE_PREFIX))
        for place in places
    }
    return paths - {()}


def tell_steps(visits: PreparedVisits, ways: dict[int, Funnel]) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = []
    for place, funnel in ways.items():
        came = funnel.visits
        for number, step in enumerate(funnel.steps):
            counts = (came, step.passed, step.false, step.unknown)
            weighed = (visits.weight * count for count in counts)
            said = dict(zip((each.name for each in COUNTS), weighed, strict=True))
            rows.append(name_booking(visits, place) | {"step": number, "name": step.name} | said)
            came = step.passed
    return pa.RecordBatch.from_pylist(rows, to_arrow_schema(FOUND))


def name_booking(visits: PreparedVisits, place: int) -> dict[str, Any]:
    return {
        "booking_id": int(visits.index.snapshot.ids[place]),
        "campaign_id": visits.index.campaign_ids[place].as_py(),
        "publisher": visits.index.publishers[place].as_py(),
    }


@dataclass(slots=True)
class Blockers:
    """Rows of BLOCKERS in the making, by columns."""

    places: list[int] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    counts: list[tuple[int, int, int]] = field(default_factory=list)
    sampled: list[Rows] = field(default_factory=list)


def tell_blockers(
    visits: PreparedVisits, at: PublisherRows, places: Sequence[int]
) -> pa.RecordBatch:
    sampler = Sampler(visits)
    made = Blockers()
    for place in places:
        for condition, failing in find_failing(at, visits.conditions.of(place)):
            alone = count_bits(failing.alone)
            if alone or failing.false or failing.unknown:
                made.places.append(place)
                made.conditions.append(condition)
                made.counts.append((alone, failing.false, failing.unknown))
                blocked = visits.row_numbers(at.first, failing.alone)
                made.sampled.append(sampler.choose(blocked))
    counts = visits.weight * np.array(made.counts, np.int64).reshape(-1, len(BLOCKED)).T
    return as_answers(
        FOUND,
        len(made.places),
        **name_bookings(visits, made.places),
        condition=pa.array(made.conditions, pa.string()),
        **dict(zip((each.name for each in BLOCKED), counts, strict=True)),
        sampled=sampler.list(made.sampled),
    )


def tell_edges(
    visits: PreparedVisits, at: PublisherRows, paths: set[tuple[str, ...]]
) -> pa.RecordBatch:
    met = follow_paths(at, [path for path in paths if all(edge in at.truths for edge in path)])
    counts = visits.weight * np.array([*met.values()], np.int64).reshape(-1, len(REACHED)).T
    names = [edge.removeprefix(f"@{EDGE_PREFIX}") for edge in met]
    columns = dict(zip((each.name for each in REACHED), counts, strict=True))
    return as_answers(FOUND, len(met), edge=pa.array(names, pa.string()), **columns)


def tell_bottlenecks(visits: PreparedVisits, places: Sequence[int]) -> pa.RecordBatch:
    found = visits.table.bottlenecks(visits.index.snapshot, visits.ids_of(places))
    place_of = dict(zip(visits.ids_of(places), places, strict=True))
    rows = [(place_of[booking], each) for booking, many in found.items() for each in many]
    return as_answers(
        FOUND,
        len(rows),
        **name_bookings(visits, [place for place, _ in rows]),
        edge=pa.array([str(each.edge) for _, each in rows], pa.string()),
        depending=visits.weight * np.array([each.depending for _, each in rows], np.int64),
        blocked=visits.weight * np.array([each.blocked for _, each in rows], np.int64),
    )


def sum_steps(found: DataFrame) -> DataFrame:
    keys = [each.name for each in STEPS][: -len(COUNTS)]
    sums = [sf.sum(each.name).alias(each.name) for each in COUNTS]
    return found.where(column("step").isNotNull()).groupBy(*keys).agg(*sums)


def sum_blockers(found: DataFrame) -> DataFrame:
    keys = [*(each.name for each in BOOKING), "condition"]
    sums = [sf.sum(each.name).alias(each.name) for each in BLOCKED]
    return (
        found.where(column("condition").isNotNull())
        .groupBy(*keys)
        .agg(*sums, unite_samples("sampled"))
    )


def choose_samples(blockers: DataFrame) -> DataFrame:
    """Chooses the visits of each booking's largest blockers."""
    largest = Window.partitionBy("booking_id").orderBy(sf.desc("visits"), "condition")
    ranked = blockers.where(column("visits") > 0).withColumn("rank", sf.row_number().over(largest))
    chosen = ranked.where(column("rank") <= SAMPLED_BLOCKERS)
    return chosen.withColumn("visit", sf.explode("sampled")).withColumn(
        "visit_id", column("visit").visit_id
    )


def sum_bottlenecks(found: DataFrame) -> DataFrame:
    keys = [*(each.name for each in BOOKING), "edge"]
    sums = [sf.sum(each.name).alias(each.name) for each in WEIGHED]
    return found.where(column("depending").isNotNull()).groupBy(*keys).agg(*sums)


def sum_reached(found: DataFrame) -> DataFrame:
    reached = found.where(column("visits_reached").isNotNull())
    return reached.groupBy("edge").agg(*[sf.sum(each.name).alias(each.name) for each in REACHED])


def sum_edges(steps: DataFrame) -> DataFrame:
    """Sums up the steps that are edges; one harms a booking whose visits it stops."""
    edges = steps.where(column("name").startswith(EDGE_PREFIX))
    is_harmed = column("passed") < column("came")
    return edges.groupBy(sf.substring("name", len(EDGE_PREFIX) + 1, 20).alias("edge")).agg(
        sf.count("*").alias("bookings"),
        sf.sum(is_harmed.cast("long")).alias("bookings_harmed"),
        *[sf.sum(each.name).alias(each.name) for each in COUNTS],
    )


def sum_any_path(bottlenecks: DataFrame) -> DataFrame:
    """Sums up over bookings on any path the visits that cannot do without the edge. It harms a
    booking that would get more visits if it were open."""
    depending, blocked = sf.sum("depending"), sf.sum("blocked")
    return bottlenecks.groupBy("edge").agg(
        sf.count("*").alias("any_path_bookings"),
        sf.sum((column("blocked") > 0).cast("long")).alias("any_path_harmed"),
        (depending + blocked).alias("any_path_came"),
        depending.alias("any_path_passed"),
        blocked.alias("any_path_lost"),
    )


def join_edges(fixed: DataFrame, reached: DataFrame, any_path: DataFrame) -> DataFrame:
    """Joins what is known of edges: zeros of what none of their bookings has. Visits that could not
    be followed to an edge stay unknown."""
    joined = fixed.join(reached, "edge", "left").join(any_path, "edge", "full")
    is_passed_over = column("bookings").isNull()
    for each in REACHED:
        known = sf.when(is_passed_over, 0).otherwise(column(each.name))
        joined = joined.withColumn(each.name, known)
    return joined.fillna(0, [each.name for each in (*ON_FIXED, *ON_ANY)])


JOB = DayJob(
    NAME,
    {
        "steps": STEPS,
        "blockers": BLOCKERS,
        "samples": SAMPLES,
        "bottlenecks": BOTTLENECKS,
        "edges": EDGES,
    },
    compute,
    question=lambda _: LostVisits(),
)

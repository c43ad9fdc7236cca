"""Job: finds which campaigns are eligible for the same visits, and the same people, at a publisher.

    partners   publisher, campaign: the 50 others that share most visits with it, at least 20
    alone      publisher, campaign: its visits, and those that no other campaign was eligible for

Visits are exact. People are estimated by theta sketches, which can be intersected: exact as long as
a campaign has fewer users at a publisher than a sketch has room for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines.asking import as_answers
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.prepared import PreparedVisits
from pipelines.sketches import Theta, scale
from pipelines.visit_log import column
from targeting.visit_log import USER

NAME = "overlap"
TOP, SUPPORT = 50, 20
PUBLISHER, CAMPAIGN = (
    StructField("publisher", StringType()),
    StructField("campaign_id", LongType()),
)
PARTNERS = StructType(
    [
        PUBLISHER,
        CAMPAIGN,
        StructField("partner_id", LongType()),
        StructField("rank", IntegerType()),
        StructField("visits_both", LongType()),
        StructField("share_of_visits", DoubleType()),
        StructField("users_both", LongType()),
    ]
)
ALONE = StructType(
    [
        PUBLISHER,
        CAMPAIGN,
        StructField("visits", LongType()),
        StructField("exclusive_visits", LongType()),
        StructField("users", LongType()),
    ]
)
SKETCH = StructType(
    [
        StructField("hashes", ArrayType(LongType())),
        StructField("bound", LongType()),
        StructField("weight", LongType()),
    ]
)
# What workers find: pairs of campaigns; or a campaign's own visits and users.
FOUND = StructType(
    [
        PUBLISHER,
        CAMPAIGN,
        StructField("partner_id", LongType()),
        StructField("visits", LongType()),
        StructField("exclusive_visits", LongType()),
        *SKETCH,
    ]
)
# A campaign with what it shares; rows of PARTNERS, and one of ALONE, whose partner is null.
COMPARED = StructType([*ALONE, *list(PARTNERS)[2:]])


def compute(day: DayInput) -> Tables:
    found = day.found(NAME)
    partners = gather_partners(rank_partners(sum_pairs(found)))
    own = sum_own(found).join(partners, ["publisher", "campaign_id"], "left")
    compared = day.keep(own.groupBy("publisher").applyInArrow(compare_users, COMPARED))
    is_partner = column("partner_id").isNotNull()
    return {"partners": compared.where(is_partner), "alone": compared.where(~is_partner)}


@dataclass(frozen=True, slots=True)
class SharedVisits:
    """Asks which bookings share rows, and whose the rows of each are. Bookings that share one are
    of one publisher, and a campaign is booked once with each."""

    name: str = NAME
    answers: StructType = FOUND

    def ask(self, visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
        if visits.eligible:
            yield count_pairs(visits)
            yield describe_bookings(visits)


def count_pairs(visits: PreparedVisits) -> pa.RecordBatch:
    """Counts all pairs: what is too few here may be enough with other rows of the publisher."""
    index = visits.index
    shared = visits.table.overlap(index.snapshot, support=1, top=len(index.snapshot))
    sizes = [len(partners) for partners in shared.values()]
    ones = np.repeat(np.fromiter(shared, np.int64, len(shared)), sizes)
    pairs = (number for partners in shared.values() for pair in partners for number in pair)
    others = np.fromiter(pairs, np.int64, 2 * sum(sizes)).reshape(-1, 2)
    places, partners = (np.searchsorted(index.snapshot.ids, ids) for ids in (ones, others[:, 0]))
    return as_answers(
        FOUND,
        len(ones),
        publisher=index.publishers.take(pa.array(places)),
        campaign_id=index.campaign_ids.take(pa.array(places)),
        partner_id=index.campaign_ids.take(pa.array(partners)),
        visits=visits.weight * others[:, 1],
    )


def describe_bookings(visits: PreparedVisits) -> pa.RecordBatch:
    """Makes one row per booking: its rows, those that it has to itself, and its users."""
    users = visits.users(USER)
    eligible = np.zeros(visits.rows.num_rows, np.int64)
    for place in visits.eligible:
        eligible[visits.rows_of(place)] += 1
    alone, sketches = [], []
    for place in visits.eligible:
        rows = visits.rows_of(place)
        alone.append(visits.weight * int((eligible[rows] == 1).sum()))
        sketches.append(Theta.of(users.hashes[users.choose(users.of_row[rows])]))
    places = pa.array(visits.eligible)
    return as_answers(
        FOUND,
        len(places),
        publisher=visits.index.publishers.take(places),
        campaign_id=visits.index.campaign_ids.take(places),
        visits=visits.weight * visits.counts[visits.eligible],
        exclusive_visits=pa.array(alone),
        hashes=list_hashes(sketches),
        bound=np.array([each.bound for each in sketches], np.uint64).view(np.int64),
        weight=visits.weight,
    )


def list_hashes(sketches: Sequence[Theta]) -> pa.Array:
    ends = np.cumsum([0, *(len(each.hashes) for each in sketches)]).astype(np.int32)
    hashes = np.concatenate([each.hashes for each in sketches])
    return pa.ListArray.from_arrays(ends, hashes.view(np.int64))


def sum_pairs(found: DataFrame) -> DataFrame:
    pairs = found.where(column("partner_id").isNotNull())
    return pairs.groupBy("publisher", "campaign_id", "partner_id").agg(
        sf.sum("visits").alias("visits_both")
    )


def sum_own(found: DataFrame) -> DataFrame:
    own = found.where(column("partner_id").isNull())
    return own.groupBy("publisher", "campaign_id").agg(
        sf.sum("visits").alias("visits"),
        sf.sum("exclusive_visits").alias("exclusive_visits"),
        sf.collect_list(sf.struct(*SKETCH.names)).alias("sketches"),
    )


def rank_partners(pairs: DataFrame) -> DataFrame:
    most = Window.partitionBy("publisher", "campaign_id").orderBy(
        sf.desc("visits_both"), "partner_id"
    )
    frequent = pairs.where(column("visits_both") >= SUPPORT)
    return frequent.withColumn("rank", sf.row_number().over(most)).where(column("rank") <= TOP)


def gather_partners(ranked: DataFrame) -> DataFrame:
    partner = sf.struct("rank", "partner_id", "visits_both")
    return ranked.groupBy("publisher", "campaign_id").agg(
        sf.sort_array(sf.collect_list(partner)).alias("partners")
    )


def compare_users(campaigns: pa.Table) -> pa.Table:
    """Compares the campaigns of one publisher, for `applyInArrow`, which gets rows of COMPARED."""
    rows = campaigns.to_pylist()
    place_of = {row["campaign_id"]: place for place, row in enumerate(rows)}
    weights = [weigh(row["sketches"]) for row in rows]
    sketches = [unite(row["sketches"]) for row in rows]
    marks = mark_users(sketches)
    found: list[dict[str, Any]] = []
    for place, row in enumerate(rows):
        own = {name: row[name] for name in ("publisher", "campaign_id")}
        sizes = {name: row[name] for name in ("visits", "exclusive_visits")}
        found.append(own | sizes | {"users": count_users(sketches[place], weights[place])})
        partners = row["partners"] or []
        others = [place_of[each["partner_id"]] for each in partners]
        common = np.bitwise_count(marks[others] & marks[place]).sum(axis=1)
        for each, other, count in zip(partners, others, common.tolist(), strict=True):
            share = each["visits_both"] / row["visits"]
            bound = min(sketches[place].bound, sketches[other].bound)
            users = times(scale(count, bound), weights[place], weights[other])
            found.append(own | each | {"share_of_visits": share, "users_both": users})
    return pa.Table.from_pylist(found, to_arrow_schema(COMPARED))


def weigh(sketches: Sequence[dict[str, Any]]) -> int | None:
    """Finds how many users each stands for; None where several weights do not add up."""
    weights = {each["weight"] for each in sketches}
    return weights.pop() if len(weights) == 1 else None


def unite(sketches: Sequence[dict[str, Any]]) -> Theta:
    return Theta.unite(
        Theta(
            np.array(each["hashes"], np.int64).view(np.uint64),
            np.int64(each["bound"]).view(np.uint64),
        )
        for each in sketches
    )


def mark_users(sketches: Sequence[Theta]) -> NDArray[np.uint64]:
    """Makes a line of bits for each sketch, with one for every hash that any of them has."""
    every = np.unique(np.concatenate([each.hashes for each in sketches]))
    marks = np.zeros((len(sketches), len(every) // 64 + 1), np.uint64)
    for line, sketch in zip(marks, sketches, strict=True):
        places = np.searchsorted(every, sketch.hashes)
        np.bitwise_or.at(line, places // 64, np.uint64(1) << (places % 64).astype(np.uint64))
    return marks


def count_users(sketch: Theta, weight: int | None) -> int | None:
    return times(sketch.estimate(), weight, weight)


def times(users: float, one: int | None, other: int | None) -> int | None:
    """Scales by the weight, if it is the same for both."""
    return None if one is None or one != other else int(users * one)


JOB = DayJob(
    NAME, {"partners": PARTNERS, "alone": ALONE}, compute, question=lambda _: SharedVisits()
)

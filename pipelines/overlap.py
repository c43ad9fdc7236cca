"""Job: which campaigns are eligible for the same visits, and the same people, at a publisher.

    partners   publisher, campaign: the 50 others that share most visits with it, at least 20
    alone      publisher, campaign: its visits, and those that no other campaign was eligible for

Visits are exact. People are estimated by theta sketches, which can be intersected: exact as long as
a campaign has fewer users at a publisher than a sketch has room for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Window
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

from pipelines.day_input import Batches, DayInput, open_batches
from pipelines.day_jobs import DayJob, Tables
from pipelines.eligibility import Numbers, encode, hash_users
from pipelines.matching import OpenSnapshot, SnapshotSource, split_by_weight
from pipelines.visit_log import column
from targeting.visit_log import USER

Flags = NDArray[np.bool_]
TOP, SUPPORT = 50, 20
LOG2_ENTRIES = 12  # of a sketch: 4,096 users are exact
CELLS_AT_ONCE = 16_000_000  # of the table of visits and campaigns: 64 MB
PARTNERS = StructType(
    [
        StructField("publisher", StringType()),
        StructField("campaign_id", LongType()),
        StructField("partner_id", LongType()),
        StructField("rank", IntegerType()),
        StructField("visits_both", LongType()),
        StructField("share_of_visits", DoubleType()),
        StructField("users_both", LongType()),
    ]
)
ALONE = StructType(
    [
        StructField("publisher", StringType()),
        StructField("campaign_id", LongType()),
        StructField("visits", LongType()),
        StructField("exclusive_visits", LongType()),
        StructField("users", LongType()),
    ]
)
# What workers find: pairs, a campaign with itself among them; or the users that a batch has.
FOUND = StructType(
    [
        StructField("publisher", StringType()),
        StructField("campaign_id", LongType()),
        StructField("partner_id", LongType()),
        StructField("visits", LongType()),
        StructField("exclusive_visits", LongType()),
        StructField("weight", LongType()),
        StructField("users", ArrayType(LongType())),
    ]
)


def compute(day: DayInput) -> Tables:
    found = day.keep(day.map_visits(FindPairs(day.index.source), FOUND))
    pairs = day.keep(sum_pairs(found))
    people = day.keep(sketch_people(found))
    own = pairs.where(column("campaign_id") == column("partner_id"))
    users = people.withColumn("users", estimate("sketch")).drop("sketch", "weight")
    return {
        "partners": rank_partners(pairs, own, people),
        "alone": own.join(users, ["publisher", "campaign_id"], "left"),
    }


@dataclass(frozen=True, slots=True)
class FindPairs:
    """For `map_visits`: rows of FOUND, summed up within a batch."""

    source: SnapshotSource

    def __call__(self, batches: Batches) -> Batches:
        index = self.source.open()
        for batch in open_batches(batches):
            for weight, visits in split_by_weight(batch):
                yield from find_pairs(index, visits, weight)


def find_pairs(
    index: OpenSnapshot, visits: pa.RecordBatch, weight: int
) -> Iterator[pa.RecordBatch]:
    """Counts publisher by publisher: a row's bookings all belong to one."""
    offsets, ids = index.snapshot.match_batch(visits)
    if not len(ids):
        return
    rows = np.repeat(np.arange(visits.num_rows), np.diff(offsets))
    places = np.searchsorted(index.snapshot.ids, ids)
    publishers = index.publishers.take(pa.array(places)).dictionary_encode().indices.to_numpy()
    is_alone = np.diff(offsets)[rows] == 1
    for publisher in np.unique(publishers):
        meant = publishers == publisher
        yield count_pairs(index, rows[meant], places[meant], is_alone[meant], weight)
        yield gather_users(index, visits, rows[meant], places[meant], weight)


def count_pairs(
    index: OpenSnapshot, rows: Numbers, places: Numbers, is_alone: Flags, weight: int
) -> pa.RecordBatch:
    """Multiplies the table of visits and campaigns with itself."""
    known, codes = np.unique(places, return_inverse=True)
    visits, numbers = np.unique(rows, return_inverse=True)
    both = np.zeros((len(known), len(known)), np.int64)
    step = max(1, CELLS_AT_ONCE // len(known))
    for first in range(0, len(visits), step):
        some = (numbers >= first) & (numbers < first + step)
        table = np.zeros((min(step, len(visits) - first), len(known)), np.float32)
        table[numbers[some] - first, codes[some]] = 1
        both += (table.T @ table).astype(np.int64)  # a step has fewer rows than are exact
    ones, others = np.nonzero(both)
    alone = np.bincount(codes[is_alone], minlength=len(known))
    return as_found(
        index,
        known[ones],
        partner_id=index.campaign_ids.take(pa.array(known[others])),
        visits=pa.array(weight * both[ones, others]),
        exclusive_visits=pa.array(weight * np.where(ones == others, alone[ones], 0)),
    )


def gather_users(
    index: OpenSnapshot, visits: pa.RecordBatch, rows: Numbers, places: Numbers, weight: int
) -> pa.RecordBatch:
    """Makes one row per booking, with its users in a list."""
    users, user_of_row = encode(visits, USER)
    has_user = user_of_row[rows] < len(users) - 1
    hashes = hash_users(users)
    pairs = np.unique(places[has_user] * len(users) + user_of_row[rows[has_user]])
    of_place, of_user = np.divmod(pairs, len(users))
    known, starts = np.unique(of_place, return_index=True)
    ends = np.append(starts, len(pairs)).astype(np.int32)
    return as_found(
        index,
        known,
        weight=pa.repeat(weight, len(known)),
        users=pa.ListArray.from_arrays(ends, hashes[of_user]),
    )


def as_found(index: OpenSnapshot, places: Numbers, **columns: pa.Array) -> pa.RecordBatch:
    taken = pa.array(places)
    columns["publisher"] = index.publishers.take(taken)
    columns["campaign_id"] = index.campaign_ids.take(taken)
    kinds = to_arrow_schema(FOUND)
    arrays = [
        columns[each.name].cast(each.type)
        if each.name in columns
        else pa.nulls(len(places), each.type)
        for each in kinds
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=kinds)


def sum_pairs(found: DataFrame) -> DataFrame:
    pairs = found.where(column("partner_id").isNotNull())
    return pairs.groupBy("publisher", "campaign_id", "partner_id").agg(
        sf.sum("visits").alias("visits"), sf.sum("exclusive_visits").alias("exclusive_visits")
    )


def sketch_people(found: DataFrame) -> DataFrame:
    """Sketches each campaign's users; leaves out those with several weights: they do not add up."""
    keys = ["publisher", "campaign_id"]
    people = found.select(*keys, "weight", sf.explode("users").alias("user"))
    sketched = people.groupBy(*keys).agg(
        sf.theta_sketch_agg("user", LOG2_ENTRIES).alias("sketch"),
        sf.min("weight").alias("weight"),
        sf.max("weight").alias("largest"),
    )
    return sketched.where(column("weight") == column("largest")).drop("largest")


def estimate(sketch: str) -> Column:
    users: Column = (sf.theta_sketch_estimate(sketch) * column("weight")).cast("long")
    return users


def rank_partners(pairs: DataFrame, own: DataFrame, people: DataFrame) -> DataFrame:
    keys = ["publisher", "campaign_id"]
    most = Window.partitionBy(*keys).orderBy(sf.desc("visits_both"), "partner_id")
    others = pairs.where(column("campaign_id") != column("partner_id"))
    ranked = (
        others.where(column("visits") >= SUPPORT)
        .select(*keys, "partner_id", column("visits").alias("visits_both"))
        .withColumn("rank", sf.row_number().over(most))
        .where(column("rank") <= TOP)
    )
    partners = people.select(
        "publisher",
        column("campaign_id").alias("partner_id"),
        column("sketch").alias("partner_sketch"),
    )
    shared = sf.theta_intersection("sketch", "partner_sketch")
    return (
        ranked.join(own.select(*keys, "visits"), keys)
        .join(people, keys, "left")
        .join(partners, ["publisher", "partner_id"], "left")
        .withColumn("share_of_visits", column("visits_both") / column("visits"))
        .withColumn("shared", shared)
        .withColumn("users_both", estimate("shared"))
    )


JOB = DayJob("overlap", {"partners": PARTNERS, "alone": ALONE}, compute)

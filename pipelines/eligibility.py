"""Job: how many visits, and how many people, each campaign was eligible for.

    by_publisher   campaign, publisher: every live booking, also those with no visit
    detail         campaign, publisher, country, device: where there is a visit
    daily_visits   publisher: what the log held
    people         campaign, salt, weight: visits with a user, and a sketch of the users

A sketch (HLL) of several days is the union of theirs. Users are hashed with a salt that changes, so
a row is in two sketches: under the salt of its own window, and of the one before (see README).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pandas.util import hash_array
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines.day_input import Batches, DayInput, open_batches
from pipelines.day_jobs import DayJob, Tables
from pipelines.judging import count_daily
from pipelines.matching import OpenSnapshot, SnapshotSource, split_by_weight
from pipelines.visit_log import column
from targeting.visit_log import SALT, USER, USER_BEFORE, WINDOW_DAYS

Numbers = NDArray[np.int64]

COUNTRY, DEVICE = "geo.country", "device.type"
GROUPS = (COUNTRY, DEVICE)
LOG2_BUCKETS = 12  # of a sketch: 4 KB at most, and a standard error of 1.6 percent

BY_PUBLISHER = StructType(
    [
        StructField("campaign_id", LongType()),
        StructField("publisher", StringType()),
        StructField("bookings", LongType()),
        StructField("visits", LongType()),
        StructField("eligible_visits", LongType()),
    ]
)
DETAIL = StructType(
    [
        StructField("campaign_id", LongType()),
        StructField("publisher", StringType()),
        StructField("country", StringType()),
        StructField("device", StringType()),
        StructField("eligible_visits", LongType()),
    ]
)
DAILY = StructType(
    [
        StructField("publisher", StringType()),
        StructField("visits", LongType()),
        StructField("malformed", LongType()),
        StructField("duplicates", LongType()),
        StructField("late", LongType()),
        StructField("wrong_values", LongType()),
    ]
)
PEOPLE = StructType(
    [
        StructField("campaign_id", LongType()),
        StructField("salt", StringType()),
        StructField("weight", LongType()),
        StructField("visits", LongType()),
        StructField("users", BinaryType()),
    ]
)
# What workers find: rows of `detail`; or of `people`, with the users that a batch has; or how many
# values were of a wrong type, with neither.
FOUND = StructType(
    [
        *DETAIL,
        StructField("salt", StringType()),
        StructField("weight", LongType()),
        StructField("users", ArrayType(LongType())),
        StructField("wrong_values", LongType()),
    ]
)


def compute(day: DayInput) -> Tables:
    found = day.keep(day.map_visits(FindEligible(day.index.source), FOUND))
    detail = sum_detail(found)
    daily = count_daily(day.keys)
    return {
        "detail": detail,
        "by_publisher": sum_bookings(day, detail, daily),
        "daily_visits": daily.join(sum_wrong_values(found)),
        "people": sketch_people(found),
    }


@dataclass(frozen=True, slots=True)
class FindEligible:
    """For `map_visits`: rows of FOUND, summed up within a batch."""

    source: SnapshotSource

    def __call__(self, batches: Batches) -> Batches:
        index = self.source.open()
        for batch in open_batches(batches):
            for weight, visits in split_by_weight(batch):
                yield from find_eligible(index, visits, weight)


def find_eligible(
    index: OpenSnapshot, visits: pa.RecordBatch, weight: int
) -> Iterator[pa.RecordBatch]:
    wrong = weight * int(index.snapshot.malformed_rows(visits).sum())
    yield as_found(1, wrong_values=pa.array([wrong]))
    offsets, ids = index.snapshot.match_batch(visits)
    if len(ids):
        rows = np.repeat(np.arange(visits.num_rows), np.diff(offsets))
        places = np.searchsorted(index.snapshot.ids, ids)
        yield group_pairs(index, visits, rows, places, weight)
        yield from gather_people(index, visits, rows, places, weight)


def group_pairs(
    index: OpenSnapshot, visits: pa.RecordBatch, rows: Numbers, places: Numbers, weight: int
) -> pa.RecordBatch:
    """Counts the rows of each booking in each group."""
    (countries, country), (devices, device) = (encode(visits, name) for name in GROUPS)
    codes = (places * len(countries) + country[rows]) * len(devices) + device[rows]
    found, counts = np.unique(codes, return_counts=True)
    found, device_codes = np.divmod(found, len(devices))
    found, country_codes = np.divmod(found, len(countries))
    return as_found(
        len(found),
        campaign_id=index.campaign_ids.take(pa.array(found)),
        publisher=index.publishers.take(pa.array(found)),
        country=countries.take(pa.array(country_codes)),
        device=devices.take(pa.array(device_codes)),
        eligible_visits=pa.array(weight * counts),
    )


def gather_people(
    index: OpenSnapshot, visits: pa.RecordBatch, rows: Numbers, places: Numbers, weight: int
) -> Iterator[pa.RecordBatch]:
    """Lists each campaign's users, once per salt."""
    if USER not in visits.schema.names or not pa.types.is_string(visits.column(USER).type):
        return
    salts, salt_of_row = encode(visits, SALT)
    campaigns = index.campaign_ids.to_numpy()[places]
    for code, salt in enumerate(salts.to_pylist()):
        for name, salt_name in ((USER, salt or ""), (USER_BEFORE, find_salt_before(salt))):
            users, user_of_row = encode(visits, name)
            is_meant = (salt_of_row[rows] == code) & (user_of_row[rows] < len(users) - 1)
            if salt_name is not None and is_meant.any():
                meant = hash_users(users)[user_of_row[rows[is_meant]]]
                yield gather_users(campaigns[is_meant], meant, salt_name, weight)


def gather_users(campaigns: Numbers, users: Numbers, salt: str, weight: int) -> pa.RecordBatch:
    """Makes one row per campaign, with its users in a list."""
    order = np.lexsort((users, campaigns))
    campaigns, users = campaigns[order], users[order]
    is_new = np.append(True, (np.diff(campaigns) != 0) | (np.diff(users) != 0))
    ids, visits = np.unique(campaigns, return_counts=True)
    starts = np.searchsorted(campaigns[is_new], ids)
    ends = np.append(starts, is_new.sum()).astype(np.int32)
    return as_found(
        len(ids),
        campaign_id=pa.array(ids),
        eligible_visits=pa.array(weight * visits),
        salt=pa.repeat(salt, len(ids)),
        weight=pa.repeat(weight, len(ids)),
        users=pa.ListArray.from_arrays(ends, users[is_new]),
    )


def encode(visits: pa.RecordBatch, name: str) -> tuple[pa.Array, Numbers]:
    """Gives a column's values, null as the last, and each row's place among them."""
    if name not in visits.schema.names or not pa.types.is_string(visits.column(name).type):
        return pa.nulls(1, pa.string()), np.zeros(visits.num_rows, np.int64)
    column_of = visits.column(name).dictionary_encode()
    values = pa.concat_arrays([column_of.dictionary, pa.nulls(1, pa.string())])
    codes = pc.fill_null(column_of.indices, len(values) - 1)
    return values, codes.to_numpy().astype(np.int64)


def hash_users(users: pa.Array) -> Numbers:
    """Hashes the values of `encode`, without the null at the end, for sketches."""
    hashes: Numbers = hash_array(users.to_numpy(zero_copy_only=False)[:-1]).view(np.int64)
    return hashes


def find_salt_before(salt: str | None) -> str | None:
    """Names the salt of the window before; a log without salts has one for all days."""
    if not salt:
        return None
    first_day, _, mark = salt.partition(".")
    return f"{date.fromisoformat(first_day) - timedelta(days=WINDOW_DAYS)}.{mark}"


def as_found(rows: int, **columns: pa.Array) -> pa.RecordBatch:
    kinds = to_arrow_schema(FOUND)
    arrays = [
        columns[each.name].cast(each.type) if each.name in columns else pa.nulls(rows, each.type)
        for each in kinds
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=kinds)


def sum_detail(found: DataFrame) -> DataFrame:
    keys = [each.name for each in DETAIL][:-1]
    pairs = found.where(column("publisher").isNotNull())
    return pairs.groupBy(*keys).agg(sf.sum("eligible_visits").alias("eligible_visits"))


def sum_wrong_values(found: DataFrame) -> DataFrame:
    return found.agg(sf.coalesce(sf.sum("wrong_values"), sf.lit(0)).alias("wrong_values"))


def sum_bookings(day: DayInput, detail: DataFrame, daily: DataFrame) -> DataFrame:
    """Lists every live booking, also one that no visit was eligible for."""
    keys = ["campaign_id", "publisher"]
    eligible = detail.groupBy(*keys).agg(sf.sum("eligible_visits").alias("eligible_visits"))
    visits = daily.where(column("publisher").isNotNull()).select("publisher", "visits")
    return (
        list_bookings(day)
        .join(visits, ["publisher"], "left")
        .join(eligible, keys, "left")
        .fillna(0, ["visits", "eligible_visits"])
    )


def list_bookings(day: DayInput) -> DataFrame:
    index = day.index.source.open_on_driver()
    bookings = pa.table({"campaign_id": index.campaign_ids, "publisher": index.publishers})
    counted = bookings.group_by(["campaign_id", "publisher"]).aggregate([([], "count_all")])
    return day.spark.createDataFrame(counted.rename_columns([*bookings.column_names, "bookings"]))


def sketch_people(found: DataFrame) -> DataFrame:
    keys = ["campaign_id", "salt", "weight"]
    people = found.where(column("users").isNotNull())
    visits = people.groupBy(*keys).agg(sf.sum("eligible_visits").alias("visits"))
    users = people.select(*keys, sf.explode("users").alias("user"))
    sketched = users.groupBy(*keys).agg(sf.hll_sketch_agg("user", LOG2_BUCKETS).alias("users"))
    return visits.join(sketched, keys)


JOB = DayJob(
    "eligibility",
    {"detail": DETAIL, "by_publisher": BY_PUBLISHER, "daily_visits": DAILY, "people": PEOPLE},
    compute,
)

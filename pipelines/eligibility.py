"""Job: counts how many visits, and how many people, each campaign was eligible for.

    by_publisher   campaign, publisher: every live booking, also those with no visit
    detail         campaign, publisher, country, device: where there is a visit
    daily_visits   publisher: what the log held
    people         campaign, salt, weight: visits with a user, and a sketch of the users

A sketch (HLL) of several days is the union of theirs. Users are hashed with a salt that changes, so
a row is in two sketches: under the salt of its own window, and of the one before (see README).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BinaryType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines.asking import as_answers
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.judging import count_daily
from pipelines.prepared import Codes, Numbers, PreparedVisits
from pipelines.sketches import Users, write_hll
from pipelines.visit_log import column
from targeting.visit_log import SALT, USER, USER_BEFORE, WINDOW_DAYS

NAME = "eligibility"
COUNTRY, DEVICE = "geo.country", "device.type"

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
# What workers find: rows of `detail`; or of `people`; or how many values were of a wrong type.
FOUND = StructType(
    [
        *DETAIL,
        StructField("salt", StringType()),
        StructField("weight", LongType()),
        StructField("users", BinaryType()),
        StructField("wrong_values", LongType()),
    ]
)


def compute(day: DayInput) -> Tables:
    found = day.found(NAME)
    detail = sum_detail(found)
    daily = count_daily(day.keys)
    return {
        "detail": detail,
        "by_publisher": sum_bookings(day, detail, daily),
        "daily_visits": daily.join(sum_wrong_values(found)),
        "people": unite_people(found),
    }


@dataclass(frozen=True, slots=True)
class EligibleVisits:
    """Asks which rows each booking is eligible for, where from, and whose they are."""

    name: str = NAME
    answers: StructType = FOUND

    def ask(self, visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
        wrong = sum(visits.table.stats()["malformed"].values())
        yield as_answers(FOUND, 1, wrong_values=visits.weight * wrong)
        if visits.eligible:
            yield count_groups(visits)
            yield from sketch_people(visits)


def count_groups(visits: PreparedVisits) -> pa.RecordBatch:
    """Counts each booking's rows by country and device."""
    group_of_row, countries, devices = group_rows(visits)
    found = []
    for place in visits.eligible:
        counts = np.bincount(group_of_row[visits.rows_of(place)], minlength=len(countries))
        groups = np.flatnonzero(counts)
        found.append(np.stack([np.full(len(groups), place), groups, counts[groups]]))
    places, groups, counts = np.concatenate(found, axis=1)
    return as_answers(
        FOUND,
        len(places),
        campaign_id=visits.index.campaign_ids.take(pa.array(places)),
        publisher=visits.index.publishers.take(pa.array(places)),
        country=countries.take(pa.array(groups)),
        device=devices.take(pa.array(groups)),
        eligible_visits=visits.weight * counts,
    )


def group_rows(visits: PreparedVisits) -> tuple[Numbers, pa.Array, pa.Array]:
    """Numbers pairs of country and device: gives each row's number, and what each number means."""
    country, device = visits.codes(COUNTRY), visits.codes(DEVICE)
    width = len(device.values) + 1
    codes = (country.of_row + 1) * width + device.of_row + 1
    pairs, of_row = np.unique(codes, return_inverse=True)
    return of_row, name_codes(country, pairs // width - 1), name_codes(device, pairs % width - 1)


def name_codes(coded: Codes, codes: Numbers) -> pa.Array:
    return coded.values.take(pa.array(codes, mask=codes < 0))


def sketch_people(visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
    """Sketches each booking's users, once per salt."""
    salts = visits.codes(SALT)
    for code, salt in [(-1, None), *enumerate(salts.values.to_pylist())]:
        for name, salt_name in ((USER, salt or ""), (USER_BEFORE, find_salt_before(salt))):
            users = visits.users(name)
            meant = np.where(salts.of_row == code, users.of_row, -1)
            if salt_name is not None and (meant >= 0).any():
                yield sketch_users(visits, replace(users, of_row=meant), salt_name)


def sketch_users(visits: PreparedVisits, users: Users, salt: str) -> pa.RecordBatch:
    """Makes one row per booking that has users."""
    places, counts, sketches = [], [], []
    for place in visits.eligible:
        found = users.of_row[visits.rows_of(place)]
        count = int((found >= 0).sum())
        if count:
            places.append(place)
            counts.append(visits.weight * count)
            sketches.append(write_hll(users.coupons[users.choose(found)]))
    return as_answers(
        FOUND,
        len(places),
        campaign_id=visits.index.campaign_ids.take(pa.array(places, pa.int64())),
        eligible_visits=pa.array(counts, pa.int64()),
        salt=salt,
        weight=visits.weight,
        users=pa.array(sketches, pa.binary()),
    )


def find_salt_before(salt: str | None) -> str | None:
    """Names the salt of the window before; a log without salts has one for all days."""
    if not salt:
        return None
    first_day, _, mark = salt.partition(".")
    return f"{date.fromisoformat(first_day) - timedelta(days=WINDOW_DAYS)}.{mark}"


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


def unite_people(found: DataFrame) -> DataFrame:
    people = found.where(column("users").isNotNull())
    return people.groupBy("campaign_id", "salt", "weight").agg(
        sf.sum("eligible_visits").alias("visits"), sf.hll_union_agg("users").alias("users")
    )


JOB = DayJob(
    NAME,
    {"detail": DETAIL, "by_publisher": BY_PUBLISHER, "daily_visits": DAILY, "people": PEOPLE},
    compute,
    question=lambda _: EligibleVisits(),
)

"""Job: keeps some users of the last days with all of their visits, for questions asked at any time.

    visits   the log's columns, `sample_weight`, and the day; sorted by publisher

A hash of the user decides, so that a user is in it with all visits or none; visits without a user
are chosen by their own ids. `sample_weight` says how many visits of its publisher a row stands for:
the publisher's visits in those days, divided by those of them in the sample.
"""

from collections.abc import Sequence
from datetime import date
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DateType, DoubleType, StructField, StructType

from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.judging import judge_rows, leave_out
from pipelines.partitions import days_until
from pipelines.visit_log import column, need, read_day
from targeting import Catalog
from targeting.visit_log import (
    OF_THE_ROW,
    PUBLISHER,
    SALT,
    TIME,
    USER,
    USER_BEFORE,
    VISIT_ID,
    WEIGHT,
    LogColumns,
)

BUCKETS = 1_000_000
SAMPLE_WEIGHT, LOGGED_ON, SELLER = "sample_weight", "logged_on", "sample_seller"
MADE = (SAMPLE_WEIGHT, LOGGED_ON)
DEFAULT_VISITS, DEFAULT_DAYS = 200_000, 14


def compute(day: DayInput) -> Tables:
    wanted = day.order.options.get("sample_visits", DEFAULT_VISITS)
    length = day.order.options.get("sample_days", DEFAULT_DAYS)
    visits = read_counted(day, days_until(day.day, length))
    if visits is None:
        return {"visits": day.spark.createDataFrame([], schema_of(day))}
    return {"visits": choose(visits, wanted).orderBy(column(PUBLISHER), column(TIME))}


def schema_of(day: DayInput) -> StructType:
    """Lists the log's columns in the catalogue's types, and what the sample adds."""
    rows = day.index.source.open_on_driver().snapshot.catalog_rows
    catalog = Catalog.of(**{row[0]: row[1] for row in rows})
    columns = LogColumns.of((each.name, each.type) for each in catalog)
    added = [StructField(SAMPLE_WEIGHT, DoubleType()), StructField(LOGGED_ON, DateType())]
    return StructType([*from_arrow_schema(columns.schema), *added])


def read_counted(day: DayInput, days: Sequence[date]) -> DataFrame | None:
    """Reads the rows of these days that count; gives None if no day has a log."""
    schema = schema_of(day)
    names = {*schema.names, *OF_THE_ROW}
    parts = []
    for each in days:
        log = read_day(day.spark, day.order.visits, each, names)
        if log:
            keys = day.keys if each == day.day else judge_rows(log)
            for part in log:
                rows = leave_out(part, keys)
                fields = [need(rows, field) for field in schema if field.name not in MADE]
                parts.append(rows.select(*fields, sf.lit(each).alias(LOGGED_ON)))
    return reduce(DataFrame.unionByName, parts) if parts else None


def choose(visits: DataFrame, wanted: int) -> DataFrame:
    """Chooses about as many visits as wanted; not exactly, as users come with all their visits."""
    total, oldest_salt = visits.agg(sf.count("*"), sf.min(SALT)).collect()[0]
    share = min(1.0, wanted / max(total, 1))
    bucket = sf.pmod(sf.xxhash64(who(oldest_salt)), sf.lit(BUCKETS))
    is_taken = bucket < int(share * BUCKETS)
    weights = weigh(visits, is_taken)
    is_same = column(PUBLISHER) == column(SELLER)
    return visits.where(is_taken).join(sf.broadcast(weights), is_same).drop(SELLER)


def weigh(visits: DataFrame, is_taken: Column) -> DataFrame:
    """Finds how many visits a taken row stands for at each publisher, by the few columns that say
    it: no row is moved with all of its columns."""
    taken = sf.count_if(is_taken)
    weight = sf.try_divide(sf.sum(WEIGHT), taken).cast("double").alias(SAMPLE_WEIGHT)
    return visits.groupBy(column(PUBLISHER).alias(SELLER)).agg(weight)


def who(oldest_salt: str | None) -> Column:
    """Identifies the user under one salt for all days: that of the older window, which all rows
    have. A visit without a user is identified by its own id."""
    user = column(USER)
    if oldest_salt is not None:
        user = sf.when(column(SALT) == oldest_salt, user).otherwise(column(USER_BEFORE))
    return sf.coalesce(user, column(VISIT_ID))


JOB = DayJob("sample", {"visits": schema_of}, compute, looks_back=True)

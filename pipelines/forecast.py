"""Job: estimates what to expect of the next seven days, how wrong last week's forecast was, and
what is dead.

    expected   campaign, day: level x weekday, with an interval
    errors     campaign, and null for all: WAPE of the forecast of a week ago against the week
    dead       campaigns, edges, conditions and values of lists that nothing matched in the 28 days

The level of a campaign is its mean over 28 days, each day divided by its weekday's factor, which is
the whole exchange's. No machine learning. Reads what `eligibility` and `truth_rates` wrote; a day
on which a campaign was not booked, or that was not counted, is left out, not zero.
"""

from datetime import date, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipelines import eligibility, truth_rates
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.partitions import days_until
from pipelines.visit_log import column

NAME = "forecast"
DAYS, AHEAD = 28, 7
DEVIATIONS = 1.96  # 95 of 100 days, if they are normally distributed
EXPECTED = StructType(
    [
        StructField("campaign_id", LongType()),
        StructField("target_day", DateType()),
        StructField("expected", DoubleType()),
        StructField("low", DoubleType()),
        StructField("high", DoubleType()),
        StructField("days_used", IntegerType()),
    ]
)
ERRORS = StructType(
    [
        StructField("campaign_id", LongType()),
        StructField("wape", DoubleType()),
        StructField("days", IntegerType()),
    ]
)
DEAD = StructType(
    [
        StructField("kind", StringType()),
        StructField("name", StringType()),
        StructField("days_counted", IntegerType()),
    ]
)


def compute(day: DayInput) -> Tables:
    counts = day.keep(read_counts(day, DAYS))
    return {
        "expected": expect(counts, day.day),
        "errors": measure_errors(day, counts),
        "dead": find_dead_campaigns(counts)
        .union(find_dead_conditions(day))
        .union(find_dead_values(day)),
    }


def read_counts(day: DayInput, length: int) -> DataFrame:
    """Reads eligible visits by campaign and day, zeros of live bookings included."""
    days = days_until(day.day, length)
    store = day.store(eligibility.NAME)
    rows = store.read_days(days, "by_publisher", eligibility.BY_PUBLISHER)
    return rows.groupBy("campaign_id", "day").agg(sf.sum("eligible_visits").alias("visits"))


def find_weekdays(counts: DataFrame) -> DataFrame:
    """Finds each weekday's factor: its mean total through the mean of all."""
    totals = counts.groupBy("day").agg(sf.sum("visits").alias("visits"))
    by_weekday = totals.groupBy(sf.weekday("day").alias("weekday")).agg(
        sf.avg("visits").alias("of_weekday")
    )
    overall = by_weekday.agg(sf.avg("of_weekday").alias("of_all"))
    factor = sf.when(column("of_weekday") > 0, column("of_weekday") / column("of_all"))
    return by_weekday.join(overall).select(
        "weekday", sf.coalesce(factor, sf.lit(1.0)).alias("factor")
    )


def expect(counts: DataFrame, last: date) -> DataFrame:
    weekdays = find_weekdays(counts)
    adjusted = counts.withColumn("weekday", sf.weekday("day")).join(weekdays, "weekday")
    level = column("visits") / column("factor")
    levels = adjusted.groupBy("campaign_id").agg(
        sf.avg(level).alias("level"),
        sf.coalesce(sf.stddev_samp(level), sf.lit(0.0)).alias("spread"),
        sf.count("*").cast("int").alias("days_used"),
    )
    ahead = [last + timedelta(days=number) for number in range(1, AHEAD + 1)]
    targets = counts.sparkSession.createDataFrame([(each,) for each in ahead], "target_day date")
    factors = targets.withColumn("weekday", sf.weekday("target_day")).join(
        weekdays, "weekday", "left"
    )
    factor = sf.coalesce(column("factor"), sf.lit(1.0))
    return levels.join(factors).select(
        "campaign_id",
        "target_day",
        (column("level") * factor).alias("expected"),
        at_least_zero((column("level") - DEVIATIONS * column("spread")) * factor).alias("low"),
        ((column("level") + DEVIATIONS * column("spread")) * factor).alias("high"),
        "days_used",
    )


def at_least_zero(value: Column) -> Column:
    return sf.greatest(value, sf.lit(0.0))


def measure_errors(day: DayInput, counts: DataFrame) -> DataFrame:
    """Measures WAPE: the days' errors through what was there; null if that is 0."""
    before = day.store(NAME).read(day.day - timedelta(days=AHEAD), "expected", EXPECTED)
    if before is None:
        return day.spark.createDataFrame([], ERRORS)
    said = before.select("campaign_id", column("target_day").alias("day"), "expected")
    compared = counts.join(said, ["campaign_id", "day"])
    wrong = sf.sum(sf.abs(column("visits") - column("expected")))
    measures = (
        sf.try_divide(wrong, sf.sum("visits")).alias("wape"),
        sf.count_distinct("day").cast("int").alias("days"),
    )
    of_all = compared.agg(*measures).withColumn("campaign_id", sf.lit(None).cast("long"))
    return compared.groupBy("campaign_id").agg(*measures).unionByName(of_all)


def find_dead_campaigns(counts: DataFrame) -> DataFrame:
    sums = counts.groupBy("campaign_id").agg(
        sf.sum("visits").alias("visits"), sf.count("*").cast("int").alias("days_counted")
    )
    name = column("campaign_id").cast("string").alias("name")
    dead = sums.where(column("visits") == 0)
    return dead.select(sf.lit("campaign").alias("kind"), name, "days_counted")


def find_dead_conditions(day: DayInput) -> DataFrame:
    """Finds edges, and predicates of edges and campaigns, that were never true."""
    rows = read_truths(day, truth_rates.TABLE, truth_rates.CONDITIONS)
    return find_never_true(rows, column("kind"))


def find_dead_values(day: DayInput) -> DataFrame:
    """Finds values of lists that no visit had."""
    rows = read_truths(day, truth_rates.VALUES_TABLE, truth_rates.LIST_VALUES)
    return find_never_true(rows, sf.lit("value"))


def read_truths(day: DayInput, table: str, schema: StructType) -> DataFrame:
    return day.store(truth_rates.NAME).read_days(days_until(day.day, DAYS), table, schema)


def find_never_true(rows: DataFrame, kind: Column) -> DataFrame:
    sums = rows.groupBy(kind.alias("kind"), column("condition").alias("name")).agg(
        sf.sum("true_visits").alias("visits"), sf.count("*").cast("int").alias("days_counted")
    )
    return sums.where(column("visits") == 0).drop("visits")


JOB = DayJob(NAME, {"expected": EXPECTED, "errors": ERRORS, "dead": DEAD}, compute, looks_back=True)

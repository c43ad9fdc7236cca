"""Job: estimates how many people each campaign could reach in 1, 7 and 28 days, from sketches.

Days may lie in two windows of salts; all of their rows have the older salt (see README). Days that
were logged with several weights, or under several secrets, cannot be compared, and give no row.
"""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.eligibility import NAME, PEOPLE
from pipelines.partitions import days_until
from pipelines.visit_log import column

WINDOWS = (1, 7, 28)
REACH = StructType(
    [
        StructField("campaign_id", LongType()),
        StructField("window_days", IntegerType()),
        StructField("days_counted", IntegerType()),
        StructField("visits", LongType()),
        StructField("users", LongType()),
        StructField("frequency", DoubleType()),
    ]
)


def compute(day: DayInput) -> Tables:
    store = day.store(NAME)
    windows = [
        estimate(store.read_days(days_until(day.day, length), "people", PEOPLE), length)
        for length in WINDOWS
    ]
    return {"reach": reduce(DataFrame.union, windows)}


def estimate(people: DataFrame, length: int) -> DataFrame:
    """Estimates people under the oldest salt that all of a campaign's days have; a day has two."""
    days = sf.count_distinct("day").alias("days_counted")
    all_days = people.groupBy("campaign_id").agg(days, sf.count_distinct("weight").alias("weights"))
    by_salt = people.groupBy("campaign_id", "salt", "weight").agg(
        days.alias("days_of_salt"),
        sf.sum("visits").alias("visits"),
        sf.hll_union_agg("users").alias("sketch"),
    )
    comparable = by_salt.join(all_days.where("weights = 1"), "campaign_id").where(
        "days_of_salt = days_counted"
    )
    oldest = comparable.groupBy("campaign_id").agg(
        sf.min_by(sf.struct("visits", "sketch", "weight", "days_counted"), "salt").alias("found")
    )
    users = sf.hll_sketch_estimate("found.sketch") * column("found").weight
    visits = column("found").visits
    return oldest.select(
        "campaign_id",
        sf.lit(length).alias("window_days"),
        column("found").days_counted.cast("int").alias("days_counted"),
        visits.alias("visits"),
        users.alias("users"),
        (visits / users).alias("frequency"),
    )


JOB = DayJob("reach", {"reach": REACH}, compute, looks_back=True)

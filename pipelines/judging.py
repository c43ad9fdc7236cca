"""Decides what becomes of each row of the log: which count, and why others do not.

All jobs of a day share one judgement, so that their figures add up.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from pipelines.visit_log import ADDED, DAY, NEEDED, SOURCE_FILE, SOURCE_ROW, column
from targeting.visit_log import WEIGHT

COUNTED, MALFORMED, DUPLICATE = "counted", "malformed", "duplicate"
NO_ID, NO_PUBLISHER, NO_TIME, LATER_DAY = "no_visit_id", "no_publisher", "no_time", "later_day"


def judge_rows(log: list[DataFrame]) -> DataFrame:
    """Tells what becomes of each row (`fate`, and the `reason` if it does not count), with only the
    columns that decide it.

    A row counts on the day whose log holds it, also when it is late; its own time decides which
    flights it falls into. Of several rows with one id the earliest counts, on every run the same.
    """
    decisive = (*NEEDED.names, WEIGHT, *ADDED)
    parts = [part.select(*[column(name) for name in decisive]) for part in log]
    moment, begin = column("time"), column(DAY).cast("timestamp")
    flaw = column("flaw")
    alike = Window.partitionBy("visit_id").orderBy(
        flaw.isNotNull(), "time", SOURCE_FILE, SOURCE_ROW
    )
    is_first = sf.row_number().over(alike) == 1
    fate = sf.when(flaw.isNotNull(), MALFORMED).when(is_first, COUNTED).otherwise(DUPLICATE)
    return (
        reduce(DataFrame.unionByName, parts)
        .withColumn("flaw", find_flaw(begin))
        .withColumn("fate", fate)
        .select(
            "visit_id",
            column("publisher.id").alias("publisher"),
            "fate",
            sf.coalesce(flaw, sf.when(column("fate") == DUPLICATE, DUPLICATE)).alias("reason"),
            (moment < begin).alias("is_late"),
            WEIGHT,
            SOURCE_FILE,
            SOURCE_ROW,
        )
    )


def find_flaw(begin: Column) -> Column:
    """Finds the reason why a row cannot count; null if it can."""
    publisher, moment = column("publisher.id"), column("time")
    return (
        sf.when(column("visit_id").isNull(), NO_ID)
        .when(publisher.isNull() | (sf.trim(publisher) == ""), NO_PUBLISHER)
        .when(moment.isNull(), NO_TIME)
        .when(moment >= begin + sf.expr("interval 1 day"), LATER_DAY)
    )


def count_daily(keys: DataFrame) -> DataFrame:
    """Counts what the log held, per publisher; rows that name no publisher come under null."""
    counted = column("fate") == COUNTED
    return keys.groupBy("publisher").agg(
        sum_weights(counted).alias("visits"),
        sum_weights(column("fate") == MALFORMED).alias("malformed"),
        sum_weights(column("fate") == DUPLICATE).alias("duplicates"),
        sum_weights(counted & column("is_late")).alias("late"),
    )


def sum_weights(condition: Column) -> Column:
    """Sums up how many visits are meant by the rows that meet the condition."""
    return sf.sum(sf.when(condition, column(WEIGHT)).otherwise(0))


def leave_out(part: DataFrame, keys: DataFrame) -> DataFrame:
    """Takes the rows that do not count out of a part of the log.

    This moves only the few that do not count. Choosing those that do would sort and move nearly all
    rows, with all their columns.
    """
    left_out = keys.where(column("fate") != COUNTED).select(SOURCE_FILE, SOURCE_ROW)
    return part.join(sf.broadcast(left_out), [SOURCE_FILE, SOURCE_ROW], "left_anti")

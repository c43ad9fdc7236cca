"""Reads one day of the visit log: what decides whether a row counts, and what it says of the visit.

Attributes are passed on as they were logged. Whether a value fits its attribute's type is for the
index to say, here as in serving: a value of a wrong type is a missing one.
"""

from collections.abc import Collection
from datetime import date
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipelines.file_system import FileSystem
from targeting.visit_log import WEIGHT

# What a row must have to count; of another type it counts as null.
NEEDED = StructType(
    [
        StructField("visit_id", StringType()),
        StructField("time", TimestampType()),
        StructField("publisher.id", StringType()),
    ]
)
# A log that says nothing of it stands for itself.
COUNTED_AS = StructField(WEIGHT, LongType())
LOCAL_TIME = "local_time"
DAY, SOURCE_FILE, SOURCE_ROW = "dt", "source_file", "source_row"
ADDED = (DAY, SOURCE_FILE, SOURCE_ROW)


def read_day(
    spark: SparkSession, root: str, day: date, attributes: Collection[str]
) -> list[DataFrame]:
    """The day's rows: one table for each set of column types in the log; none without a log.

    Each has the columns of NEEDED and ADDED, how many visits a row stands for, and the attributes
    that it carries: an absent column is a missing attribute, and narrower batches are quicker.
    """
    paths = list(list_parts(spark, root, day))
    # With the root as base the day comes as a column, not as a constant: Spark then compiles the
    # same code for every day, and only once.
    reader = spark.read.option("basePath", root)
    return [choose_columns(rows, attributes) for rows in read_files(reader, paths)]


def list_parts(spark: SparkSession, root: str, day: date) -> dict[str, int]:
    """The day's files, with their bytes."""
    files, folder = FileSystem(spark, root), f"{root.rstrip('/')}/dt={day}"
    paths = [f"{folder}/{name}" for name in files.names_in(folder) if is_part(name)]
    return {path: files.size_of(path) for path in paths}


def is_part(name: str) -> bool:
    """Names with a dot or an underscore before them are not finished, or not for readers."""
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def read_files(reader: DataFrameReader, paths: list[str]) -> list[DataFrame]:
    """Files that agree on their columns are read at once, which is nearly always."""
    if not paths:
        return []
    try:
        return [reader.option("mergeSchema", len(paths) > 1).parquet(*paths)]
    except (PySparkException, Py4JJavaError) as error:
        if "CANNOT_MERGE_SCHEMAS" not in str(error):
            raise
    alike: dict[str, list[str]] = {}
    for path in paths:
        alike.setdefault(reader.parquet(path).schema.json(), []).append(path)
    return [reader.parquet(*group) for group in alike.values()]


def choose_columns(rows: DataFrame, attributes: Collection[str]) -> DataFrame:
    """In an order of our own, so that files with other orders give the same plan."""
    passed_on = set(rows.columns) & set(attributes) - {*NEEDED.names, LOCAL_TIME, WEIGHT}
    chosen = rows.select(
        *[need(rows, field) for field in NEEDED],
        *[column(name) for name in sorted(passed_on)],
        sf.greatest(need(rows, COUNTED_AS), sf.lit(1)).alias(WEIGHT),
        column(DAY),
        sf.col("_metadata.file_path").alias(SOURCE_FILE),
        sf.col("_metadata.row_index").alias(SOURCE_ROW),
    )
    # As in serving: the visitor's own clock shows the same instant, the index shifts it.
    return chosen.withColumn(LOCAL_TIME, column("time")) if LOCAL_TIME in attributes else chosen


def need(rows: DataFrame, field: StructField) -> Column:
    """The column if it is of its type, else nulls."""
    found = {other.name: other.dataType for other in rows.schema}.get(field.name)
    is_fit = found == field.dataType or (
        isinstance(found, TimestampNTZType) and isinstance(field.dataType, TimestampType)
    )
    value: Column = column(field.name) if is_fit else sf.lit(None)
    return value.cast(field.dataType).alias(field.name)


def column(name: str) -> Any:
    """The column of that name; the quotes keep Spark from reading the dot as a struct's field."""
    return sf.col(f"`{name}`")

"""Reads one day of the visit log: the columns that decide whether a row counts, and attributes.

Attributes are passed on as they were logged. The index decides whether a value fits its attribute's
type, here as in serving: a value of a wrong type counts as missing.
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

# The columns that a row must have to count; a column of another type counts as null.
NEEDED = StructType(
    [
        StructField("visit_id", StringType()),
        StructField("time", TimestampType()),
        StructField("publisher.id", StringType()),
    ]
)
# How many visits a row stands for; where the log does not say, one.
COUNTED_AS = StructField(WEIGHT, LongType())
LOCAL_TIME = "local_time"
DAY, SOURCE_FILE, SOURCE_ROW = "dt", "source_file", "source_row"
ADDED = (DAY, SOURCE_FILE, SOURCE_ROW)


def read_day(
    spark: SparkSession, root: str, day: date, attributes: Collection[str]
) -> list[DataFrame]:
    """Reads the day's rows: one table for each set of column types in the log; none without a log.

    Each has the columns of NEEDED and ADDED, how many visits a row stands for, and the attributes
    that it carries: an absent column is a missing attribute, and narrower batches are quicker.
    """
    paths = list(list_parts(spark, root, day))
    # With the root as base the day is a column, not a constant: Spark then compiles its code once,
    # not once for each day.
    reader = spark.read.option("basePath", root)
    return [choose_columns(rows, attributes) for rows in read_files(reader, paths)]


def list_parts(spark: SparkSession, root: str, day: date) -> dict[str, int]:
    """Lists the day's files, with their sizes in bytes."""
    files, folder = FileSystem(spark, root), f"{root.rstrip('/')}/dt={day}"
    paths = [f"{folder}/{name}" for name in files.names_in(folder) if is_part(name)]
    return {path: files.size_of(path) for path in paths}


def is_part(name: str) -> bool:
    """Tells whether a file is for readers: a name that begins with a dot or an underscore is not
    finished, or not for them."""
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def read_files(reader: DataFrameReader, paths: list[str]) -> list[DataFrame]:
    """Reads files as few tables: those that agree on their columns, nearly always all, are one."""
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
    """Chooses the columns, in an order of our own, so that files in any order give one plan."""
    passed_on = set(rows.columns) & set(attributes) - {*NEEDED.names, LOCAL_TIME, WEIGHT}
    chosen = rows.select(
        *[need(rows, field) for field in NEEDED],
        *[column(name) for name in sorted(passed_on)],
        sf.greatest(need(rows, COUNTED_AS), sf.lit(1)).alias(WEIGHT),
        column(DAY),
        sf.col("_metadata.file_path").alias(SOURCE_FILE),
        sf.col("_metadata.row_index").alias(SOURCE_ROW),
    )
    # As in serving, `local_time` is the same instant; the index shifts it to the visitor's clock.
    return chosen.withColumn(LOCAL_TIME, column("time")) if LOCAL_TIME in attributes else chosen


def need(rows: DataFrame, field: StructField) -> Column:
    """Gives the column if it is of the field's type, else nulls."""
    found = {other.name: other.dataType for other in rows.schema}.get(field.name)
    is_fit = found == field.dataType or (
        isinstance(found, TimestampNTZType) and isinstance(field.dataType, TimestampType)
    )
    value: Column = column(field.name) if is_fit else sf.lit(None)
    return value.cast(field.dataType).alias(field.name)


def column(name: str) -> Any:
    """Gives the column of that name; quotes keep Spark from taking a dot for a struct's field."""
    return sf.col(f"`{name}`")

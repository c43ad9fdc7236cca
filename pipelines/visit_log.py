"""Reads one day of the visit log with the types that the attribute catalogue promises.

A value of another type counts as missing, as everywhere else, and is counted. Refuses to convert:
the text '18' is not the number 18.
"""

from collections.abc import Mapping
from datetime import date
from functools import reduce
from operator import add
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipelines.file_system import FileSystem

GEO = StructType([StructField("lat", DoubleType()), StructField("lon", DoubleType())])
COLUMN_TYPES: Mapping[str, DataType] = {
    "boolean": BooleanType(),
    "integer": LongType(),
    "float": DoubleType(),
    "timestamp": TimestampType(),
    "timestamp local": TimestampType(),
    "string": StringType(),
    "string set": ArrayType(StringType()),
    "integer set": ArrayType(LongType()),
    "ip": StringType(),
    "geo": GEO,
}
VISIT_ID = StructField("visit_id", StringType())
TIME = StructField("time", TimestampType())
PUBLISHER = StructField("publisher.id", StringType())
NEEDED = (VISIT_ID, TIME, PUBLISHER)
LOCAL_TIME = StructField("local_time", TimestampType())
WRONG_TYPES = "wrong_types"


def visit_schema(attributes: Mapping[str, str]) -> StructType:
    """The log's columns: `visit_id`, the time, the publisher, then the catalogue's attributes."""
    names = {field.name for field in NEEDED}
    others = [
        StructField(name, COLUMN_TYPES[kind])
        for name, kind in attributes.items()
        if name not in names
    ]
    return StructType([*NEEDED, *others])


def read_day(spark: SparkSession, root: str, day: date, schema: StructType) -> DataFrame | None:
    """The day's rows as `schema` plus `wrong_types`, or None when the log has no such day."""
    folder = f"{root.rstrip('/')}/dt={day}"
    names = FileSystem(spark, root).names_in(folder)
    paths = [f"{folder}/{name}" for name in names if name.endswith(".parquet")]
    return conform_files(spark, paths, schema) if paths else None


def conform_files(spark: SparkSession, paths: list[str], schema: StructType) -> DataFrame:
    """Files that agree on their columns are read at once; otherwise each with its own types."""
    try:
        return conform(spark.read.option("mergeSchema", True).parquet(*paths), schema)
    except PySparkException as error:
        if "CANNOT_MERGE_SCHEMAS" not in str(error):
            raise
    parts = [conform(spark.read.parquet(path), schema) for path in paths]
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)


def conform(rows: DataFrame, schema: StructType) -> DataFrame:
    """Every promised column that the rows have, in its promised type.

    Columns that the rows lack are left out: an absent column is a missing attribute, and narrower
    batches are quicker. Only the columns that every step needs are made up.
    """
    found = {field.name: field.dataType for field in rows.schema if field.name != LOCAL_TIME.name}
    kept = [keep(field) for field in schema if has(found, field)]
    wrong = [field for field in schema if field.name in found and not has(found, field)]
    made_up = [
        sf.lit(None).cast(field.dataType).alias(field.name)
        for field in NEEDED
        if not has(found, field)
    ]
    spoilt = reduce(add, [column(field.name).isNotNull().cast("int") for field in wrong], sf.lit(0))
    ours = rows.select(*made_up, *kept, spoilt.alias(WRONG_TYPES))
    # As in serving: the visitor's own clock shows the same instant, the index shifts it.
    return ours.withColumn(LOCAL_TIME.name, column("time")) if LOCAL_TIME in schema else ours


def has(found: Mapping[str, DataType], field: StructField) -> bool:
    return field.name in found and holds(field.dataType, found[field.name])


def keep(field: StructField) -> Column:
    kept: Column = column(field.name).cast(field.dataType).alias(field.name)
    return kept


def holds(promised: DataType, actual: DataType) -> bool:
    """Whether every value of the actual type is one of the promised type, without conversion."""
    if promised == actual:
        return True
    if isinstance(promised, LongType):
        return isinstance(actual, (ByteType, ShortType, IntegerType))
    if isinstance(promised, DoubleType):
        return isinstance(actual, (FloatType, ByteType, ShortType, IntegerType, LongType))
    if isinstance(promised, TimestampType):
        return isinstance(actual, TimestampNTZType)
    if isinstance(promised, ArrayType) and isinstance(actual, ArrayType):
        return holds(promised.elementType, actual.elementType)
    if isinstance(promised, StructType) and isinstance(actual, StructType):
        return holds_point(actual)
    return False


def holds_point(actual: StructType) -> bool:
    return actual.names == GEO.names and all(
        isinstance(field.dataType, NumericType) for field in actual
    )


def column(name: str) -> Any:
    """The column of that name; the quotes keep Spark from reading the dot as a struct's field."""
    return sf.col(f"`{name}`")

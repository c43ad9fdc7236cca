"""Job: tells what the day's traffic carries: how full each attribute is, of what, and what is odd.

attributes   per attribute: filled, of a wrong type, outside its domain, different values,
             and how far its fill rate is from the median of the seven days before
top_values   the most frequent values of an attribute
unmapped     columns of the log that no attribute maps
rows         what became of the log's rows, late and duplicate ones too
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from pipelines.asking import as_answers
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.judging import COUNTED, sum_weights
from pipelines.partitions import days_until
from pipelines.prepared import PreparedVisits
from pipelines.visit_log import column, list_parts, read_files
from targeting import AttributeType
from targeting.visit_log import OF_THE_ROW, USER, VISIT_ID, WRONG_VALUES

NAME = "data_quality"
TOP = 20
DAYS_BEFORE = 7
FILLED, WRONG, VALUE = "filled", "wrong", "value"
ATTRIBUTES = StructType(
    [
        StructField("attribute", StringType()),
        StructField("type", StringType()),
        StructField("visits", LongType()),
        StructField("filled", LongType()),
        StructField("wrong_type", LongType()),
        StructField("unknown_values", LongType()),
        StructField("distinct_values", LongType()),
        StructField("fill_rate", DoubleType()),
        StructField("fill_rate_before", DoubleType()),
        StructField("drift", DoubleType()),
    ]
)
TOP_VALUES = StructType(
    [
        StructField("attribute", StringType()),
        StructField("value", StringType()),
        StructField("visits", LongType()),
        StructField("rank", LongType()),
    ]
)
UNMAPPED = StructType([StructField("key", StringType()), StructField("rows", LongType())])
ROWS = StructType([StructField("fate", StringType()), StructField("visits", LongType())])
PROFILE = StructType(
    [
        StructField("attribute", StringType()),
        StructField("said", StringType()),
        StructField("value", StringType()),
        StructField("visits", LongType()),
    ]
)
# Types whose values are counted; of the others, nearly every visit has a value of its own.
COUNTABLE = {
    AttributeType.BOOLEAN,
    AttributeType.INTEGER,
    AttributeType.STRING,
    AttributeType.STRING_SET,
    AttributeType.INTEGER_SET,
}


def compute(day: DayInput) -> Tables:
    catalog = day.index.source.open_on_driver().snapshot.catalog_rows
    types = list_types(day)
    profiles = day.found(NAME)
    values = day.keep(sum_values(profiles))
    domains = [(row[0], str(value)) for row in catalog for value in row[2] or ()]
    attributes = day.spark.createDataFrame(list(types.items()), "attribute string, type string")
    described = (
        attributes.join(sum_said(profiles), "attribute", "left")
        .join(count_values(day, values, domains), "attribute", "left")
        .fillna(0, ["filled", "wrong_type", "unknown_values", "distinct_values"])
        .withColumn("visits", sf.lit(day.rows["visits"]))
        .withColumn("fill_rate", sf.try_divide(column("filled"), column("visits")))
    )
    return {
        "attributes": add_drift(day, described),
        "top_values": rank_values(values),
        "unmapped": count_unmapped(day, set(types)),
        "rows": count_fates(day.keys),
    }


def list_types(day: DayInput) -> dict[str, str]:
    rows = day.index.source.open_on_driver().snapshot.catalog_rows
    return {row[0]: row[1] for row in rows}


@dataclass(frozen=True, slots=True)
class Profile:
    """Asks what each attribute carries, summed up over the rows."""

    types: dict[str, str]
    name: str = NAME
    answers: StructType = PROFILE

    def ask(self, visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
        rows, weight = visits.rows, visits.weight
        for name in self.types.keys() & set(rows.schema.names):
            yield from profile(name, self.types[name], rows[name].combine_chunks(), weight)
        if WRONG_VALUES in rows.schema.names:
            values, counts = count_cells(rows[WRONG_VALUES].combine_chunks())
            yield as_profile(WRONG, values, None, counts, weight)


def profile(name: str, kind: str, cells: pa.Array, weight: int) -> Iterator[pa.RecordBatch]:
    said = FILLED if fits(cells.type, kind) else WRONG
    filled = pa.array([len(cells) - cells.null_count])
    yield as_profile(said, pa.array([name]), None, filled, weight)
    if said == FILLED and kind in COUNTABLE:
        values, counts = count_cells(cells)
        yield as_profile(VALUE, pa.repeat(name, len(values)), values, counts, weight)


def as_profile(
    said: str, names: pa.Array, values: pa.Array | None, rows: pa.Array, weight: int
) -> pa.RecordBatch:
    visits = pc.multiply(rows.cast(pa.int64()), weight)
    return as_answers(PROFILE, len(names), attribute=names, said=said, value=values, visits=visits)


def count_cells(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Counts the visits that have each value, as text; a set has each of its elements, once."""
    if pa.types.is_list(cells.type):
        rows = pa.table({"row": pc.list_parent_indices(cells), "value": pc.list_flatten(cells)})
        cells = rows.group_by(["row", "value"]).aggregate([])["value"].combine_chunks()
    found = pc.value_counts(cells.drop_null())
    return found.field("values").cast(pa.string()), found.field("counts")


def fits(found: pa.DataType, kind: str) -> bool:
    """Tells whether a column can carry an attribute's values. Every column can carry times, which
    are read value by value."""
    kinds = pa.types
    is_set = kinds.is_list(found)
    element = found.value_type if is_set else found
    by_kind = {
        AttributeType.BOOLEAN: kinds.is_boolean(found),
        AttributeType.INTEGER: kinds.is_integer(found),
        AttributeType.FLOAT: kinds.is_floating(found) or kinds.is_integer(found),
        AttributeType.STRING: kinds.is_string(found),
        AttributeType.IP: kinds.is_string(found),
        AttributeType.STRING_SET: is_set and kinds.is_string(element),
        AttributeType.INTEGER_SET: is_set and kinds.is_integer(element),
        AttributeType.GEO: kinds.is_struct(found),
    }
    return bool(by_kind.get(AttributeType(kind), True))


def sum_said(profiles: DataFrame) -> DataFrame:
    """Sums up what is filled; a value of a wrong type is missing in its column."""
    sums = [
        sf.sum(sf.when(column("said") == said, column("visits")).otherwise(0)).alias(name)
        for said, name in ((FILLED, "filled"), (WRONG, "wrong_type"))
    ]
    return profiles.groupBy("attribute").agg(*sums)


def sum_values(profiles: DataFrame) -> DataFrame:
    counted = profiles.where(column("said") == VALUE)
    return counted.groupBy("attribute", "value").agg(sf.sum("visits").alias("visits"))


def count_values(day: DayInput, values: DataFrame, domains: list[tuple[str, str]]) -> DataFrame:
    """Counts different values, and visits that carry one outside a closed domain."""
    known = day.spark.createDataFrame(domains, "attribute string, value string")
    closed = known.select("attribute").distinct().withColumn("is_closed", sf.lit(True))
    judged = values.join(
        known.withColumn("is_known", sf.lit(True)), ["attribute", "value"], "left"
    ).join(closed, "attribute", "left")
    is_unknown = column("is_closed").isNotNull() & column("is_known").isNull()
    return judged.groupBy("attribute").agg(
        sf.count("*").alias("distinct_values"),
        sf.sum(sf.when(is_unknown, column("visits")).otherwise(0)).alias("unknown_values"),
    )


def rank_values(values: DataFrame) -> DataFrame:
    """Ranks values by visits; leaves out users, whose hashes are nobody's business here."""
    by_visits = Window.partitionBy("attribute").orderBy(sf.desc("visits"), "value")
    ranked = values.where(column("attribute") != USER).withColumn(
        "rank", sf.row_number().over(by_visits)
    )
    return ranked.where(column("rank") <= TOP)


def add_drift(day: DayInput, described: DataFrame) -> DataFrame:
    """Compares fill rates with the days before; without one there is no drift to tell."""
    days = days_until(day.day - timedelta(days=1), DAYS_BEFORE)
    before = day.store(NAME).read_days(days, "attributes", ATTRIBUTES)
    medians = before.groupBy("attribute").agg(
        sf.expr("percentile(fill_rate, 0.5)").alias("fill_rate_before")
    )
    joined = described.join(medians, "attribute", "left")
    return joined.withColumn("drift", column("fill_rate") - column("fill_rate_before"))


def count_unmapped(day: DayInput, known: set[str]) -> DataFrame:
    own = {VISIT_ID, "time", "publisher.id", *OF_THE_ROW}
    paths = list(list_parts(day.spark, day.order.visits, day.day))
    found = []
    for rows in read_files(day.spark.read, paths):
        names = [name for name in rows.columns if name not in known | own]
        if names:
            counts = rows.agg(*[sf.count(column(name)) for name in names]).collect()[0]
            found += list(zip(names, counts, strict=True))
    rows = day.spark.createDataFrame(found, UNMAPPED)
    return rows.groupBy("key").agg(sf.sum("rows").alias("rows"))


def count_fates(keys: DataFrame) -> DataFrame:
    """Counts visits by what became of their rows; `late` ones are counted ones as well."""
    named = keys.withColumn("fate", sf.coalesce("reason", "fate"))
    late = keys.where((column("fate") == COUNTED) & column("is_late"))
    every = named.union(late.withColumn("fate", sf.lit("late")))
    return every.groupBy("fate").agg(sum_weights(sf.lit(True)).alias("visits"))


JOB = DayJob(
    NAME,
    {"attributes": ATTRIBUTES, "top_values": TOP_VALUES, "unmapped": UNMAPPED, "rows": ROWS},
    compute,
    question=lambda day: Profile(list_types(day)),
)

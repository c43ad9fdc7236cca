"""Job: turns a log of OpenRTB 2.6 bid requests into a day of the visit log, one visit per imp.

    python -m pipelines ingest --date 2026-11-16 --input FILES --out LOG --snapshot FOLDER \\
        [--column request] [--weight 1] [--salt-file FILE] [--quarantine FOLDER] [--master local[2]]

Reads JSON lines (also gzip) or Parquet with a column of JSON. The snapshot names the attributes.
Users are hashed with the log's secret: TREELINE_VISIT_LOG_SALT, or the file that servers keep.
What cannot be read goes to the quarantine with its reason. Running again replaces what this job
wrote of the day before, and nothing else. Prints one JSON line with what became of the lines.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import IntegralType, StringType, StructField, StructType, TimestampType
from pyspark.storagelevel import StorageLevel

from pipelines.bid_lines import LineError, LineReader, Said
from pipelines.log_days import LogDays
from pipelines.partitions import DayStore
from pipelines.session import EXIT_UNABLE, JavaMissingError, running_session
from pipelines.visit_log import column
from targeting import Catalog
from targeting.visit_log import LogColumns, Salts

ORIGIN = "ingested"
QUARANTINE, LINES = "_quarantine", "lines"
CATALOG_FILE = "catalog.json"
SALT_VARIABLE = "TREELINE_VISIT_LOG_SALT"
SALT_CHARACTERS = 32
LINE, SAID_TIME, SAID_PUBLISHER, SOURCE = "line", "time", "publisher", "source_file"
VISIT, REASON, DETAIL = "visit", "reason", "detail"
# How a line writes a moment.
MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"


@dataclass(frozen=True, slots=True)
class Job:
    day: date
    inputs: list[str]
    out: str
    quarantine: str
    catalog: Catalog
    salts: Salts
    weight: int = 1
    column: str = "request"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of the lines; each is either in the log or in quarantine."""

    day: str
    visits: int = 0
    quarantined: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    job, master = parse_job(arguments)
    try:
        with running_session(name=f"ingest {job.day}", master=master) as spark:
            print(json.dumps(asdict(run(spark, job))), flush=True)
    except JavaMissingError as error:
        print(error, file=sys.stderr)
        return EXIT_UNABLE
    return 0


def parse_job(arguments: Sequence[str] | None) -> tuple[Job, str]:
    parser = argparse.ArgumentParser(
        prog="ingest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--date", required=True, type=date.fromisoformat)
    parser.add_argument("--input", required=True, nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--snapshot", required=True, type=Path)
    parser.add_argument("--column", default="request", help="of Parquet: the one with the JSON")
    parser.add_argument("--weight", default=1, type=int, help="requests that a line stands for")
    parser.add_argument("--salt-file", type=Path)
    parser.add_argument("--quarantine", help=f"OUT/{QUARANTINE} if it is not said")
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args(arguments)
    try:
        catalog = Catalog.from_json(json.loads((asked.snapshot / CATALOG_FILE).read_text()))
        secret = asked.salt_file.read_text() if asked.salt_file else os.environ.get(SALT_VARIABLE)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not secret or len(secret) < SALT_CHARACTERS:
        parser.error(
            f"set {SALT_VARIABLE} (at least {SALT_CHARACTERS} characters), or name --salt-file"
        )
    if asked.weight < 1:
        parser.error("--weight is 1 or more")
    job = Job(
        day=asked.date,
        inputs=asked.input,
        out=asked.out,
        quarantine=asked.quarantine or f"{asked.out.rstrip('/')}/{QUARANTINE}",
        catalog=catalog,
        salts=Salts(secret.encode()),
        weight=asked.weight,
        column=asked.column,
    )
    return job, asked.master


def run(spark: SparkSession, job: Job) -> Ingested:
    days = LogDays(spark, job.out, ORIGIN, replaces=True)
    refused_days = DayStore(spark, job.quarantine, LINES)
    finish(days, job.day)
    refused_days.clear(job.day)
    found = read_lines(spark, job).mapInArrow(ReadLines(job), result_schema(job))
    found = found.persist(StorageLevel.DISK_ONLY)
    refused = refused_days.stage(job.day)
    size = sum(days.files.size_of(path) for path in found.inputFiles())
    staged = days.stage(job.day, [choose_visits(found, job)], size)
    try:
        refused.write(LINES, choose_refused(found))
        reasons = count_reasons(choose_refused(found))
        visits = found.where(column(REASON).isNull()).count()
        refused_days.commit(refused)
        days.commit(staged)
    finally:
        days.discard(staged)
        refused_days.discard(refused)
        found.unpersist()
    finish(days, job.day)
    return Ingested(str(job.day), visits, sum(reasons.values()), reasons)


def finish(days: LogDays, day: date) -> None:
    if days.move_committed(day):
        days.forget_committed(day)


def read_lines(spark: SparkSession, job: Job) -> DataFrame:
    """Reads the lines of all inputs, with the time and publisher in columns beside them."""
    is_parquet = any(path.rstrip("/").endswith(".parquet") for path in job.inputs)
    rows = spark.read.parquet(*job.inputs) if is_parquet else spark.read.text(job.inputs)
    of_line = job.column if is_parquet else "value"
    if of_line not in rows.columns:
        raise SystemExit(f"the input has no column {of_line}: name it with --column")
    beside = [read_beside(rows, name).alias(name) for name in (SAID_TIME, SAID_PUBLISHER)]
    source = sf.col("_metadata.file_path").alias(SOURCE)
    lines = rows.select(column(of_line).cast("string").alias(LINE), *beside, source)
    return lines.where(column(LINE).isNull() | (sf.trim(column(LINE)) != ""))


def read_beside(rows: DataFrame, name: str) -> Column:
    """Reads a column of Parquet as text, moments as a line writes them; null if there is none."""
    kind = {field.name: field.dataType for field in rows.schema}.get(name)
    if kind is None:
        return sf.lit(None).cast("string")
    value: Column = column(name)
    if name == SAID_TIME and isinstance(kind, IntegralType):
        value = sf.timestamp_millis(value)
    if name == SAID_TIME and isinstance(kind, IntegralType | TimestampType):
        return sf.date_format(value, MOMENT)
    return value.cast("string")


def columns_of(job: Job) -> LogColumns:
    return LogColumns.of((attribute.name, attribute.type) for attribute in job.catalog)


def result_schema(job: Job) -> StructType:
    """Lists the columns of results. A visit is one struct, because mapInArrow takes no columns with
    a dot in their name."""
    texts = [StructField(name, StringType()) for name in (LINE, SOURCE, REASON, DETAIL)]
    return StructType([StructField(VISIT, from_arrow_schema(columns_of(job).schema)), *texts])


@dataclass(frozen=True, slots=True)
class ReadLines:
    """Turns lines into visits and refused lines, for `mapInArrow`."""

    job: Job

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = LineReader(self.job.catalog, self.job.day, self.job.salts, self.job.weight)
        kind = pa.struct(list(reader.maker.schema))
        for batch in batches:
            results = [result for row in batch.to_pylist() for result in read_line(reader, row)]
            visits = pa.array([each.get(VISIT) for each in results], kind).cast(for_spark(kind))
            texts = [
                pa.array([each.get(name) for each in results], pa.string())
                for name in (LINE, SOURCE, REASON, DETAIL)
            ]
            yield pa.RecordBatch.from_arrays(
                [visits, *texts], [VISIT, LINE, SOURCE, REASON, DETAIL]
            )


def for_spark(kind: pa.StructType) -> pa.StructType:
    """Widens moments to microseconds, the only unit of Arrow's that Spark reads; it still writes
    milliseconds to the log."""
    return pa.struct(
        [
            each.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(each.type) else each
            for each in kind
        ]
    )


def read_line(reader: LineReader, row: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        visits = reader.read(row[LINE], Said(row[SAID_TIME], row[SAID_PUBLISHER]))
    except LineError as error:
        refused = {REASON: error.reason, DETAIL: str(error)}
        return [{LINE: row[LINE], SOURCE: row[SOURCE], **refused}]
    return [{VISIT: visit} for visit in visits]


def choose_visits(found: DataFrame, job: Job) -> DataFrame:
    names = columns_of(job).schema.names
    chosen = [sf.col(f"{VISIT}.`{name}`").alias(name) for name in names]
    return found.where(column(REASON).isNull()).select(*chosen)


def choose_refused(found: DataFrame) -> DataFrame:
    return found.where(column(REASON).isNotNull()).select(LINE, SOURCE, REASON, DETAIL)


def count_reasons(refused: DataFrame) -> dict[str, int]:
    return {row[REASON]: row["count"] for row in refused.groupBy(REASON).count().collect()}


if __name__ == "__main__":
    sys.exit(main())

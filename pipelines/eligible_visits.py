"""Job: for each day of the visit log, how many visits each campaign was eligible for, by publisher.

    python -m pipelines.eligible_visits --visits DIR --snapshot FOLDER \\
        --first-day 2026-11-01 --last-day 2026-11-14 --out DIR [--master local[2]]

Writes `OUT/eligible_visits/dt=D` and `OUT/daily_visits/dt=D`, a whole day at a time, and prints one
JSON line per finished day. Running a day again replaces that day only.
"""

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from pipelines.matching import INDEX_FILE, CountMatches, SnapshotSource, hash_file, open_checked
from pipelines.partitions import DayStore
from pipelines.session import JavaMissingError, is_local, start_session
from pipelines.visit_log import WRONG_TYPES, column, read_day, visit_schema

MATCHES = StructType(
    [StructField("booking_id", LongType()), StructField("eligible_visits", LongType())]
)
BOOKINGS = StructType(
    [
        StructField("booking_id", LongType()),
        StructField("campaign_id", LongType()),
        StructField("publisher", StringType()),
    ]
)
EXIT_UNABLE, EXIT_ORPHANED = 2, 3
COUNTED, MALFORMED, DUPLICATE = "counted", "malformed", "duplicate"


class CountsDisagreeError(RuntimeError):
    """The day's tables contradict each other; nothing was replaced."""


@dataclass(frozen=True, slots=True)
class Job:
    visits: str
    snapshot: Path
    first_day: date
    last_day: date
    out: str
    master: str
    end_with_stdin: bool

    def days(self) -> Iterator[date]:
        for offset in range((self.last_day - self.first_day).days + 1):
            yield self.first_day + timedelta(days=offset)


@dataclass(frozen=True, slots=True)
class DayDone:
    """One line of progress; `status` is `done`, or `no_log` when the log has no such day."""

    day: str
    status: str
    snapshot_id: str
    visits: int = 0
    malformed: int = 0
    duplicates: int = 0
    late: int = 0
    wrong_types: int = 0
    campaigns: int = 0
    eligible_visits: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Index:
    """What a run needs of the snapshot folder, read once on the driver."""

    snapshot_id: str
    source: SnapshotSource
    schema: StructType
    bookings: DataFrame


def main(arguments: Sequence[str] | None = None) -> int:
    job = parse_job(arguments)
    if job.end_with_stdin:
        threading.Thread(target=end_with_stdin, daemon=True).start()
    try:
        spark = start_session(name=f"eligible visits {job.first_day}", master=job.master)
    except JavaMissingError as error:
        print(error, file=sys.stderr)
        return EXIT_UNABLE
    try:
        for done in run_days(spark, job):
            print(json.dumps(asdict(done)), flush=True)
    finally:
        spark.stop()
    return 0


def parse_job(arguments: Sequence[str] | None) -> Job:
    parser = argparse.ArgumentParser(prog="eligible_visits", description=__doc__)
    parser.add_argument("--visits", required=True)
    parser.add_argument("--snapshot", required=True, type=Path)
    parser.add_argument("--first-day", required=True, type=date.fromisoformat)
    parser.add_argument("--last-day", required=True, type=date.fromisoformat)
    parser.add_argument("--out", required=True)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument(
        "--end-with-stdin",
        action="store_true",
        help="end when standard input does: then no job outlives the process that started it",
    )
    job = Job(**vars(parser.parse_args(arguments)))
    if job.last_day < job.first_day:
        parser.error(f"the last day {job.last_day} is before the first {job.first_day}")
    if not (job.snapshot / INDEX_FILE).is_file():
        parser.error(f"{job.snapshot} holds no {INDEX_FILE}: build a snapshot first")
    return job


def end_with_stdin() -> None:
    """Exits hard: a day not yet committed is thrown away, and Spark's JVM follows its parent."""
    # Not through sys.stdin: the lock that it holds while waiting aborts the interpreter's own end.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(EXIT_ORPHANED)


def run_days(spark: SparkSession, job: Job) -> Iterator[DayDone]:
    index = load_index(spark, job)
    store = DayStore(spark, job.out)
    for day in job.days():
        yield run_day(spark, job, index, store, day)


def load_index(spark: SparkSession, job: Job) -> Index:
    path = job.snapshot / INDEX_FILE
    shipped = not is_local(job.master)
    if shipped:
        spark.sparkContext.addFile(str(job.snapshot), recursive=True)
    source = SnapshotSource(str(job.snapshot), hash_file(path), shipped)
    snapshot = open_checked(str(path), source.index_sha256)
    return Index(
        snapshot_id=job.snapshot.name,
        source=source,
        schema=visit_schema({name: kind for name, kind, *_ in snapshot.catalog_rows}),
        bookings=load_bookings(spark, job.snapshot),
    )


def load_bookings(spark: SparkSession, folder: Path) -> DataFrame:
    with pa.memory_map(str(folder / "bookings.arrow")) as file:
        table = pa.ipc.open_file(file).read_all().select(BOOKINGS.names)
        publisher = table["publisher"].cast(pa.string())
        plain = table.set_column(2, "publisher", publisher)
        return spark.createDataFrame(plain, BOOKINGS).cache()


def run_day(spark: SparkSession, job: Job, index: Index, store: DayStore, day: date) -> DayDone:
    started = time.monotonic()
    store.finish_interrupted(day)
    log = read_day(spark, job.visits, day, index.schema)
    if log is None:
        return DayDone(str(day), "no_log", index.snapshot_id)
    rows = judge_rows(log, day).cache()
    staged = store.stage(day)
    try:
        daily = staged.write("daily_visits", count_daily(rows))
        eligible = staged.write("eligible_visits", count_eligible(rows, index))
        done = sum_up(day, index.snapshot_id, daily, eligible, started)
        store.commit(staged)
    finally:
        store.discard(staged)
        rows.unpersist()
    return done


def judge_rows(log: DataFrame, day: date) -> DataFrame:
    """Adds what becomes of each row (`fate`) and whether it came late.

    A row counts on the day whose log holds it, also when it is late; its own time decides which
    flights it falls into. Of several rows with one id the earliest counts, on every run the same.
    """
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC)
    publisher, moment = column("publisher.id"), column("time")
    is_malformed = (
        column("visit_id").isNull()
        | publisher.isNull()
        | (sf.trim(publisher) == "")
        | moment.isNull()
        | (moment >= sf.lit(begin + timedelta(days=1)))
    )
    rows_alike = Window.partitionBy("visit_id").orderBy(
        "is_malformed", "time", sf.xxhash64(*[column(name) for name in log.columns])
    )
    place = sf.row_number().over(rows_alike)
    fate = sf.when(column("is_malformed"), MALFORMED).when(place > 1, DUPLICATE).otherwise(COUNTED)
    return (
        log.withColumn("is_malformed", is_malformed)
        .withColumn("fate", fate)
        .withColumn("is_late", moment < sf.lit(begin))
        .drop("is_malformed")
    )


def count_daily(rows: DataFrame) -> DataFrame:
    """Per publisher, what the log held; rows that name no publisher come under null."""
    counted = column("fate") == COUNTED
    return rows.groupBy(column("publisher.id").alias("publisher")).agg(
        sf.count_if(counted).alias("visits"),
        sf.count_if(column("fate") == MALFORMED).alias("malformed"),
        sf.count_if(column("fate") == DUPLICATE).alias("duplicates"),
        sf.count_if(counted & column("is_late")).alias("late"),
        sf.sum(sf.when(counted, column(WRONG_TYPES)).otherwise(0)).alias("wrong_types"),
    )


def count_eligible(rows: DataFrame, index: Index) -> DataFrame:
    """Per campaign and publisher, the counted visits that match the booking between the two."""
    ours = {"visit_id", "fate", "is_late", WRONG_TYPES}
    attributes = [column(name) for name in rows.columns if name not in ours]
    # As one struct, because mapInArrow does not take columns with a dot in their name.
    visits = rows.where(column("fate") == COUNTED).select(sf.struct(*attributes).alias("visit"))
    matches = visits.mapInArrow(CountMatches(index.source), MATCHES)
    return (
        matches.groupBy("booking_id")
        .agg(sf.sum("eligible_visits").alias("eligible_visits"))
        .join(index.bookings, "booking_id")
        .groupBy("campaign_id", "publisher")
        .agg(sf.sum("eligible_visits").alias("eligible_visits"))
        .withColumn("snapshot_id", sf.lit(index.snapshot_id))
    )


def sum_up(
    day: date, snapshot_id: str, daily: DataFrame, eligible: DataFrame, started: float
) -> DayDone:
    """The day's line of progress, taken from the tables as written, before they replace others."""
    held = daily.collect()
    visits = {row.publisher: row.visits for row in held}
    found = (
        eligible.groupBy("publisher")
        .agg(sf.max("eligible_visits"), sf.sum("eligible_visits"), sf.count("*"))
        .collect()
    )
    for publisher, most, _, _ in found:
        if most > (held_there := visits.get(publisher, 0)):
            raise CountsDisagreeError(
                f"{day}: {most} eligible visits at {publisher}, which had {held_there}"
            )
    return DayDone(
        day=str(day),
        status="done",
        snapshot_id=snapshot_id,
        visits=sum(visits.values()),
        malformed=sum(row.malformed for row in held),
        duplicates=sum(row.duplicates for row in held),
        late=sum(row.late for row in held),
        wrong_types=sum(row.wrong_types for row in held),
        campaigns=sum(count for _, _, _, count in found),
        eligible_visits=sum(total for _, _, total, _ in found),
        seconds=round(time.monotonic() - started, 3),
    )


if __name__ == "__main__":
    sys.exit(main())

"""Job: for each day of the visit log, how many visits each campaign was eligible for, by publisher.

    python -m pipelines.eligible_visits --visits DIR --snapshot FOLDER \\
        --first-day 2026-11-01 --last-day 2026-11-14 --out DIR [--master local[2]] \\
        [--truth-rates FILE]

Writes `OUT/eligible_visits/dt=D` and `OUT/daily_visits/dt=D`, a whole day at a time, and prints one
JSON line per finished day. Running a day again replaces that day only. With `--truth-rates`, the
last day's visits are also asked how often each condition held, for the next snapshot.
"""

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as sf

from pipelines.compact import compact_day
from pipelines.matching import INDEX_FILE, MATCHES, MatchVisits, SnapshotSource, open_checked
from pipelines.partitions import DayStore
from pipelines.session import EXIT_UNABLE, JavaMissingError, is_local, start_session
from pipelines.truth_rates import measure_rates, write_rates
from pipelines.visit_log import ADDED, DAY, NEEDED, SOURCE_FILE, SOURCE_ROW, column, read_day
from targeting.visit_log import WEIGHT

EXIT_ORPHANED = 3
# Much of a day is planning, and its last steps are single tasks: a second day fills the gaps.
DAYS_AT_ONCE = 2
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
    truth_rates: Path | None = None

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
    wrong_values: int = 0
    bookings: int = 0
    eligible_visits: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Index:
    """What a run needs of the snapshot, read once on the driver."""

    snapshot_id: str
    source: SnapshotSource
    attributes: frozenset[str]


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
        if job.truth_rates is not None:
            refresh_rates(spark, job, job.truth_rates)
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
    parser.add_argument("--truth-rates", type=Path, help="a file for the next snapshot's build")
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
    with ThreadPoolExecutor(DAYS_AT_ONCE) as pool:
        yield from pool.map(lambda day: run_day(spark, job, index, store, day), job.days())


def load_index(spark: SparkSession, job: Job) -> Index:
    source = SnapshotSource.of(job.snapshot, is_shipped=not is_local(job.master))
    if source.is_shipped:
        spark.sparkContext.addFile(str(job.snapshot), recursive=True)
    names = open_checked(job.snapshot, source.sha256).snapshot.catalog.names
    return Index(job.snapshot.name, source, frozenset(names))


def run_day(spark: SparkSession, job: Job, index: Index, store: DayStore, day: date) -> DayDone:
    started = time.monotonic()
    store.finish_interrupted(day)
    compact_day(spark, job.visits, day)
    log = read_day(spark, job.visits, day, index.attributes)
    if not log:
        return DayDone(str(day), "no_log", index.snapshot_id)
    staged = store.stage(day)
    try:
        keys = judge_rows(log).cache()
        matches = match_visits(log, keys, index).cache()
        daily = staged.write("daily_visits", count_daily(keys))
        staged.write("eligible_visits", count_eligible(matches, index))
        done = sum_up(day, index.snapshot_id, daily.collect(), count_publishers(matches).collect())
        store.commit(staged)
        matches.unpersist()
        keys.unpersist()
    finally:
        store.discard(staged)
    return replace(done, seconds=round(time.monotonic() - started, 3))


def refresh_rates(spark: SparkSession, job: Job, path: Path) -> bool:
    """From the last day that has a log; says whether it wrote them."""
    index = load_index(spark, job)
    for day in reversed(list(job.days())):
        log = read_day(spark, job.visits, day, index.attributes)
        if log:
            return write_rates(path, day, measure_rates(log, index.source))
    return False


def judge_rows(log: list[DataFrame]) -> DataFrame:
    """What becomes of each row (`fate`), with only the columns that decide it.

    A row counts on the day whose log holds it, also when it is late; its own time decides which
    flights it falls into. Of several rows with one id the earliest counts, on every run the same.
    """
    decisive = (*NEEDED.names, WEIGHT, *ADDED)
    parts = [part.select(*[column(name) for name in decisive]) for part in log]
    begin = column(DAY).cast("timestamp")
    publisher, moment = column("publisher.id"), column("time")
    is_malformed = (
        column("visit_id").isNull()
        | publisher.isNull()
        | (sf.trim(publisher) == "")
        | moment.isNull()
        | (moment >= begin + sf.expr("interval 1 day"))
    )
    alike = Window.partitionBy("visit_id").orderBy("is_malformed", "time", SOURCE_FILE, SOURCE_ROW)
    is_first = sf.row_number().over(alike) == 1
    fate = sf.when(column("is_malformed"), MALFORMED).when(is_first, COUNTED).otherwise(DUPLICATE)
    return (
        reduce(DataFrame.unionByName, parts)
        .withColumn("is_malformed", is_malformed)
        .withColumn("fate", fate)
        .select(
            publisher.alias("publisher"),
            "fate",
            (moment < begin).alias("is_late"),
            WEIGHT,
            SOURCE_FILE,
            SOURCE_ROW,
        )
    )


def count_daily(keys: DataFrame) -> DataFrame:
    """Per publisher, what the log held; rows that name no publisher come under null."""
    counted = column("fate") == COUNTED
    return keys.groupBy("publisher").agg(
        sum_weights(counted).alias("visits"),
        sum_weights(column("fate") == MALFORMED).alias("malformed"),
        sum_weights(column("fate") == DUPLICATE).alias("duplicates"),
        sum_weights(counted & column("is_late")).alias("late"),
    )


def sum_weights(condition: Column) -> Column:
    """How many visits the rows stand for that meet the condition."""
    return sf.sum(sf.when(condition, column(WEIGHT)).otherwise(0))


def match_visits(log: list[DataFrame], keys: DataFrame, index: Index) -> DataFrame:
    """What the index says of the rows that count.

    The few rows that do not count are taken out of the log, rather than the many that do sorted
    and moved with all their columns.
    """
    left_out = keys.where(column("fate") != COUNTED).select(SOURCE_FILE, SOURCE_ROW)
    parts = []
    for part in log:
        attributes = [column(name) for name in part.columns if name not in {"visit_id", *ADDED}]
        counted = part.join(left_out, [SOURCE_FILE, SOURCE_ROW], "left_anti")
        # As one struct, because mapInArrow does not take columns with a dot in their name.
        visits = counted.select(sf.struct(*attributes).alias("visit"))
        parts.append(visits.mapInArrow(MatchVisits(index.source), MATCHES))
    return reduce(DataFrame.union, parts)


def count_eligible(matches: DataFrame, index: Index) -> DataFrame:
    return (
        matches.where(column("campaign_id").isNotNull())
        .groupBy("campaign_id", "publisher")
        .agg(sf.sum("eligible_visits").alias("eligible_visits"))
        .withColumn("snapshot_id", sf.lit(index.snapshot_id))
    )


def count_publishers(matches: DataFrame) -> DataFrame:
    """Per publisher, to check the day by; the row without a publisher has the wrong values."""
    return matches.groupBy("publisher").agg(
        sf.sum("eligible_visits").alias("eligible_visits"),
        sf.count_distinct("campaign_id").alias("bookings"),
        sf.sum("wrong_values").alias("wrong_values"),
    )


def sum_up(day: date, snapshot_id: str, daily: list[Row], found: list[Row]) -> DayDone:
    """The day's line of progress; refuses a day whose tables contradict each other."""
    visits = {row.publisher: row.visits for row in daily}
    for row in found:
        if row.eligible_visits > row.bookings * visits.get(row.publisher, 0):
            raise CountsDisagreeError(
                f"{day}: {row.eligible_visits} eligible visits of {row.bookings} bookings at "
                f"{row.publisher}, which had {visits.get(row.publisher, 0)} visits"
            )
    return DayDone(
        day=str(day),
        status="done",
        snapshot_id=snapshot_id,
        visits=sum(visits.values()),
        malformed=sum(row.malformed for row in daily),
        duplicates=sum(row.duplicates for row in daily),
        late=sum(row.late for row in daily),
        wrong_values=sum(row.wrong_values for row in found),
        bookings=sum(row.bookings for row in found),
        eligible_visits=sum(row.eligible_visits for row in found),
    )


if __name__ == "__main__":
    sys.exit(main())

"""Job: moves what servers wrote on a day, a file per process and minute, into the day's folder.

    python -m pipelines compact --visits LOG --first-day 2026-11-16 [--last-day 2026-11-17] \\
        [--master local[2]]

It sorts by publisher, so that no other job has to. Running again is safe: what came late is added,
nothing is added twice. It prints one JSON line per day. Every job of a day does this first.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pipelines.log_days import LogDays
from pipelines.session import EXIT_UNABLE, JavaMissingError, running_session
from pipelines.visit_log import is_part, read_files
from targeting.visit_log import INCOMING

ORIGIN = "served"
CLAIMED = "_claimed"


@dataclass(frozen=True, slots=True)
class DayCompacted:
    """One line of progress. It does not count what a killed job had committed already."""

    day: str
    files: int = 0
    visits: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="compact", description=__doc__)
    parser.add_argument("--visits", required=True)
    parser.add_argument("--first-day", required=True, type=date.fromisoformat)
    parser.add_argument("--last-day", type=date.fromisoformat)
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args(arguments)
    days = ((asked.last_day or asked.first_day) - asked.first_day).days + 1
    if days < 1:
        parser.error(f"the last day {asked.last_day} is before the first {asked.first_day}")
    try:
        with running_session(name=f"compact {asked.first_day}", master=asked.master) as spark:
            for offset in range(days):
                done = compact_day(spark, asked.visits, asked.first_day + timedelta(days=offset))
                print(json.dumps(asdict(done)), flush=True)
    except JavaMissingError as error:
        print(error, file=sys.stderr)
        return EXIT_UNABLE
    return 0


def compact_day(spark: SparkSession, log: str, day: date) -> DayCompacted:
    """Moves the day's folder away from the servers, who begin another, and adds its rows to the
    day. The folder stays until its rows are committed."""
    days = LogDays(spark, log, ORIGIN, replaces=False)
    claimed = f"{log.rstrip('/')}/{CLAIMED}/dt={day}"
    finish(days, day, claimed)
    done = DayCompacted(str(day))
    if days.files.exists(claimed):  # a job was killed that had claimed it
        done = add_claimed(spark, days, day, claimed, done)
    if claim(days, log, day, claimed):
        done = add_claimed(spark, days, day, claimed, done)
    return done


def add_claimed(
    spark: SparkSession, days: LogDays, day: date, claimed: str, before: DayCompacted
) -> DayCompacted:
    paths = [f"{claimed}/{name}" for name in days.files.names_in(claimed) if is_part(name)]
    tables = read_files(spark.read, paths)
    staged = days.stage(day, tables, sum(days.files.size_of(path) for path in paths))
    try:
        visits = count_rows(tables)
        days.commit(staged)
    finally:
        days.discard(staged)
    finish(days, day, claimed)
    return replace(before, files=before.files + len(paths), visits=before.visits + visits)


def finish(days: LogDays, day: date, claimed: str) -> None:
    """Finishes what is committed, in an order that survives being killed anywhere: what the rows
    were made of goes before the commit does, so that they are never added twice."""
    if days.move_committed(day):
        days.files.delete(claimed)
        days.forget_committed(day)


def claim(days: LogDays, log: str, day: date, claimed: str) -> bool:
    incoming = f"{log.rstrip('/')}/{INCOMING}/dt={day}"
    if not days.files.exists(incoming):
        return False
    days.files.make_folder(claimed.rpartition("/")[0])
    days.files.rename(incoming, claimed)
    return True


def count_rows(tables: Sequence[DataFrame]) -> int:
    return sum(rows.agg(sf.count("*")).collect()[0][0] for rows in tables)


if __name__ == "__main__":
    sys.exit(main())

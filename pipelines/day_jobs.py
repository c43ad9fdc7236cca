"""Runs jobs of one day: load, compute, write aside, commit with a manifest of the run.

    python -m pipelines JOB --date 2026-11-16 --visits LOG --snapshot FOLDER --out DIR \\
        [--through 2026-11-17] [--master local[*]]

With `--through`, day after day in one session; jobs that look back at many days run for the last.
A job is a `DayJob`: the tables that it writes, and a function from the day's input to them. Prints
a JSON line per finished job and, every few seconds, one with Spark's progress.
"""

import argparse
import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipelines.asking import Question
from pipelines.day_input import DayInput, DayOrder
from pipelines.matching import INDEX_FILE
from pipelines.session import EXIT_UNABLE, PACKAGE, JavaMissingError, running_session
from pipelines.visit_log import column
from targeting.report_tables import Manifest

# One means that Python failed, two that the job could not start.
EXIT_ORPHANED, EXIT_FAILED = 3, 4
PROGRESS_SECONDS = 2.0
DONE, NO_LOG, FAILED = "done", "no_log", "failed"
Tables = Mapping[str, DataFrame]
# Of a table; of one with the log's columns it depends on the catalogue.
Schema = StructType | Callable[[DayInput], StructType]


class FoundWrongError(Exception):
    """Fails a job by what it found; its text is for people."""


@dataclass(frozen=True, slots=True)
class DayJob:
    """`compute` says what each of `tables` holds; `finish` comes after the commit. One that looks
    back reads what other jobs wrote of many days, not the day's log. `question` is what it asks of
    the visits themselves, together with all other jobs of the session; `has_input` says whether
    there is anything to read, for one that reads another log than that of visits."""

    name: str
    tables: Mapping[str, Schema]
    compute: Callable[[DayInput], Tables]
    looks_back: bool = False
    question: Callable[[DayInput], Question] | None = None
    has_input: Callable[[DayInput], bool] | None = None
    finish: Callable[[DayInput, Manifest], None] | None = None

    @property
    def reads_visits(self) -> bool:
        return not self.looks_back and self.has_input is None

    def can_run(self, day: DayInput) -> bool:
        if self.has_input is not None:
            return self.has_input(day)
        return self.looks_back or bool(day.log)


@dataclass(frozen=True, slots=True)
class JobDone:
    """One line: `status` is `done`, `no_log` when the log has no such day, or `failed`."""

    job: str
    day: str
    status: str
    snapshot_id: str
    input: dict[str, int] = field(default_factory=dict)
    output: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""


def main(jobs: Sequence[DayJob], arguments: Sequence[str] | None, *, program: str) -> int:
    orders, is_bound = parse_orders(arguments, program)
    if is_bound:
        threading.Thread(target=end_with_stdin, daemon=True).start()
    done = []
    try:
        with (
            running_session(name=f"{program} {orders[0].day}", master=orders[0].master) as spark,
            telling_progress(spark.sparkContext),
        ):
            for one in run_orders(spark, orders, jobs):
                say(asdict(one))
                done.append(one)
    except JavaMissingError as error:
        print(error, file=sys.stderr)
        return EXIT_UNABLE
    return EXIT_FAILED if any(one.status == FAILED for one in done) else 0


def parse_orders(arguments: Sequence[str] | None, program: str) -> tuple[list[DayOrder], bool]:
    """Reads what to do, and whether to end with the standard input."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--date", required=True, type=date.fromisoformat)
    parser.add_argument("--through", type=date.fromisoformat, help="the last day, of several")
    parser.add_argument("--visits", required=True, help="the visit log: a path or a URL")
    parser.add_argument("--snapshot", required=True, type=Path)
    parser.add_argument("--out", required=True, help="a path or a URL")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--truth-rates", type=Path, help="a file for the next snapshot's build")
    parser.add_argument("--answers", help="the log of sampled answers, for parity")
    parser.add_argument("--campaign", type=int, help="whatif: whose expression is drafted")
    parser.add_argument("--edge", type=int, help="whatif: whose expression is drafted")
    parser.add_argument("--expression", help="whatif: the draft")
    parser.add_argument("--against", type=Path, help="whatif: another snapshot's folder")
    parser.add_argument("--sample-visits", type=int, default=200_000)
    parser.add_argument("--sample-days", type=int, default=14)
    parser.add_argument(
        "--end-with-stdin",
        action="store_true",
        help="end when standard input does: then no job outlives the process that started it",
    )
    asked = vars(parser.parse_args(arguments))
    if not (asked["snapshot"] / INDEX_FILE).is_file():
        parser.error(f"{asked['snapshot']} holds no {INDEX_FILE}: build a snapshot first")
    first, is_bound = asked.pop("date"), asked.pop("end_with_stdin")
    days = ((asked.pop("through") or first) - first).days + 1
    if days < 1:
        parser.error(f"the last day is before the first, {first}")
    common = {name: asked.pop(name) for name in ("visits", "snapshot", "out", "master")}
    order = DayOrder(day=first, **common, options=asked)
    return [replace(order, day=first + timedelta(days=n)) for n in range(days)], is_bound


def end_with_stdin() -> None:
    """Exits hard: a day not yet committed is thrown away, and Spark's JVM follows its parent."""
    # Not through sys.stdin: the lock that it holds while waiting aborts the interpreter's own end.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(EXIT_ORPHANED)


def run_orders(
    spark: SparkSession, orders: Sequence[DayOrder], jobs: Sequence[DayJob]
) -> Iterator[JobDone]:
    counting = [job for job in jobs if not job.looks_back]
    for order in orders[:-1]:
        yield from run_jobs(spark, order, counting or jobs)
    yield from run_jobs(spark, orders[-1], jobs)


def run_jobs(spark: SparkSession, order: DayOrder, jobs: Sequence[DayJob]) -> Iterator[JobDone]:
    """Runs every job, also after one that failed."""
    day = DayInput(spark, order)
    try:
        day.questions = [job.question for job in jobs if job.question is not None]
        for job in jobs:
            yield run_job(day, job)
    finally:
        day.close()


def run_job(day: DayInput, job: DayJob) -> JobDone:
    started = time.monotonic()
    say({"began": {"job": job.name, "day": str(day.day)}})
    day.spark.sparkContext.setJobDescription(job.name)
    try:
        if not job.can_run(day):
            return JobDone(job.name, str(day.day), NO_LOG, day.index.snapshot_id)
        manifest = replace_day(day, job, started)
    except Exception as error:  # whatever it is, the line says it
        is_told = isinstance(error, FoundWrongError)
        said = str(error) if is_told else f"{type(error).__name__}: {error}"
        print(said, file=sys.stderr)
        return JobDone(job.name, str(day.day), FAILED, day.index.snapshot_id, error=said[:2000])
    return JobDone(
        job=job.name,
        day=str(day.day),
        status=DONE,
        snapshot_id=day.index.snapshot_id,
        input=manifest["input"]["rows"],
        output={name: table["rows"] for name, table in manifest["tables"].items()},
        seconds=manifest["seconds"],
    )


def replace_day(day: DayInput, job: DayJob, started: float) -> Manifest:
    store = day.store(job.name)
    store.clear(day.day)
    staged = store.stage(day.day)
    try:
        for name, rows in job.compute(day).items():
            schema = job.tables[name]
            columns = schema(day) if callable(schema) else schema
            staged.write(name, conform(rows, columns))
        manifest = store.commit(staged, describe_run(day, job, started))
    finally:
        store.discard(staged)
    if job.finish is not None:
        job.finish(day, manifest)
    return manifest


def conform(rows: DataFrame, schema: StructType) -> DataFrame:
    """Chooses exactly the columns that the table has, in its types."""
    return rows.select(*[column(each.name).cast(each.dataType).alias(each.name) for each in schema])


def describe_run(day: DayInput, job: DayJob, started: float) -> dict[str, Any]:
    files, rows = (day.files, day.rows) if job.reads_visits else ({}, {})
    return {
        "snapshot_id": day.index.snapshot_id,
        "snapshot_sha256": day.index.source.sha256,
        "code_version": find_code_version(),
        "input": {"files": files, "rows": rows},
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started, 3),
    }


def find_code_version() -> str:
    """Hashes the jobs as they are here, released or not."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def telling_progress(context: SparkContext) -> Iterator[None]:
    is_over = threading.Event()
    teller = threading.Thread(target=tell_progress, args=[context, is_over], daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()


def tell_progress(context: SparkContext, is_over: threading.Event) -> None:
    """Prints Spark's stages and tasks until it is over."""
    tracker = context.statusTracker()
    while not is_over.wait(PROGRESS_SECONDS):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = [(each.numCompletedTasks, each.numTasks) for each in stages if each is not None]
        if tasks:
            done, total = map(sum, zip(*tasks, strict=True))
            say({"progress": {"stages": len(tasks), "tasks_done": done, "tasks": total}})


def say(document: Mapping[str, Any]) -> None:
    """Prints a line in one piece: two threads do."""
    sys.stdout.write(f"{json.dumps(document)}\n")
    sys.stdout.flush()

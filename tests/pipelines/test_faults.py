"""What goes wrong under a job: the run fails and says why, readers keep the old day, and the next
run is right."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pipelines import eligibility
from pipelines.day_jobs import DayJob, JobDone, parse_orders, run_jobs
from pipelines.prepared import PreparedVisits
from tests.pipelines.history import DAY, History, run_job, visit

pytestmark = pytest.mark.spark


@pytest.fixture
def counted(spark: SparkSession, tmp_path: Path) -> tuple[History, Path]:
    """Counts a day, and logs more of it since."""
    history = History(tmp_path)
    snapshot = history.snapshot()
    history.log(DAY, [visit("a")])
    run_job(spark, history.order(snapshot), eligibility.JOB)
    history.log(DAY, [visit("b")], part=1)
    return history, snapshot


def check_failed(history: History, done: JobDone) -> None:
    """Checks that the old day is there, and nothing of the new one."""
    assert done.status == "failed"
    assert done.error
    assert history.eligible() == {(10, "daily-herald"): 1}
    folder = history.root / "reports" / "eligibility" / f"dt={DAY}"
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 1


def check_retry(spark: SparkSession, history: History, snapshot: Path) -> None:
    run_job(spark, history.order(snapshot), eligibility.JOB)
    assert history.eligible() == {(10, "daily-herald"): 2}


@dataclass(frozen=True, slots=True)
class DyingOnce:
    """Kills the worker that asks first."""

    flag: Path
    name: str = eligibility.NAME
    answers: StructType = eligibility.FOUND

    def ask(self, visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
        if not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return eligibility.EligibleVisits().ask(visits)


def test_a_killed_python_worker_fails_the_run_or_is_replaced(
    spark: SparkSession, counted: tuple[History, Path], tmp_path: Path
) -> None:
    """Tries once, as Spark does on one machine; on a cluster it tries a task four times."""
    history, snapshot = counted
    dying: DayJob = replace(eligibility.JOB, question=lambda _: DyingOnce(tmp_path / "died"))
    (done,) = run_jobs(spark, history.order(snapshot), [dying])
    assert (tmp_path / "died").exists()
    check_failed(history, done)
    run_job(spark, history.order(snapshot), dying)
    assert history.eligible() == {(10, "daily-herald"): 2}


def test_a_corrupt_file_of_the_log_is_named(
    spark: SparkSession, counted: tuple[History, Path]
) -> None:
    history, snapshot = counted
    path = history.root / "visits" / f"dt={DAY}" / "part-00001.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    (done,) = run_jobs(spark, history.order(snapshot), [eligibility.JOB])
    check_failed(history, done)
    assert "part-00001.parquet" in done.error
    path.write_bytes(whole)
    check_retry(spark, history, snapshot)


def test_a_missing_snapshot_is_said_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--visits", str(tmp_path), "--out", str(tmp_path), "--date", str(DAY)]
    with pytest.raises(SystemExit) as ended:
        parse_orders([*where, "--snapshot", str(tmp_path / "gone")], "eligibility")
    assert ended.value.code == 2
    assert "build a snapshot first" in capsys.readouterr().err


@contextmanager
def no_room(spark: SparkSession) -> Iterator[None]:
    """Lets Spark write no file of more than a few bytes, as on a disk that is full."""
    gateway: Any = spark.sparkContext._gateway
    process = gateway.proc.pid
    limits = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (16, limits[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, limits)


def test_a_full_output_folder_leaves_the_old_day(
    spark: SparkSession, counted: tuple[History, Path]
) -> None:
    history, snapshot = counted
    with no_room(spark):
        (done,) = run_jobs(spark, history.order(snapshot), [eligibility.JOB])
    check_failed(history, done)
    check_retry(spark, history, snapshot)

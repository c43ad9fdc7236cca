"""Compaction on a real Spark session: what servers wrote is in its day, once, and sorted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.conf import settings
from pyarrow import parquet
from pyspark.sql import SparkSession

from pipelines import eligibility, log_days
from pipelines.__main__ import main
from pipelines.compact import DayCompacted, compact_day
from pipelines.file_system import FileSystem
from pipelines.log_days import LogDays
from pipelines.session import EXIT_UNABLE
from pipelines.visit_log import read_day
from targeting.visit_log import (
    VISIT_ID,
    WEIGHT,
    LogColumns,
    RowMaker,
    Salts,
    find_newest_part,
    incoming_folder,
)
from tests.pipelines.history import CATALOG, DAY, NOON, USA_AT_HERALD, History, run_job
from tests.pipelines.history import visit as logged
from tests.serving.bid_requests import bid_request
from tests.serving.logging_visits import CATALOG as WHOLE_CATALOG
from tests.serving.logging_visits import ask, ask_batch, logging_server, read_log

pytestmark = pytest.mark.spark

MILLISECONDS = int(NOON.timestamp() * 1000)


def leave(log: Path, name: str, *visits: tuple[str, str], weight: int = 10) -> None:
    """Leaves a server's file with these visit ids and publishers."""
    maker = RowMaker(LogColumns.of((a.name, a.type) for a in CATALOG), Salts(b"s" * 32), weight)
    rows = [
        maker.make(
            visit_id,
            {"publisher.id": publisher, "time": MILLISECONDS, "geo.country": "USA", "user.age": 30},
        )
        for visit_id, publisher in visits
    ]
    folder = incoming_folder(log) / f"dt={DAY}"
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_batches([maker.make_batch(rows)]), folder / name)


def ids_in(log: Path) -> list[str]:
    return sorted(read_log(log).column(VISIT_ID).to_pylist())


def sellers_in(part: Path) -> list[str]:
    sellers: list[str] = parquet.ParquetFile(part).read().column("publisher.id").to_pylist()
    return sellers


def test_a_day_of_many_files_becomes_one_sorted_by_publisher(
    spark: SparkSession, tmp_path: Path
) -> None:
    leave(tmp_path, "0512-a.parquet", ("1", "tribune"), ("2", "herald"), ("3", "gazette"))
    leave(tmp_path, "0513-b.parquet", ("4", "tribune"), ("5", "gazette"))
    (incoming_folder(tmp_path) / f"dt={DAY}" / ".0514-c.parquet").write_bytes(b"half a file")
    assert compact_day(spark, str(tmp_path), DAY) == DayCompacted(str(DAY), files=2, visits=5)
    (part,) = tmp_path.glob("dt=*/*")
    assert sellers_in(part) == ["gazette", "gazette", "herald", "tribune", "tribune"]
    assert ids_in(tmp_path) == ["1", "2", "3", "4", "5"]
    assert not any(path.is_file() for path in tmp_path.rglob("*") if path != part)


def test_again_changes_nothing_and_what_comes_late_is_added(
    spark: SparkSession, tmp_path: Path
) -> None:
    leave(tmp_path, "0512-a.parquet", ("1", "herald"), ("2", "herald"))
    compact_day(spark, str(tmp_path), DAY)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("dt=*/*")}
    assert compact_day(spark, str(tmp_path), DAY) == DayCompacted(str(DAY))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("dt=*/*")} == before
    leave(tmp_path, "0001-late.parquet", ("3", "herald"))
    assert compact_day(spark, str(tmp_path), DAY).visits == 1
    assert ids_in(tmp_path) == ["1", "2", "3"]
    (whole,) = before
    assert find_newest_part(tmp_path) == whole  # not the little that came late


class Killed(BaseException):
    """As if the process had ended there."""


def kill_before(monkeypatch: pytest.MonkeyPatch, number: int, step: str) -> None:
    """Kills the process at the n-th change of the file system of that kind."""
    calls = iter(range(1, 1000))
    change: Callable[..., Any] = getattr(FileSystem, step)

    def once(self: FileSystem, *paths: str) -> None:
        if next(calls) == number:
            raise Killed
        change(self, *paths)

    monkeypatch.setattr(FileSystem, step, once)


@pytest.mark.parametrize(
    ("step", "number"),
    [("rename", 1), ("rename", 2), ("rename", 3), ("delete", 1), ("delete", 2), ("make_folder", 3)],
)
def test_a_job_killed_anywhere_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, step: str, number: int
) -> None:
    leave(tmp_path, "0512-a.parquet", ("1", "tribune"), ("2", "herald"))
    leave(tmp_path, "0513-b.parquet", ("3", "herald"))
    with pytest.MonkeyPatch.context() as patch:
        kill_before(patch, number, step)
        patch.setattr(LogDays, "discard", lambda *_: None)  # a killed process tidies nothing up
        with pytest.raises(Killed):
            compact_day(spark, str(tmp_path), DAY)
    leave(tmp_path, "0514-c.parquet", ("4", "gazette"))
    compact_day(spark, str(tmp_path), DAY)
    assert ids_in(tmp_path) == ["1", "2", "3", "4"]
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name[0] == "_"]
    assert left == []
    assert not any(
        (tmp_path / name).exists() and any((tmp_path / name).iterdir())
        for name in ("_ready", "_staging", "_claimed", "_incoming")
    )


def test_large_days_become_several_parts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(tmp_path, "0512-a.parquet", *[(str(n), f"p{n % 9}") for n in range(90)])
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.parquet"))
    monkeypatch.setattr(log_days, "BYTES_PER_PART", size // 2)
    compact_day(spark, str(tmp_path), DAY)
    parts = sorted(tmp_path.glob("dt=*/*"))
    sellers = [seller for part in parts for seller in sellers_in(part)]
    assert len(parts) > 1
    assert sellers == sorted(sellers)
    assert len(ids_in(tmp_path)) == 90


def test_a_type_that_changed_during_the_day_is_no_obstacle(
    spark: SparkSession, tmp_path: Path
) -> None:
    leave(tmp_path, "0512-a.parquet", ("1", "herald"))
    other = pa.table(
        {
            VISIT_ID: ["2"],
            "publisher.id": ["herald"],
            "user.age": ["thirty"],
            "time": pa.array([NOON], pa.timestamp("ms", "UTC")),
        }
    )
    parquet.write_table(other, incoming_folder(tmp_path) / f"dt={DAY}" / "0513-b.parquet")
    assert compact_day(spark, str(tmp_path), DAY).visits == 2
    logs = read_day(spark, str(tmp_path), DAY, {"user.age"})
    assert sorted(row[VISIT_ID] for rows in logs for row in rows.collect()) == ["1", "2"]


def test_what_servers_were_asked_is_what_jobs_read(spark: SparkSession, tmp_path: Path) -> None:
    visit = {"geo.country": "USA", "user.segments": ["cars"], "geo.location": [48.1, 11.5]}
    with logging_server(tmp_path, TREELINE_VISIT_LOG_ONE_IN="1") as server:
        ask(server, [{"visit": visit}, {"visit": visit}, {"bid_request": bid_request()}])
        ask_batch(server, [{"visit": visit}, {"bid_request": bid_request()}])
    log = tmp_path / "visits"
    written = read_log(incoming_folder(log))
    day = written.column("time")[0].as_py().date()
    days = {moment.date() for moment in written.column("time").to_pylist()}
    for each in days:
        compact_day(spark, str(log), each)
    compacted = read_log(log)
    assert compacted.schema.equals(written.schema)
    assert compacted.sort_by(VISIT_ID).equals(written.sort_by(VISIT_ID))
    names = {attribute.name for attribute in WHOLE_CATALOG}
    rows = [
        row.asDict(recursive=True)
        for each in days
        for part in read_day(spark, str(log), each, names)
        for row in part.collect()
    ]
    assert len(rows) == 7
    expected = {row[VISIT_ID]: row for row in written.to_pylist()}
    for row in rows:
        asked = expected[row[VISIT_ID]]
        moments = {"time", "local_time"}
        assert {k: row[k] for k in names - moments} == {k: asked[k] for k in names - moments}
        assert row["time"].replace(tzinfo=UTC) == asked["time"]
        assert row[WEIGHT] == 1
    assert day in days


def test_reports_count_what_rows_stand_for(spark: SparkSession, tmp_path: Path) -> None:
    history = History(tmp_path)
    log = tmp_path / "visits"
    leave(log, "0512-a.parquet", ("1", "daily-herald"), ("2", "daily-herald"), weight=10)
    leave(log, "0513-b.parquet", ("3", "daily-herald"), ("3", "daily-herald"), weight=100)
    history.log(DAY, [logged("own")])  # says nothing of a weight
    done = run_job(spark, history.order(history.snapshot((USA_AT_HERALD,))), eligibility.JOB)
    assert (done.input["visits"], done.input["duplicates"]) == (121, 100)
    assert history.eligible() == {(10, "daily-herald"): 121}


@pytest.mark.usefixtures("spark")
def test_its_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes the session that runs, and leaves it running."""
    leave(tmp_path, "0512-a.parquet", ("1", "herald"))
    end = DAY + timedelta(days=1)
    options = ["--visits", str(tmp_path), "--first-day", str(DAY), "--last-day", str(end)]
    assert main(["compact", *options]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f'{{"day": "{DAY}", "files": 1, "visits": 1}}',
        f'{{"day": "{end}", "files": 0, "visits": 0}}',
    ]


def test_jobs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "pipelines", "--help"]
    listed = subprocess.run(
        command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    for job in ("eligibility", "nightly", "compact", "ingest", "forget"):
        assert f"  {job} " in listed.stdout
    assert main(["no-such-job"]) == EXIT_UNABLE
    assert capsys.readouterr().out == listed.stdout

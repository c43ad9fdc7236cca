"""The job on a real Spark session with the real index, against the plain evaluator."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines import eligibility
from pipelines.day_jobs import EXIT_ORPHANED, JobDone
from targeting import parse
from tests.pipelines.history import (
    CATALOG,
    DAY,
    LOG_SCHEMA,
    NEXT_DAY,
    NOON,
    USA_AT_HERALD,
    Entry,
    History,
    run_job,
    visit,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def run_one_day(spark: SparkSession, history: History, *entries: Entry) -> JobDone:
    snapshot = history.snapshot(entries or (USA_AT_HERALD,))
    return run_job(spark, history.order(snapshot), eligibility.JOB)


def test_counts_visits_per_campaign_and_publisher(spark: SparkSession, history: History) -> None:
    gazette = {"publisher.id": "evening-gazette"}
    history.log(
        DAY, [visit("a"), visit("b"), visit("c", gazette), visit("d", {"geo.country": "DEU"})]
    )
    done = run_one_day(
        spark,
        history,
        USA_AT_HERALD,
        Entry(2, 10, "evening-gazette", "publisher.id = 'evening-gazette'"),
        Entry(3, 11, "daily-herald", "publisher.id = 'daily-herald' and user.age >= 18"),
        Entry(4, 12, "daily-herald", "publisher.id = 'daily-herald' and user.age < 18"),
    )
    assert history.eligible() == {
        (10, "daily-herald"): 2,
        (10, "evening-gazette"): 1,
        (11, "daily-herald"): 3,
    }
    assert done.input["visits"] == 4
    (nobody,) = [row for row in history.table("by_publisher") if row["campaign_id"] == 12]
    assert (nobody["publisher"], nobody["visits"], nobody["eligible_visits"]) == (
        "daily-herald",
        3,
        0,
    )
    visits = {row["publisher"]: row["visits"] for row in history.table("daily_visits")}
    assert visits == {"daily-herald": 3, "evening-gazette": 1}


def test_counts_equal_the_plain_evaluator(spark: SparkSession, history: History) -> None:
    random = Random(7)
    visits = [random_visit(random, f"v{number}") for number in range(600)]
    entries = [random_entry(random, number) for number in range(1, 61)]
    history.log(DAY, visits)
    run_one_day(spark, history, *entries)
    plain_visits = [as_request(row) for row in visits]
    expected = {}
    for entry in entries:
        expression = parse(entry.text, CATALOG)
        count = sum(expression.evaluate(row) is True for row in plain_visits)
        if count:
            expected[entry.campaign_id, entry.publisher] = count
    assert len(expected) > 20
    assert history.eligible() == expected


def random_visit(random: Random, visit_id: str) -> dict[str, object]:
    return {
        "visit_id": visit_id,
        "time": NOON + timedelta(minutes=random.randrange(-700, 700)),
        "publisher.id": random.choice(["daily-herald", "evening-gazette"]),
        "geo.country": random.choice(["USA", "DEU", "FRA", None]),
        "geo.utc_offset": random.choice([-300, 60, None]),
        "geo.location": random.choice(
            [{"lat": 48.85, "lon": 2.35}, {"lat": 52.5, "lon": 13.4}, None]
        ),
        "user.age": random.choice([*range(12, 60), None]),
        "user.segments": random.choice([[], ["cars"], ["cars", "boats"], ["garden"], None]),
        "imp.floor": random.choice([0.1, 0.5, 2.0, None]),
        "user.consent": random.choice([True, False, None]),
    }


CONDITIONS = [
    "geo.country = 'USA'",
    "geo.country not in ('USA', 'FRA')",
    "geo.country is missing",
    "user.age between 18 and 35",
    "not (user.age >= 40)",
    "user.segments one of ('cars', 'garden')",
    "user.segments only of ('cars')",
    "user.segments is empty",
    "imp.floor <= 0.5",
    "user.consent",
    "not user.consent",
    "geo.location within 50 km of (48.85, 2.35)",
    "time >= '2026-11-01T12:00:00Z'",
    "local_time during 'Sat-Sun 08:00-14:00'",
]


def random_entry(random: Random, number: int) -> Entry:
    publisher = random.choice(["daily-herald", "evening-gazette"])
    one, two, three = random.sample(CONDITIONS, 3)
    text = f"publisher.id = '{publisher}' and ({one} or ({two}) and not ({three}))"
    return Entry(number, 100 + number, publisher, text)


def as_request(row: dict[str, object]) -> dict[str, object]:
    """Gives the same visit as an ad server would send it, with the time that the server stamps."""
    moment = row["time"]
    assert isinstance(moment, datetime)
    stamped = {"time": moment.isoformat(), "local_time": moment.isoformat()}
    return {name: value for name, value in row.items() if name != "visit_id"} | stamped


def test_a_rerun_replaces_its_day_and_no_other(spark: SparkSession, history: History) -> None:
    snapshot = history.snapshot()
    history.log(DAY, [visit("a"), visit("b")])
    history.log(NEXT_DAY, [visit("c", {"time": NOON + timedelta(days=1)})])
    for day in (DAY, NEXT_DAY):
        run_job(spark, history.order(snapshot, day), eligibility.JOB)
    files = sorted((history.root / "reports").glob("*/dt=2026-11-01/**/*.parquet"))
    run_job(spark, history.order(snapshot, NEXT_DAY), eligibility.JOB)
    assert history.eligible(DAY) == {(10, "daily-herald"): 2}
    assert history.eligible(NEXT_DAY) == {(10, "daily-herald"): 1}
    assert sorted((history.root / "reports").glob("*/dt=2026-11-01/**/*.parquet")) == files


def test_rows_that_cannot_be_counted_are_told_apart(spark: SparkSession, history: History) -> None:
    history.log(
        DAY,
        [
            visit("a"),
            visit("a"),
            visit("a", {"time": NOON + timedelta(hours=1), "geo.country": "DEU"}),
            visit("b", {"publisher.id": None}),
            visit("c", {"publisher.id": " "}),
            visit(None),
            visit("d", {"time": None}),
            visit("e", {"time": datetime(2026, 11, 2, tzinfo=UTC)}),
            visit("f", {"time": datetime(2026, 10, 31, 23, 59, tzinfo=UTC)}),
        ],
    )
    done = run_one_day(spark, history)
    assert done.input == {"visits": 2, "malformed": 5, "duplicates": 2, "late": 1}
    assert history.eligible() == {(10, "daily-herald"): 2}


def test_a_value_of_a_wrong_type_is_missing_and_counted(
    spark: SparkSession, history: History
) -> None:
    """Shows it also when only one file of the day has it."""
    ages = Entry(1, 10, "daily-herald", "publisher.id = 'daily-herald' and user.age >= 18")
    as_text, as_small = with_age(pa.string()), with_age(pa.int32())
    history.log(DAY, [visit("a")])
    history.log(
        DAY,
        [visit("b", {"user.age": "30"}), visit("c", {"user.age": None})],
        schema=as_text,
        part=1,
    )
    history.log(DAY, [visit("d")], schema=as_small, part=2)
    done = run_one_day(spark, history, ages)
    assert done.input["visits"] == 4
    assert {row["wrong_values"] for row in history.table("daily_visits")} == {1}
    assert history.eligible() == {(10, "daily-herald"): 2}


def with_age(kind: pa.DataType) -> pa.Schema:
    place = LOG_SCHEMA.get_field_index("user.age")
    return LOG_SCHEMA.set(place, pa.field("user.age", kind))


def test_a_day_without_a_log_keeps_its_old_numbers(spark: SparkSession, history: History) -> None:
    history.log(DAY, [visit("a")])
    run_one_day(spark, history)
    (history.root / "visits" / f"dt={DAY}").rename(history.root / "gone")
    (snapshot,) = [path for path in history.root.iterdir() if len(path.name) == 32]
    done = run_job(spark, history.order(snapshot), eligibility.JOB)
    assert done.status == "no_log"
    assert history.eligible() == {(10, "daily-herald"): 1}


def test_flights_follow_the_time_of_the_visit(spark: SparkSession, history: History) -> None:
    flight = "time >= '2026-11-01T12:00:00Z' and time < '2026-11-01T13:00:00Z'"
    moments = [NOON - timedelta(milliseconds=1), NOON, NOON + timedelta(hours=1)]
    history.log(DAY, [visit(str(at), {"time": at}) for at in moments])
    run_one_day(spark, history, Entry(1, 10, "daily-herald", flight))
    assert history.eligible() == {(10, "daily-herald"): 1}


def start_job(history: History, snapshot: Path) -> subprocess.Popen[bytes]:
    order = history.order(snapshot)
    command = [sys.executable, "-m", "pipelines", "eligibility", "--end-with-stdin"]
    command += ["--date", str(order.day), "--master", order.master]
    for name in ("visits", "snapshot", "out"):
        command += [f"--{name}", str(getattr(order, name))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def test_a_killed_job_leaves_the_old_day_and_no_process(
    spark: SparkSession, history: History
) -> None:
    snapshot = history.snapshot()
    history.log(DAY, [visit("a")])
    run_job(spark, history.order(snapshot), eligibility.JOB)
    history.log(DAY, [visit("a"), visit("b")])
    process = start_job(history, snapshot)
    wait_for_run_beside(history.root / "reports" / "eligibility" / f"dt={DAY}")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert history.eligible() == {(10, "daily-herald"): 1}
    assert group_ends(process.pid, seconds=120)
    run_job(spark, history.order(snapshot), eligibility.JOB)
    assert history.eligible() == {(10, "daily-herald"): 2}
    runs = [
        path
        for path in (history.root / "reports" / "eligibility" / f"dt={DAY}").iterdir()
        if path.is_dir()
    ]
    assert len(runs) == 2, "this run, and the one before for who had begun to read"


def test_a_job_ends_with_the_process_that_started_it(history: History) -> None:
    process = start_job(history, history.snapshot())
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=200) == EXIT_ORPHANED


def wait_for_run_beside(folder: Path) -> None:
    """Waits until a second run writes its files."""
    deadline = time.monotonic() + 120
    while len([path for path in folder.iterdir() if path.is_dir()]) < 2:
        assert time.monotonic() < deadline, f"nothing new in {folder}"
        time.sleep(0.002)


def group_ends(group: int, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False

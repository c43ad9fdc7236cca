"""Sampled answers of a real service, given again from what it kept beside them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from exchange.serving.answer_log import AnswerLog
from exchange.serving.deltas import Delta, DeltaEntry, DeltaLogFolder
from exchange.serving.directory import Manifest, SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from pipelines import parity
from pipelines.day_input import DayOrder
from pipelines.day_jobs import JobDone, run_jobs
from targeting import Catalog
from tests.pipelines.answers import plant_mismatch
from tests.pipelines.history import History
from tests.serving.published import row, store

pytestmark = pytest.mark.spark
TYPES = {
    "publisher.id": "string",
    "time": "timestamp",
    "geo.country": "string",
    "device.ip": "ip",
    "user.id": "string",
    "user.age": "integer",
}
CATALOG = Catalog.of(**TYPES)
LOG_ID = "0123456789abcdef"
HERALD = "publisher.id = 'herald'"
EXPRESSIONS = {
    1: f"{HERALD} and geo.country = 'USA'",
    2: f"{HERALD} and user.age >= 18",
    3: f"{HERALD} and user.id = 'u-1'",
    4: f"{HERALD} and device.ip in network ('203.0.113.0/24')",
}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Keeps what two states answered, sampled; the exchange is gone since."""
    directory = SnapshotDirectory(tmp_path / "snapshots")
    now = datetime.now(UTC)
    snapshot_id = store(directory, EXPRESSIONS, catalog=CATALOG)
    directory.publish(
        Manifest(snapshot_id=snapshot_id, read_at=now, activated_at=now, delta=6, log_id=LOG_ID)
    )
    service = EligibilityService(directory.root)
    log = AnswerLog(tmp_path / "answers", every=1, salt=b"secret", directory=directory)
    service.keep_answers(log)
    ask(service, Random(1))
    changed = DeltaEntry(row(2), f"{HERALD} and user.age < 18")
    added = DeltaEntry(row(5), f"{HERALD} and user.id = 'u-2'")
    DeltaLogFolder(directory, LOG_ID).write(
        Delta(
            log_id=LOG_ID,
            number=7,
            position="",
            read_at=now,
            entries=(changed, added),
            dead=(1, 2),
        )
    )
    service.refresh()
    assert service.require_live().delta == 7
    ask(service, Random(2))
    log.flush(at_once=True)
    shutil.rmtree(directory.root)
    return tmp_path / "answers"


def ask(service: EligibilityService, random: Random) -> None:
    for _ in range(30):
        visit: dict[str, object] = {
            "geo.country": random.choice(["USA", "DEU"]),
            "user.age": random.choice([12, 30]),
            "user.id": random.choice(["u-1", "u-2"]),
            "device.ip": random.choice(["203.0.113.9", "198.51.100.7"]),
        }
        service.answer("herald", visit)


def give_again(spark: SparkSession, answers: Path) -> JobDone:
    history = History(answers.parent)
    (folder,) = answers.glob("dt=*")
    day = datetime.strptime(folder.name, "dt=%Y-%m-%d").replace(tzinfo=UTC).date()
    order = history.order(history.snapshot(), day, answers=str(answers))
    assert isinstance(order, DayOrder)
    (done,) = run_jobs(spark, order, [parity.JOB])
    return done


def tables(answers: Path, name: str) -> list[dict[str, object]]:
    (folder,) = answers.glob("dt=*")
    day = datetime.strptime(folder.name, "dt=%Y-%m-%d").replace(tzinfo=UTC).date()
    return History(answers.parent).table(name, day, "parity")


def test_answers_of_every_change_are_given_again(spark: SparkSession, answers: Path) -> None:
    done = give_again(spark, answers)
    assert (done.status, done.error) == ("done", "")
    states = {state["delta"]: state for state in tables(answers, "states")}
    assert {number: state["answers"] for number, state in states.items()} == {6: 30, 7: 30}
    assert not tables(answers, "mismatches")
    assert all(state["mismatches"] == state["not_kept"] == 0 for state in states.values())
    rows = [
        each for file in answers.glob("dt=*/*") for each in parquet.read_table(file).to_pylist()
    ]
    for number, masked in ((6, {3, 4}), (7, {3, 4, 5})):
        served = [each["booking_ids"] for each in rows if each["delta"] == number]
        left_out = sum(len(masked & set(ids)) for ids in served)
        assert states[number]["bookings_left_out"] == left_out > 0


def test_an_answer_that_differs_fails_the_day_and_is_shown(
    spark: SparkSession, answers: Path
) -> None:
    (file, *_) = answers.glob("dt=*/*.parquet")
    plant_mismatch(file)
    done = give_again(spark, answers)
    assert done.status == "failed"
    assert done.error.startswith("1 sampled answer differs from what is recomputed")
    (mismatch,) = tables(answers, "mismatches")
    assert mismatch["only_served"] == [77]


def test_an_answer_whose_change_was_not_kept_is_counted(spark: SparkSession, answers: Path) -> None:
    (record,) = answers.glob("_states/deltas/*/*.json")
    record.unlink()
    assert give_again(spark, answers).status == "done"
    states = {state["delta"]: state for state in tables(answers, "states")}
    assert (states[6]["answers"], states[6]["not_kept"]) == (30, 0)
    assert (states[7]["answers"], states[7]["not_kept"]) == (0, 30)


def test_without_sampled_answers_there_is_nothing_to_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = History(tmp_path)
    (done,) = run_jobs(spark, history.order(history.snapshot()), [parity.JOB])
    assert done.status == "no_log"

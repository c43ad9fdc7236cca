"""The sampled answer log: what is kept, what is masked, and what happens when it cannot be."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyarrow import parquet

from exchange.serving.answer_log import AnswerLog
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.serving.kept import Retention, remove_old_files
from targeting import Catalog
from tests.serving.published import publish

CATALOG = Catalog.of(
    **{
        "publisher.id": "string",
        "time": "timestamp",
        "geo.country": "string",
        "device.ip": "ip",
        "user.id": "string",
    }
)


@pytest.fixture
def service(tmp_path: Path) -> EligibilityService:
    publish(SnapshotDirectory(tmp_path / "snapshots"), {3: "true", 7: "true"}, catalog=CATALOG)
    return EligibilityService(tmp_path / "snapshots")


def rows_in(folder: Path) -> list[dict[str, object]]:
    files = sorted(folder.glob("dt=*/*.parquet"))
    return [row for file in files for row in parquet.read_table(file).to_pylist()]


def test_keeps_one_answer_in_n_without_addresses_and_names(
    service: EligibilityService, tmp_path: Path
) -> None:
    log = AnswerLog(tmp_path / "answers", every=10, salt=b"secret")
    service.keep_answers(log)
    visit = {"geo.country": "USA", "device.ip": "203.0.113.9", "user.id": "u-1", "user.mail": "x"}
    for _ in range(25):
        service.answer("herald", visit)
    log.flush()
    assert rows_in(tmp_path / "answers") == []
    log.flush(at_once=True)
    first, second = rows_in(tmp_path / "answers")
    live = service.require_live()
    assert (first["snapshot_id"], first["delta"]) == (live.manifest.snapshot_id, 0)
    assert first["booking_ids"] == [3, 7]
    kept = json.loads(str(first["visit"]))
    assert kept.keys() == {"geo.country", "user.id", "publisher.id", "time"}
    assert kept["publisher.id"] == "herald"
    assert kept["user.id"] != "u-1"
    assert kept["user.id"] == json.loads(str(second["visit"]))["user.id"]
    assert "203.0.113.9" not in str(first)


def test_another_key_hashes_otherwise(service: EligibilityService, tmp_path: Path) -> None:
    seen = set()
    for key in (b"one", b"two"):
        log = AnswerLog(tmp_path / key.decode(), every=1, salt=key)
        service.keep_answers(log)
        service.answer("herald", {"user.id": "u-1"})
        log.flush(at_once=True)
        (row,) = rows_in(tmp_path / key.decode())
        seen.add(json.loads(str(row["visit"]))["user.id"])
    assert len(seen) == 2


def test_what_does_not_fit_is_dropped_not_waited_for(
    service: EligibilityService, tmp_path: Path
) -> None:
    log = AnswerLog(tmp_path / "answers", every=1, salt=b"secret", most=5)
    service.keep_answers(log)
    for _ in range(9):
        service.answer("herald", {})
    log.flush(at_once=True)
    assert len(rows_in(tmp_path / "answers")) == 5


def test_full_or_missing_disk_costs_the_sample_never_an_answer(
    service: EligibilityService, tmp_path: Path
) -> None:
    (tmp_path / "answers").write_text("a file where the folder should be")
    log = AnswerLog(tmp_path / "answers", every=1, salt=b"secret")
    service.keep_answers(log)
    assert service.answer("herald", {}).count == 2
    log.flush(at_once=True)
    assert service.answer("herald", {}).count == 2


NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def leave_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(bytes(100))


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_are_removed_when_they_are_too_old(tmp_path: Path) -> None:
    leave_files(
        tmp_path,
        "dt=2026-11-01/2359-aa.parquet",
        "dt=2026-11-01/.2359-bb.parquet",
        "dt=2026-11-02/0000-cc.parquet",
        "dt=2026-11-16/1159-dd.parquet",
        "notes.txt",
    )
    assert remove_old_files([tmp_path], Retention(days=14), NOON) == 2
    assert [name for name in names_in(tmp_path) if "." in name] == [
        "dt=2026-11-02/0000-cc.parquet",
        "dt=2026-11-16/1159-dd.parquet",
        "notes.txt",
    ]
    assert not (tmp_path / "dt=2026-11-01").exists()


def test_the_oldest_are_removed_when_there_is_too_much(tmp_path: Path) -> None:
    leave_files(
        tmp_path,
        "dt=2026-11-15/0900-aa.parquet",
        "dt=2026-11-15/1000-bb.parquet",
        "dt=2026-11-16/0000-cc.parquet",
        "dt=2026-11-16/0100-dd.parquet",
    )
    assert remove_old_files([tmp_path], Retention(most_bytes=250), NOON) == 2
    assert [name for name in names_in(tmp_path) if name.endswith("parquet")] == [
        "dt=2026-11-16/0000-cc.parquet",
        "dt=2026-11-16/0100-dd.parquet",
    ]


def test_who_writes_also_removes(service: EligibilityService, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    leave_files(folder, "dt=2020-01-01/0000-aa.parquet")
    log = AnswerLog(folder, every=1, salt=b"secret")
    service.keep_answers(log)
    service.answer("herald", {})
    log.flush(at_once=True)
    assert not (folder / "dt=2020-01-01").exists()
    assert len(rows_in(folder)) == 1

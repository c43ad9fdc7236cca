"""Marks: a file that was checked is not checked again until it might be another."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from matcher_ext import Snapshot, SnapshotError
from matcher_ext.plan import Identity, Mark, checked_marks
from matcher_ext.plan.files import mark_path
from tests.matcher_ext.test_snapshot import VISIT, make_index

SETTLING_SECONDS = 0.12


@pytest.fixture(autouse=True)
def _other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begins each test as a process that has checked nothing yet."""
    forget(monkeypatch)


@pytest.fixture
def settled(tmp_path: Path) -> Path:
    """Saves a snapshot and waits until it is old enough for any change to show."""
    path = tmp_path / "index.atree"
    make_index().freeze().save(path)
    time.sleep(SETTLING_SECONDS)
    return path


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_marks, "_remembered", {})


def count_checks(monkeypatch: pytest.MonkeyPatch) -> list[Mark]:
    """Lists the marks that are kept from now on: one for each full check."""
    kept: list[Mark] = []
    keep = Mark.keep

    def keep_and_count(mark: Mark, files: list[int | Path]) -> None:
        kept.append(mark)
        keep(mark, files)

    monkeypatch.setattr(Mark, "keep", keep_and_count)
    return kept


def damage(path: Path, place: int = -100) -> None:
    """Alters one byte in the place where the file lies."""
    with path.open("r+b") as file:
        file.seek(place, os.SEEK_END)
        old = file.read(1)
        file.seek(place, os.SEEK_END)
        file.write(bytes([old[0] ^ 1]))


def test_a_file_is_checked_once_by_all_processes(
    settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = count_checks(monkeypatch)
    for _ in range(3):
        assert Snapshot.open(settled).match(VISIT) == make_index().match(VISIT)
        forget(monkeypatch)
    assert len(checks) == 1
    assert mark_path(settled).name == "index.atree.checked"


def test_a_file_is_checked_in_any_case_on_demand(
    settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = count_checks(monkeypatch)
    Snapshot.open(settled)
    Snapshot.open(settled, recheck=True)
    assert len(checks) == 2


def test_one_process_checks_once_where_nothing_can_be_written(
    settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, content: str) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(checked_marks, "write_mark", refuse)
    checks = count_checks(monkeypatch)
    Snapshot.open(settled)
    Snapshot.open(settled)
    assert len(checks) == 1
    assert [path.name for path in settled.parent.iterdir()] == ["index.atree"]


def test_an_altered_file_is_refused_although_it_was_checked_before(settled: Path) -> None:
    Snapshot.open(settled)
    damage(settled)
    with pytest.raises(SnapshotError, match="checksum"):
        Snapshot.open(settled)


def test_turning_back_the_time_of_the_change_does_not_help(settled: Path) -> None:
    Snapshot.open(settled)
    before = settled.stat()
    damage(settled)
    os.utime(settled, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SnapshotError, match="checksum"):
        Snapshot.open(settled)


def test_a_damaged_copy_with_the_mark_of_the_original_is_refused(
    settled: Path, tmp_path: Path
) -> None:
    Snapshot.open(settled)
    copy = tmp_path / "elsewhere" / settled.name
    copy.parent.mkdir()
    copy.write_bytes(settled.read_bytes())
    mark_path(copy).write_bytes(mark_path(settled).read_bytes())
    damage(copy)
    with pytest.raises(SnapshotError, match="checksum"):
        Snapshot.open(copy)


def test_a_file_that_may_still_change_unseen_is_not_marked(
    settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_marks, "FINE_TICK_NS", 3600 * 10**9)
    monkeypatch.setattr(checked_marks, "COARSE_TICK_NS", 3600 * 10**9)
    checks = count_checks(monkeypatch)
    Snapshot.open(settled)
    Snapshot.open(settled)
    assert len(checks) == 2
    assert not mark_path(settled).exists()


def test_a_file_with_a_time_in_whole_seconds_settles_later() -> None:
    now = time.time_ns()
    second = now // 1_000_000_000 * 1_000_000_000
    assert Identity(1, 2, 3, now, now - 200_000_001).is_settled()
    assert not Identity(1, 2, 3, now, now).is_settled()
    assert not Identity(1, 2, 3, now, now + 10**9).is_settled()
    assert not Identity(1, 2, 3, now, second).is_settled()
    assert Identity(1, 2, 3, now, second - 4_000_000_000).is_settled()


def test_a_mark_that_others_may_write_is_not_believed(
    settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Snapshot.open(settled)
    mark_path(settled).chmod(0o666)
    forget(monkeypatch)
    checks = count_checks(monkeypatch)
    Snapshot.open(settled)
    assert len(checks) == 1
    assert stat.S_IMODE(mark_path(settled).stat().st_mode) == 0o644


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b"null", b"[1]"])
def test_a_malformed_mark_is_replaced(
    settled: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    mark_path(settled).write_bytes(content)
    checks = count_checks(monkeypatch)
    Snapshot.open(settled)
    assert len(checks) == 1
    assert json.loads(mark_path(settled).read_bytes())["files"]


def test_a_mark_through_a_link_is_not_believed(settled: Path) -> None:
    Snapshot.open(settled)
    mark = mark_path(settled)
    moved = mark.rename(mark.with_name("moved"))
    mark.symlink_to(moved)
    assert checked_marks.read_mark(moved) is not None
    assert checked_marks.read_mark(mark) is None


def test_a_mark_of_other_checks_is_not_believed(
    settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Snapshot.open(settled)
    mark = json.loads(mark_path(settled).read_text())
    mark["fact"] = "0" + mark["fact"]
    mark_path(settled).write_text(json.dumps(mark))
    forget(monkeypatch)
    checks = count_checks(monkeypatch)
    Snapshot.open(settled)
    assert len(checks) == 1


def test_nothing_is_marked_that_changed_while_it_was_checked(settled: Path) -> None:
    mark = Mark(mark_path(settled), "fact", (Identity.of(settled),))
    damage(settled)
    mark.keep([settled])
    assert not mark.is_known()
    assert not mark_path(settled).exists()


def test_saving_anew_removes_the_mark_of_what_was_there(settled: Path) -> None:
    Snapshot.open(settled)
    assert mark_path(settled).exists()
    make_index().freeze().save(settled)
    assert not mark_path(settled).exists()


def test_a_process_remembers_only_so_many_files(tmp_path: Path) -> None:
    for number in range(checked_marks.MAX_REMEMBERED + 5):
        checked_marks._remember(Mark(tmp_path / "mark", str(number), ()))
    assert len(checked_marks._remembered) == checked_marks.MAX_REMEMBERED

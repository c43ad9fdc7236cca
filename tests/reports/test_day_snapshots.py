"""Which snapshot counts a day, and how long it is kept."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from exchange.reports.day_snapshots import keep_folder, make_orders, note_days, remove_unneeded
from exchange.reports.job import JobError
from exchange.reports.models import DaySnapshot
from exchange.serving.directory import SnapshotDirectory
from exchange.snapshots.models import SnapshotBuild
from tests.pipelines.history import Entry, History
from tests.reports.summaries import FIRST, SECOND

pytestmark = pytest.mark.django_db
THIRD = SECOND + timedelta(days=1)


@pytest.fixture
def directory(tmp_path: Path, settings: Settings) -> SnapshotDirectory:
    settings.SNAPSHOT_DIR = tmp_path / "snapshots"
    (tmp_path / "snapshots").mkdir()
    return SnapshotDirectory(tmp_path / "snapshots")


def build(directory: SnapshotDirectory, number: int, read_on: date) -> str:
    """Builds a snapshot that is live from then on; it was read an hour after that day began."""
    made = History(directory.root.parent).snapshot(
        [Entry(number, number, "daily-herald", f"user.age > {number}")]
    )
    made.rename(directory.folder(made.name))
    moment = datetime.combine(read_on, datetime.min.time(), UTC) + timedelta(hours=1)
    SnapshotBuild.objects.create(status="replaced", snapshot_id=made.name, read_at=moment)
    directory.write_manifest(snapshot_id=made.name, read_at=moment)
    return made.name


def test_a_day_is_counted_with_the_first_build_after_its_end(directory: SnapshotDirectory) -> None:
    build(directory, 1, FIRST)
    after_first = build(directory, 2, SECOND)
    after_second = build(directory, 3, THIRD)
    orders = list(make_orders(FIRST, THIRD))
    assert [(order.snapshot_folder.name, order.first_day, order.last_day) for order in orders] == [
        (after_first, FIRST, FIRST),
        (after_second, SECOND, THIRD),
    ], "the third has not ended with a build: what is live counts it"


def test_a_day_that_is_counted_again_has_its_snapshot_still(directory: SnapshotDirectory) -> None:
    first = build(directory, 1, SECOND)
    folder = keep_folder(FIRST)
    note_days([(FIRST, first)])
    build(directory, 2, SECOND - timedelta(days=10))
    shutil.rmtree(directory.folder(first))
    assert keep_folder(FIRST) == folder
    assert (folder / "index.atree").is_file()


def test_what_no_logged_day_needs_is_removed(directory: SnapshotDirectory) -> None:
    one, other = build(directory, 1, SECOND), build(directory, 2, THIRD)
    note_days((day, keep_folder(day).name) for day in (FIRST, SECOND))
    remove_unneeded([SECOND])
    kept = [folder.name for folder in (directory.root / "days").iterdir()]
    assert (one in kept, other in kept) == (False, True)
    assert DaySnapshot.objects.get(day=SECOND).snapshot_id == other


def test_without_a_snapshot_there_is_nothing_to_count_with(directory: SnapshotDirectory) -> None:
    with pytest.raises(JobError, match="no live snapshot"):
        keep_folder(FIRST)

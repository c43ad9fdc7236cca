"""Chooses the snapshot that counts a day: the market at its end, the same on every later run.

The first build that read the market after the day had ended is taken; while there is none, what is
live. It is kept as long as the log has a day that was counted with it, however many builds follow:

    SNAPSHOT_DIR/days/<snapshot_id>/    the same files once more, as hard links
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from pathlib import Path

from django.conf import settings

from exchange.reports.job import JobError, JobOrder
from exchange.reports.models import DaySnapshot
from exchange.serving.directory import INDEX_FILE, SnapshotDirectory
from exchange.snapshots.models import SnapshotBuild

DAYS_FOLDER = "days"
# Files that only one reader's machine makes, about files that it looked at.
MARKS = "*.checked"


def make_orders(first_day: date, last_day: date) -> Iterator[JobOrder]:
    """Makes one order of days in a row that are counted with one snapshot."""
    days = [first_day + timedelta(days=n) for n in range((last_day - first_day).days + 1)]
    for folder, group in groupby(days, key=keep_folder):
        found = list(group)
        yield JobOrder(folder, found[0], found[-1])


def keep_folder(day: date) -> Path:
    """Finds the folder of the day's snapshot and keeps it from now on."""
    noted = DaySnapshot.objects.filter(day=day).values_list("snapshot_id", flat=True).first()
    if noted is not None and (kept_folder(noted) / INDEX_FILE).is_file():
        return kept_folder(noted)
    return keep(choose_snapshot(day))


def choose_snapshot(day: date) -> str:
    directory = SnapshotDirectory(Path(settings.SNAPSHOT_DIR))
    end = datetime.combine(day + timedelta(days=1), time.min, UTC)
    builds = SnapshotBuild.objects.filter(read_at__gte=end).exclude(snapshot_id="")
    present = set(directory.snapshot_ids())
    for snapshot_id in builds.order_by("read_at").values_list("snapshot_id", flat=True):
        if snapshot_id in present:
            return snapshot_id
    manifest = directory.read_manifest()
    if manifest is None:
        raise JobError("There is no live snapshot to count with. Build one first, under Snapshots.")
    return manifest.snapshot_id


def kept_folder(snapshot_id: str) -> Path:
    return Path(settings.SNAPSHOT_DIR) / DAYS_FOLDER / snapshot_id


def keep(snapshot_id: str) -> Path:
    """Links the snapshot's files, whole or not at all: the folder is named when all are in it."""
    source = SnapshotDirectory(Path(settings.SNAPSHOT_DIR)).folder(snapshot_id)
    target = kept_folder(snapshot_id)
    if not (target / INDEX_FILE).is_file():
        aside = target.with_name(f".{snapshot_id}-{os.getpid()}")
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(source, aside, ignore=shutil.ignore_patterns(MARKS), copy_function=os.link)
        shutil.rmtree(target, ignore_errors=True)
        aside.rename(target)
    return target


def note_days(days: Iterable[tuple[date, str]]) -> None:
    """Notes what each day was counted with."""
    for day, snapshot_id in days:
        builds = SnapshotBuild.objects.filter(snapshot_id=snapshot_id, read_at__isnull=False)
        read_at = builds.order_by("read_at").values_list("read_at", flat=True).first()
        DaySnapshot.objects.update_or_create(
            day=day, defaults={"snapshot_id": snapshot_id, "read_at": read_at}
        )


def remove_unneeded(logged_days: Iterable[date]) -> None:
    """Removes what no logged day needs: other days cannot be counted again."""
    needed = set(
        DaySnapshot.objects.filter(day__in=list(logged_days)).values_list("snapshot_id", flat=True)
    )
    for folder in (Path(settings.SNAPSHOT_DIR) / DAYS_FOLDER).glob("*"):
        if folder.name not in needed:
            shutil.rmtree(folder, ignore_errors=True)

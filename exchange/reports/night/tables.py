"""Finds which nights of a job were committed, and reads rows of their tables piece by piece.

A table may have millions of rows: nothing here holds more than a piece of it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

import pyarrow as pa
import pyarrow.dataset as ds
from django.conf import settings

from exchange.reports.night.mapped import open_mapped, path_of
from targeting.places import open_place
from targeting.report_tables import Manifest, day_folder, list_days, read_manifest

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 20  # for a newer night: the tables may lie far away
NIGHTS_OFFERED = 35


@dataclass(frozen=True, slots=True)
class Night:
    """One committed day of a job. `run` tells this commit from the one that it replaced."""

    job: str
    day: date
    run: str
    tables: dict[str, tuple[str, ...]]
    rows: dict[str, int]
    finished_at: datetime | None
    snapshot_id: str
    seconds: float

    @classmethod
    def of(cls, job: str, day: date, manifest: Manifest) -> Night:
        tables, finished = manifest["tables"], manifest.get("finished_at")
        return cls(
            job=job,
            day=day,
            run=str(manifest.get("run", "")),
            tables={name: tuple(each["files"]) for name, each in tables.items()},
            rows={name: each.get("rows", 0) for name, each in tables.items()},
            finished_at=datetime.fromisoformat(finished) if finished else None,
            snapshot_id=manifest.get("snapshot_id", ""),
            seconds=manifest.get("seconds", 0.0),
        )


def list_nights(job: str) -> list[date]:
    """Lists days that have a folder, newest first; one whose only run was killed has no commit."""
    return look_for_days(out_folder(), job, int(time.monotonic() // LOOK_EVERY_SECONDS))


def out_folder() -> str:
    return str(settings.REPORT_DIR)


@lru_cache(maxsize=64)
def look_for_days(out: str, job: str, moment: int) -> list[date]:  # noqa: ARG001, a later look
    try:
        return sorted(list_days(out, job), reverse=True)[:NIGHTS_OFFERED]
    except (OSError, ValueError) as error:
        logger.warning("No nights of %s from %s: %s", job, out, error)
        return []


def find_night(job: str, day: date | None = None, *, table: str = "") -> Night | None:
    """Finds the day's commit, or the newest one if no day is named. One from before the job wrote
    the table has not counted it."""
    for each in [day] if day is not None else list_nights(job):
        night = read_night(job, each)
        if night is not None and (not table or table in night.tables):
            return night
    return None


def read_night(job: str, day: date) -> Night | None:
    try:
        manifest = read_manifest(out_folder(), job, day)
        return None if manifest is None else Night.of(job, day, manifest)
    except (OSError, ValueError, KeyError) as error:
        logger.warning("Nothing of %s, %s: %s", job, day, error)
        return None


def read_batches(
    night: Night, table: str, rows: ds.Expression | None, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Reads those rows of the table that the expression is true of."""
    found = open_table(night, table)
    if found is None:
        return
    chosen = None if columns is None else [name for name in columns if name in found.schema.names]
    yield from found.scanner(columns=chosen, filter=rows).to_batches()


def read_schema(night: Night, table: str) -> pa.Schema:
    found = open_table(night, table)
    return pa.schema([]) if found is None else found.schema


def open_table(night: Night, table: str) -> ds.Dataset | None:
    """Opens a table of a night; gives None if the job wrote no row, or no such table."""
    place, names = name_files(night, table)
    if not names:
        return None
    return open_mapped(path_of(place, names)) or open_files(place, names)


def name_files(night: Night, table: str) -> tuple[str, tuple[str, ...]]:
    """Gives the folder of the night, and the names of the table's files in it."""
    return day_folder(out_folder(), night.job, night.day), night.tables.get(table, ())


@lru_cache(maxsize=64)
def open_files(place: str, names: tuple[str, ...]) -> ds.Dataset:
    """Opens files once and keeps them: each run has a folder of its own, so what has these names
    does not change."""
    files, folder = open_place(place)
    paths = [f"{folder}/{name}" for name in names]
    return ds.dataset(paths, filesystem=files, format="parquet", partitioning=None)

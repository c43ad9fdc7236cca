"""The newest night's sample of visits as one compiled table, to be asked while people write.

    REPORT_DIR/sample_tables/<key>/visits.table   the table, mapped by every process
    REPORT_DIR/sample_tables/<key>/rows.npz       of each row: weight, person, publisher, day

The key is the night's manifest and the catalogue: either change makes another one. Whoever asks
first makes it, under a lock, aside, and renames it; the worker does so after each night.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings
from numpy.typing import NDArray

from exchange.market.catalog import load_catalog
from matcher_ext import VisitTable
from targeting import Catalog
from targeting.report_tables import Manifest, list_days, read_manifest, read_table
from targeting.visit_log import PUBLISHER, SALT, USER, USER_BEFORE, VISIT_ID, LogColumns

logger = logging.getLogger(__name__)

JOB, TABLE = "sample", "visits"
SAMPLE_WEIGHT, LOGGED_ON = "sample_weight", "logged_on"
TABLE_FILE, ROWS_FILE, LOCK_FILE = "visits.table", "rows.npz", "lock"
LOOK_EVERY_SECONDS = 60  # for a newer night: the tables may lie far away
DAYS_TRIED = 3  # the newest folder may hold what a killed run left
EPOCH = date(1970, 1, 1).toordinal()
KEPT = 2  # the newest, and the one that somebody may be about to open

Found = tuple[date, str]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A table, and what it does not say of its rows, in the order of what it was made from.
    `people` are numbers of who was drawn: a user, or a visit without one. `users` are those of
    the day's users, -1 without; `publishers` are places in `publisher_ids`. The `night` drew it."""

    table: VisitTable
    weights: NDArray[np.float64]
    people: NDArray[np.int64]
    users: NDArray[np.int64]
    publishers: NDArray[np.int64]
    days: NDArray[np.int64]
    publisher_ids: tuple[str, ...]
    required: tuple[str, ...]
    first_day: date
    last_day: date
    day_count: int
    night: date

    def __len__(self) -> int:
        return len(self.weights)


def open_sample() -> Sample | None:
    """Opens the newest one; None if no night was counted yet, or its table cannot be read."""
    out = str(settings.REPORT_DIR)
    found = find_newest(out, int(time.monotonic() // LOOK_EVERY_SECONDS))
    if found is None:
        return None
    catalog = load_catalog()
    try:
        return open_kept(table_folder(), key_of(found[1], catalog), found[0], catalog)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        logger.warning("No sample of visits from %s: %s", out, error)
        return None


def prepare_sample() -> None:
    """Makes the table of a night that was just counted, before somebody waits for it."""
    find_newest.cache_clear()
    open_sample()


@lru_cache(maxsize=1)
def find_newest(out: str, minute: int) -> Found | None:  # noqa: ARG001, a later look
    """Finds the newest night that has visits, with what tells it from others."""
    try:
        for day in sorted(list_days(out, JOB), reverse=True)[:DAYS_TRIED]:
            manifest = read_manifest(out, JOB, day)
            if manifest is not None and manifest["tables"][TABLE]["files"]:
                return day, stamp_of(out, day, manifest)
    except (OSError, ValueError, KeyError) as error:
        logger.warning("No sample of visits from %s: %s", out, error)
    return None


def stamp_of(out: str, day: date, manifest: Manifest) -> str:
    said = json.dumps([out, str(day), manifest["tables"][TABLE]["files"]])
    return hashlib.sha256(said.encode()).hexdigest()


def key_of(stamp: str, catalog: Catalog) -> str:
    rows = sorted((each.name, str(each.type), each.required) for each in catalog)
    return hashlib.sha256(json.dumps([stamp, rows]).encode()).hexdigest()[:32]


def table_folder() -> Path:
    """On this machine, also where the tables of jobs lie elsewhere."""
    place = settings.REPORT_DIR
    return (place if isinstance(place, Path) else settings.VAR_DIR) / "sample_tables"


_opening = threading.Lock()
_kept: dict[Path, Sample] = {}


def open_kept(folder: Path, key: str, day: date, catalog: Catalog) -> Sample | None:
    """Opens a table once per process; a newer one takes its place."""
    with _opening:
        where = folder / key
        if where not in _kept:
            if not make_table(folder, key, day, catalog):
                return None
            _kept.clear()
            _kept[where] = read_made(where, catalog, day)
        return _kept[where]


def make_table(folder: Path, key: str, day: date, catalog: Catalog) -> bool:
    """Makes it unless it is there; says whether there are visits to make it of."""
    if (folder / key).exists():
        return True
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / LOCK_FILE):
        if (folder / key).exists():
            return True
        visits = read_table(str(settings.REPORT_DIR), JOB, TABLE, day)
        if visits is None or not visits.num_rows:
            return False
        aside = Path(tempfile.mkdtemp(prefix="making-", dir=folder))
        try:
            write_table(aside, visits, catalog)
            aside.rename(folder / key)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        remove_older(folder)
    return True


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Holds a lock over all processes of this machine; one that is killed lets go."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def remove_older(folder: Path) -> None:
    """Whoever has one of them open keeps its mapping."""
    made = [each for each in folder.iterdir() if each.is_dir()]
    for old in sorted(made, key=lambda each: each.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def write_table(folder: Path, visits: pa.Table, catalog: Catalog) -> None:
    schema = LogColumns.of((each.name, each.type) for each in catalog).schema
    # A column that has another type by now says nothing about the attribute.
    names = [
        each.name
        for each in catalog
        if each.name in visits.column_names
        and each.name in schema.names
        and visits.schema.field(each.name).type == schema.field(each.name).type
    ]
    chosen = visits.select(names).combine_chunks()
    table = VisitTable.from_arrow(chosen.to_batches(), catalog, by=PUBLISHER)
    table.save(folder / TABLE_FILE)
    publishers = pc.dictionary_encode(visits[PUBLISHER].combine_chunks())
    days = visits[LOGGED_ON].combine_chunks().cast(pa.int32())
    np.savez(
        folder / ROWS_FILE,
        weights=np.asarray(visits[SAMPLE_WEIGHT], dtype=np.float64),
        people=number(find_people(visits)),
        users=number(visits[USER]) if USER in visits.column_names else without(visits),
        publishers=np.asarray(publishers.indices, dtype=np.int64),
        publisher_ids=np.array(publishers.dictionary.to_pylist(), dtype=np.str_),
        days=np.asarray(days, dtype=np.int64),
    )


def find_people(visits: pa.Table) -> pa.ChunkedArray:
    """Names who was drawn, as the job that drew them does: under one salt for all days."""
    names = visits.column_names
    if USER not in names:
        return visits[VISIT_ID]
    user = visits[USER]
    if SALT in names and USER_BEFORE in names:
        oldest = pc.min(visits[SALT])
        is_oldest = pc.fill_null(pc.equal(visits[SALT], oldest), True)
        user = pc.if_else(is_oldest, user, visits[USER_BEFORE])
    return pc.coalesce(user, visits[VISIT_ID])


def number(texts: pa.ChunkedArray) -> NDArray[np.int64]:
    """Numbers texts; none is -1."""
    coded = pc.dictionary_encode(texts.combine_chunks())
    return np.asarray(pc.fill_null(coded.indices, -1), dtype=np.int64)


def without(visits: pa.Table) -> NDArray[np.int64]:
    return np.full(visits.num_rows, -1, dtype=np.int64)


def read_made(folder: Path, catalog: Catalog, night: date) -> Sample:
    rows = np.load(folder / ROWS_FILE)
    days = rows["days"]
    first, last = (date.fromordinal(EPOCH + int(day)) for day in (days.min(), days.max()))
    return Sample(
        table=VisitTable.open(folder / TABLE_FILE, catalog=catalog),
        weights=rows["weights"],
        people=rows["people"],
        users=rows["users"],
        publishers=rows["publishers"],
        days=days,
        publisher_ids=tuple(rows["publisher_ids"].tolist()),
        required=tuple(each.name for each in catalog if each.required),
        first_day=first,
        last_day=last,
        day_count=len(np.unique(days)),
        night=night,
    )

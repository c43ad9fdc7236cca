"""Keeps some of a server's requests until its watching thread writes them down.

A request pays for a choice and, if it is chosen, for an append; reading, encoding and writing are
the watching thread's. Memory is bounded: what does not fit is dropped and counted; so is the disk:
who writes also removes what is too old or too much.

    dt=2026-11-16/0512-<random>.parquet       one file per process and minute
"""

from __future__ import annotations

import atexit
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from prometheus_client import Counter

from exchange.serving.live import LiveSnapshot
from exchange.serving.openrtb import read_impressions
from exchange.serving.requests import request_decoder
from exchange.serving.visits import flatten, stamp_milliseconds
from matcher_ext.serving import Integers

if TYPE_CHECKING:
    from matcher_ext.serving.fast_endpoint import Kept as KeptRequest

logger = logging.getLogger(__name__)

MINUTE_SECONDS = 60.0
HOUR_SECONDS = 3600.0
MOST_KEPT = 5_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long files are kept, and how much of them."""

    days: int = 14
    most_bytes: int = 5_000_000_000


class Kept(NamedTuple):
    """An answered request. Refers to what was answered: states are immutable, and nobody changes a
    visit after its answer. The compiled way leaves a request's bytes, which are read when they are
    written down."""

    live: LiveSnapshot
    visit: Mapping[str, object] | KeptRequest
    booking_ids: Integers | None

    def read_visit(self) -> Mapping[str, object]:
        (visit,) = read_visits([self])
        return visit


def read_visits(kept: Iterable[Kept]) -> Iterator[Mapping[str, object]]:
    """Yields each visit as it was asked. A bid request is read once for all of its imps, which
    follow each other."""
    read: tuple[LiveSnapshot, bytes] | None = None
    visits: list[dict[str, object]] = []
    for live, visit, _ in kept:
        if isinstance(visit, Mapping):
            yield visit
            continue
        body, imp, publisher, moment, *_ = visit
        if read is None or live is not read[0] or body is not read[1]:
            read, visits = (live, body), read_request(live, body)
        flat = dict(visits[imp or 0])
        stamp_milliseconds(flat, publisher, moment)
        yield flat


def read_request(live: LiveSnapshot, body: bytes) -> list[dict[str, object]]:
    request = request_decoder.decode(body)
    if request.visit is not None:
        return [flatten(request.visit, live.attributes)]
    imps = read_impressions(request.bid_request or {}, live.opened.sources)
    return [imp.visit for imp in imps]


class KeptLog(ABC):
    """Thread-safe: requests add, one watching thread flushes. Never raises into a request."""

    name: str  # in what is said of trouble
    compression = "snappy"

    def __init__(
        self, folders: Sequence[Path], *, most: int, retention: Retention, dropped: Counter
    ) -> None:
        """Makes a log that writes into the first of the folders, and bounds all of them."""
        self._folders = tuple(folders)
        self._retention = retention
        self._dropped = dropped
        self._most = most
        self._kept: deque[Kept] = deque()
        self._due_at = time.monotonic() + MINUTE_SECONDS
        self._cleaning_due_at = 0.0
        self._is_troubled = False
        atexit.register(self.flush, at_once=True)

    def add(
        self,
        live: LiveSnapshot,
        visit: Mapping[str, object] | KeptRequest,
        booking_ids: Integers | None = None,
    ) -> None:
        if len(self._kept) < self._most:
            self._kept.append(Kept(live, visit, booking_ids))
        else:
            self._dropped.inc()

    def flush(self, *, at_once: bool = False) -> None:
        """Writes once a minute, or when half of what may be kept is there."""
        is_due = at_once or time.monotonic() >= self._due_at or len(self._kept) > self._most // 2
        if not is_due:
            return
        self._due_at = time.monotonic() + MINUTE_SECONDS
        kept = [self._kept.popleft() for _ in range(len(self._kept))]
        if kept:
            self._write(kept)

    @abstractmethod
    def _make_tables(self, kept: list[Kept]) -> Iterator[tuple[date, pa.Table]]:
        """Yields each table with the day whose folder it belongs to."""

    def _write(self, kept: list[Kept]) -> None:
        try:
            for day, table in self._make_tables(kept):
                write_file(self._folders[0], day, table, self.compression)
            self._clean()
            self._is_troubled = False
        except (OSError, pa.ArrowException) as error:
            self._dropped.inc(len(kept))
            if not self._is_troubled:
                logger.warning("The %s cannot be written: %s", self.name, error)
            self._is_troubled = True

    def _clean(self) -> None:
        """Removes old files at the first write after a start, and then every hour."""
        if time.monotonic() >= self._cleaning_due_at:
            self._cleaning_due_at = time.monotonic() + HOUR_SECONDS
            remove_old_files(self._folders, self._retention, datetime.now(UTC))


def write_file(folder: Path, day: date, table: pa.Table, compression: str) -> None:
    """Writes the file whole or not at all. It is begun outside the day's folder, because who
    compacts a day takes its folder away while we write."""
    # Imported late: it takes a second, and most processes that import us write nothing.
    from pyarrow import parquet

    name = f"{datetime.now(UTC):%H%M}-{secrets.token_hex(6)}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{day}-{name}"
    try:
        parquet.write_table(table, aside, compression=compression)
        move_into_day(aside, folder / f"dt={day}" / name)
    finally:
        aside.unlink(missing_ok=True)


def move_into_day(aside: Path, path: Path) -> None:
    for _ in range(3):
        path.parent.mkdir(exist_ok=True)
        try:
            aside.rename(path)
        except FileNotFoundError:
            continue
        return
    raise FileNotFoundError(f"{path.parent} does not stay")


def remove_old_files(folders: Sequence[Path], retention: Retention, now: datetime) -> int:
    """Removes the oldest files first and returns how many. Other processes may do the same
    meanwhile."""
    first_day = f"dt={now - timedelta(days=retention.days):%Y-%m-%d}"
    kept_bytes = removed = 0
    # Folders and files are named by their time, so names sort as they were written.
    paths = [path for folder in folders for path in folder.glob("dt=*/*.parquet")]
    for path in sorted(paths, key=age_order, reverse=True):
        try:
            kept_bytes += path.stat().st_size
            if path.parent.name < first_day or kept_bytes > retention.most_bytes:
                path.unlink()
                removed += 1
        except FileNotFoundError:
            continue
    for folder in folders:
        remove_left_asides(folder, now)
        for day in folder.glob("dt=*"):
            if day.name < first_day and not any(day.iterdir()):
                day.rmdir()
    return removed


def age_order(path: Path) -> tuple[str, str]:
    return path.parent.name, path.name.lstrip(".")


def remove_left_asides(folder: Path, now: datetime) -> None:
    """Removes what processes left that were killed while they wrote."""
    for path in folder.glob(".*.parquet"):
        try:
            if path.stat().st_mtime < now.timestamp() - HOUR_SECONDS:
                path.unlink()
        except FileNotFoundError:
            continue

"""A sample of the answers that were given, for the parity report: one in N, as Parquet.

    dt=2026-11-16/0512-<random>.parquet       one file per process and minute

A request pays for a number and, if it is the one of N, for an append; encoding and writing are the
watching thread's. Memory is bounded: what does not fit is dropped and counted; so is the disk: who
writes also removes what is too old or too much. Internet addresses and what is not in the catalogue
are left out, user ids are hashed with a salt that is the log's own.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import secrets
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy
import pyarrow as pa

from exchange.serving.instruments import ANSWERS_DROPPED
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
USER_ID = "user.id"
SCHEMA = pa.schema(
    [
        pa.field("at", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("snapshot_id", pa.string(), nullable=False),
        pa.field("delta", pa.int64(), nullable=False),
        pa.field("visit", pa.string(), nullable=False),
        pa.field("booking_ids", pa.list_(pa.int64()), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long files are kept, and how much of them."""

    days: int = 14
    most_bytes: int = 5_000_000_000


class Kept(NamedTuple):
    """By reference: states are immutable, and nobody changes a visit after its answer. The compiled
    way leaves a request's bytes, which are read when they are written down."""

    live: LiveSnapshot
    visit: Mapping[str, object] | KeptRequest
    booking_ids: Integers

    def read_visit(self) -> Mapping[str, object]:
        if isinstance(self.visit, Mapping):
            return self.visit
        body, imp, publisher, moment, _ = self.visit
        request = request_decoder.decode(body)
        if imp is None:
            flat = flatten(request.visit or {}, self.live.attributes)
        else:
            sources = self.live.opened.sources
            flat = read_impressions(request.bid_request or {}, sources)[imp].visit
        stamp_milliseconds(flat, publisher, moment)
        return flat


class AnswerLog:
    """Thread-safe: requests add, one watching thread flushes. Never raises into a request."""

    def __init__(
        self,
        folder: Path,
        *,
        every: int,
        salt: bytes,
        most: int = MOST_KEPT,
        retention: Retention | None = None,
    ) -> None:
        self._folder = folder
        self._retention = retention or Retention()
        self._cleaning_due_at = 0.0
        self.every = every
        self._hash_key = hashlib.blake2b(salt, digest_size=32).digest()
        self._most = most
        self._numbers = count(1)
        self._kept: deque[Kept] = deque()
        self._due_at = time.monotonic() + MINUTE_SECONDS
        self._is_troubled = False
        atexit.register(self.flush, at_once=True)

    def is_due(self) -> bool:
        return next(self._numbers) % self.every == 0

    def add(
        self, live: LiveSnapshot, visit: Mapping[str, object] | KeptRequest, booking_ids: Integers
    ) -> None:
        if len(self._kept) < self._most:
            self._kept.append(Kept(live, visit, booking_ids))
        else:
            ANSWERS_DROPPED.inc()

    def flush(self, *, at_once: bool = False) -> None:
        """Writes once a minute, or when half of what may be kept is there."""
        is_due = at_once or time.monotonic() >= self._due_at or len(self._kept) > self._most // 2
        if not is_due:
            return
        self._due_at = time.monotonic() + MINUTE_SECONDS
        kept = [self._kept.popleft() for _ in range(len(self._kept))]
        if kept:
            self._write(kept)

    def _write(self, kept: list[Kept]) -> None:
        try:
            self._write_file(self._make_table(kept))
            self._clean()
            self._is_troubled = False
        except (OSError, pa.ArrowException) as error:
            ANSWERS_DROPPED.inc(len(kept))
            if not self._is_troubled:
                logger.warning("The sampled answers cannot be written: %s", error)
            self._is_troubled = True

    def _write_file(self, table: pa.Table) -> None:
        # Not at the start: it takes a second, and most processes that import us write nothing.
        from pyarrow import parquet

        now = datetime.now(UTC)
        folder = self._folder / f"dt={now:%Y-%m-%d}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{now:%H%M}-{secrets.token_hex(6)}.parquet"
        aside = path.with_name(f".{path.name}")
        parquet.write_table(table, aside)
        aside.rename(path)

    def _clean(self) -> None:
        """Every hour, and at the first write after a start."""
        if time.monotonic() >= self._cleaning_due_at:
            self._cleaning_due_at = time.monotonic() + HOUR_SECONDS
            remove_old_files(self._folder, self._retention, datetime.now(UTC))

    def _make_table(self, kept: list[Kept]) -> pa.Table:
        """By columns, and bookings as the arrays that they are: a list of numbers for each would
        hold the interpreter for half a second, and every request with it."""
        visits = [each.read_visit() for each in kept]
        ends = numpy.cumsum([0, *(len(each.booking_ids) for each in kept)])
        booking_ids = numpy.concatenate([numpy.sort(each.booking_ids) for each in kept])
        return pa.Table.from_arrays(
            [
                pa.array([visit["time"] for visit in visits], SCHEMA.field("at").type),
                pa.array([each.live.manifest.snapshot_id for each in kept]),
                pa.array([each.live.delta for each in kept]),
                pa.array([self._encode(*each) for each in zip(kept, visits, strict=True)]),
                pa.ListArray.from_arrays(ends.astype(numpy.int32), booking_ids),
            ],
            names=SCHEMA.names,
        ).cast(SCHEMA)

    def _encode(self, kept: Kept, visit: Mapping[str, object]) -> str:
        types = {row[0]: row[1] for row in kept.live.index.snapshot.catalog_rows}
        return msgspec.json.encode(self._mask(visit, types)).decode()

    def _mask(self, whole: Mapping[str, object], types: Mapping[str, str]) -> dict[str, object]:
        visit = {
            name: value for name, value in whole.items() if name in types and types[name] != "ip"
        }
        if USER_ID in visit:
            visit[USER_ID] = self._hash(str(visit[USER_ID]))
        return visit

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), key=self._hash_key, digest_size=16).hexdigest()


def remove_old_files(folder: Path, retention: Retention, now: datetime) -> int:
    """The oldest go first; says how many. Other processes may do the same meanwhile."""
    first_day = f"dt={now - timedelta(days=retention.days):%Y-%m-%d}"
    kept_bytes = removed = 0
    # Folders and files are named by their time, so names sort as they were written.
    for path in sorted(folder.glob("dt=*/*.parquet"), key=age_order, reverse=True):
        try:
            kept_bytes += path.stat().st_size
            if path.parent.name < first_day or kept_bytes > retention.most_bytes:
                path.unlink()
                removed += 1
        except FileNotFoundError:
            continue
    for day in folder.glob("dt=*"):
        if day.name < first_day and not any(day.iterdir()):
            day.rmdir()
    return removed


def age_order(path: Path) -> tuple[str, str]:
    """A file that a killed process left half written has its name with a dot before it."""
    return path.parent.name, path.name.lstrip(".")

"""Reads and writes the delta log beside a snapshot: numbered records of what changed since it was
built.

    deltas/<log_id>/<number>.json      a line with the checksum of the rest, then one record

A record brings every server from the state before to one later state of the market, whole; it is
renamed into place and never changed. Numbers are never used again, also not by the next log.
Plain Python: it knows neither Django nor what the index means.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from exchange.serving.bookings import BookingRow
from exchange.serving.directory import (
    DirectoryError,
    FormattedDocument,
    Manifest,
    SnapshotDirectory,
    decode,
    write_aside,
)

DELTAS_FOLDER = "deltas"
LOG_ID = re.compile(r"[0-9a-f]{16}")


class DeltaEntry(msgspec.Struct, frozen=True, gc=False):
    """A booking as it is now: what the index holds, and what answers say."""

    row: BookingRow
    text: str


class RouteRecord(msgspec.Struct, frozen=True):
    """The exchange graph as the index takes it: names and labels by party, links as (edge id,
    seller, buyer, what the fee leaves of 10,000)."""

    names: dict[int, str]
    links: list[tuple[int, int, int, int]]
    labels: dict[int, str]
    publishers: list[int]


class Delta(FormattedDocument, frozen=True, kw_only=True):
    """One record. `position` is the database snapshot that holds everything up to here; `routes`
    the whole graph, if it changed; `lent` are definitions that entries use and the snapshot has in
    the same form; `deferred` counts bookings whose change waits for the next build."""

    log_id: str
    number: int
    position: str
    read_at: datetime
    definitions: dict[str, str] = {}
    entries: tuple[DeltaEntry, ...] = ()
    dead: tuple[int, ...] = ()
    routes: RouteRecord | None = None
    lent: dict[str, str] = {}
    deferred: int = 0


class DeltaLogFolder:
    """The records of one log. One writer at a time, which the caller sees to; any readers."""

    def __init__(self, directory: SnapshotDirectory, log_id: str) -> None:
        if not LOG_ID.fullmatch(log_id):
            raise DirectoryError(f"{log_id!r} is not the id of a delta log")
        self.log_id = log_id
        self.folder = directory.root / DELTAS_FOLDER / log_id

    @classmethod
    def of(cls, directory: SnapshotDirectory, manifest: Manifest) -> DeltaLogFolder | None:
        """Finds the log of a live snapshot; None where nothing changes beside it."""
        return cls(directory, manifest.log_id) if manifest.log_id else None

    def path(self, number: int) -> Path:
        return self.folder / f"{number:012}.json"

    def last_number(self) -> int:
        """Returns the highest number of a file that lies there, readable or not; 0 if none does."""
        return max((int(path.stem) for path in self.folder.glob("[0-9]*.json")), default=0)

    def write(self, delta: Delta) -> None:
        content = msgspec.json.encode(delta)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_aside(self.path(delta.number), checksum(content) + b"\n" + content)

    def read(self, number: int) -> Delta | None:
        """Reads a record; None while it is not written. Raises DirectoryError if damaged."""
        try:
            content = self.path(number).read_bytes()
        except FileNotFoundError:
            return None
        return self.decode(number, content)

    def receive(self, number: int, content: bytes) -> None:
        """Takes over a record that another machine wrote; raises DirectoryError likewise."""
        self.decode(number, content)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_aside(self.path(number), content)

    def decode(self, number: int, record: bytes) -> Delta:
        path = self.path(number)
        found, _, content = record.partition(b"\n")
        if found != checksum(content):
            raise DirectoryError(f"{path} is damaged: its checksum is wrong")
        delta = decode(path, content, Delta)
        if (delta.log_id, delta.number) != (self.log_id, number):
            raise DirectoryError(f"{path} is delta {delta.number} of another place")
        return delta

    def read_after(self, number: int) -> Iterator[Delta]:
        """Yields what follows, in order; raises DirectoryError if one is missing before another."""
        while (delta := self.read(number + 1)) is not None:
            yield delta
            number = delta.number
        # Looks twice at the next one: both may have come since it was not there.
        if self.path(number + 2).exists() and not self.path(number + 1).exists():
            raise DirectoryError(f"{self.path(number + 1)} is missing")


def checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def remove_old_logs(directory: SnapshotDirectory, *, keep: str) -> None:
    """Removes all logs but one. A server that reads one goes on: open files outlive their names."""
    for folder in (directory.root / DELTAS_FOLDER).glob("*"):
        if folder.name != keep:
            shutil.rmtree(folder, ignore_errors=True)

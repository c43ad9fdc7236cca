"""Keeps what was stopped since the snapshots that the directory still holds: `stops.json`.

    a line with the checksum of the rest, then one document: the manifest, the snapshots that may be
    gone back to, and what was touched since, by the number of the record that touched it

Always written before what it speaks of: before a record gets its name, before a manifest does. So a
server that cannot load its live state may take an older one and lay this over it, and nothing that
was paused, retired or closed since is ever answered again. Without this file it must not.

A booking that was touched is left out, whether it ended or changed: neither its old targeting nor
its new one is at hand. A definition comes with its text, so an edge is as open as it is now.
Plain Python: it knows neither Django nor what the index means.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from exchange.serving.deltas import Delta, checksum
from exchange.serving.directory import (
    DirectoryError,
    FormattedDocument,
    Manifest,
    SnapshotDirectory,
    decode,
    write_aside,
)
from matcher_ext.serving import Integers

STOPS_FILE = "stops.json"
MOST_GROUPS = 256
MOST_TEXT = 10_000  # characters of a definition; an audience or a list with more stays as it was
EDGE_PREFIX = "edge."
CLOSED = "false"
NONE = np.empty(0, np.int64)


class KeptSnapshot(msgspec.Struct, frozen=True):
    """A snapshot that may be served as built: whatever changed since has a number above `floor`."""

    snapshot_id: str
    read_at: datetime
    floor: int


class Stops(FormattedDocument, frozen=True, kw_only=True):
    """What was stopped. `number` is that of the last record of the manifest's log, there already or
    about to be; `position` the database snapshot up to which it is complete. `touched` are booking
    ids, packed, by number; `definitions` have a number and a text each, the oldest first."""

    number: int
    position: str
    manifest: Manifest
    snapshots: tuple[KeptSnapshot, ...] = ()
    touched: dict[int, bytes] = {}
    definitions: dict[str, tuple[int, str]] = {}

    def bookings_after(self, number: int) -> list[int]:
        """Returns the bookings that were touched later than that, ascending."""
        found = unite(packed for at, packed in self.touched.items() if at > number)
        ids: list[int] = found.tolist()
        return ids

    def definitions_after(self, number: int) -> dict[str, str]:
        found = self.definitions.items()
        return {name: text for name, (at, text) in found if at > number}

    def floor_of(self, snapshot_id: str) -> int | None:
        """Finds a snapshot's floor; None: nobody knows what was stopped since it was built."""
        return next(
            (kept.floor for kept in self.snapshots if kept.snapshot_id == snapshot_id), None
        )

    def with_touched(
        self, number: int, booking_ids: Iterable[int] | Integers, definitions: Mapping[str, str]
    ) -> Stops:
        """Adds what the record of that number touches. Drops a snapshot whose floor is not below:
        it cannot tell this from what it holds, as it was about to go live when its activation
        died."""
        ids = once_each(np.fromiter(booking_ids, np.int64))
        touched = dict(self.touched)
        if len(ids):
            before = unpack(touched[number]) if number in touched else NONE
            touched[number] = pack(once_each(np.concatenate([before, ids])))
        known = dict(self.definitions)
        for name, text in definitions.items():
            if (short := shorten(name, text)) is not None:
                at, _ = known.pop(name, (0, ""))
                known[name] = (max(at, number), short)
        kept = tuple(kept for kept in self.snapshots if kept.floor < number)
        made = replace(self, snapshots=kept, touched=touched, definitions=known)
        return made if len(touched) <= MOST_GROUPS else made.with_fewer_groups()

    def with_fewer_groups(self) -> Stops:
        """Merges older groups into one for each snapshot that may be gone back to, under the
        highest number: who asks for what came after a number between gets more, never less."""
        old = sorted(self.touched)[: -(MOST_GROUPS // 4)]
        floors = sorted(kept.floor for kept in self.snapshots)
        between: dict[int, list[int]] = {}
        for number in old:
            between.setdefault(int(np.searchsorted(floors, number)), []).append(number)
        touched = {number: packed for number, packed in self.touched.items() if number not in old}
        for numbers in between.values():
            touched[max(numbers)] = pack(unite(self.touched[number] for number in numbers))
        return replace(self, touched=touched)

    def keeping(self, snapshot_ids: Iterable[str]) -> Stops:
        """Leaves out snapshots that are gone, and what only they needed."""
        there = {*snapshot_ids}
        kept = tuple(kept for kept in self.snapshots if kept.snapshot_id in there)
        floor = min((each.floor for each in kept), default=self.number)
        return replace(
            self,
            snapshots=kept,
            touched={at: packed for at, packed in self.touched.items() if at > floor},
            definitions={name: each for name, each in self.definitions.items() if each[0] > floor},
        )


def stops_of(delta: Delta) -> list[int]:
    """Lists bookings that a record ends or changes."""
    return [*delta.dead, *(entry.row.booking_id for entry in delta.entries)]


def shorten(name: str, text: str) -> str | None:
    if len(text) <= MOST_TEXT:
        return text
    return CLOSED if name.startswith(EDGE_PREFIX) else None


def pack(ids: Integers) -> bytes:
    """Packs ascending ids as compressed differences: ids close together take next to nothing."""
    return zlib.compress(np.diff(ids, prepend=0).astype("<i8").tobytes(), 1)


def unpack(packed: bytes) -> Integers:
    return np.cumsum(np.frombuffer(zlib.decompress(packed), "<i8"))


def unite(groups: Iterable[bytes]) -> Integers:
    return once_each(np.concatenate([NONE, *(unpack(packed) for packed in groups)]))


def once_each(ids: Integers) -> Integers:
    """Sorts ids, each once: in a 17th of the time of `np.unique` for half a million."""
    ids = np.sort(ids)
    found: Integers = ids[np.diff(ids, prepend=-1) != 0]
    return found


def write_stops(directory: SnapshotDirectory, stops: Stops) -> None:
    content = msgspec.json.encode(stops)
    write_aside(directory.root / STOPS_FILE, checksum(content) + b"\n" + content)


def read_stops(directory: SnapshotDirectory) -> Stops | None:
    """Reads the stops; None where there are none. Raises DirectoryError if the file is damaged."""
    path = directory.root / STOPS_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return decode_stops(path, content)


def decode_stops(path: Path, record: bytes) -> Stops:
    found, _, content = record.partition(b"\n")
    if found != checksum(content):
        raise DirectoryError(f"{path} is damaged: its checksum is wrong")
    return decode(path, content, Stops)

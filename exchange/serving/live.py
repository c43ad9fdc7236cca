"""One state of what is served: a snapshot, and what changed since it was built.

Opened aside, then swapped in as one reference: who holds a `LiveSnapshot` sees one state from the
first byte of an answer to its last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exchange.serving.bookings import Bookings, Integers
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    DirectoryError,
    Manifest,
    SnapshotDirectory,
)
from matcher_ext import Snapshot


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """Immutable, shared by all threads. `heading` is the start of every answer, up to the age."""

    manifest: Manifest
    index: Snapshot
    bookings: Bookings
    attributes: frozenset[str]
    read_at_seconds: float
    heading: bytes

    @classmethod
    def open(cls, directory: SnapshotDirectory, manifest: Manifest) -> LiveSnapshot:
        folder = directory.folder(manifest.snapshot_id)
        if not directory.is_whole(manifest.snapshot_id):
            raise DirectoryError(f"{folder} is missing, or not what was built")
        index = Snapshot.open(folder / INDEX_FILE)
        return cls.of(manifest, index, Bookings(folder / BOOKINGS_FILE))

    @classmethod
    def of(cls, manifest: Manifest, index: Snapshot, bookings: Bookings) -> LiveSnapshot:
        return cls(
            manifest=manifest,
            index=index,
            bookings=bookings,
            attributes=frozenset(row[0] for row in index.catalog_rows),
            read_at_seconds=manifest.read_at.timestamp(),
            heading=b'{"snapshot_id":"%s","delta":%d,"snapshot_age_seconds":'
            % (manifest.snapshot_id.encode(), manifest.delta),
        )

    def renew(self, manifest: Manifest) -> LiveSnapshot:
        """The same snapshot under a newer manifest. Changes since the build (the delta log) are to
        be laid over `index` and `bookings` here: the next state, never a change of this one."""
        return self.of(manifest, self.index, self.bookings)

    def match(self, flat: Mapping[str, object]) -> tuple[Integers, tuple[str, ...]]:
        """Booking ids, and the names of attributes whose value has a wrong type."""
        return self.index.match_with_warnings(flat)

    def age_seconds(self, now: float) -> float:
        return max(now - self.read_at_seconds, 0.0)

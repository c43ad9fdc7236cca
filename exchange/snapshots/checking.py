"""The check before a snapshot may go live: reopened from disk, it says what was built."""

from __future__ import annotations

from pathlib import Path

from exchange.serving.bookings import Bookings
from exchange.serving.directory import BOOKINGS_FILE, INDEX_FILE
from exchange.snapshots.building import Built
from matcher_ext import Snapshot


class SnapshotWrongError(Exception):
    """A snapshot that must not go live; the message says what differs."""


def check_snapshot(*, built: Built, folder: Path) -> None:
    index = Snapshot.open(folder / INDEX_FILE)
    found = (len(index), len(Bookings(folder / BOOKINGS_FILE)))
    if found != (len(built.entries), len(built.entries)):
        raise SnapshotWrongError(
            f"{len(built.entries)} bookings were built, but the index holds {found[0]} "
            f"and the bookings file {found[1]}."
        )

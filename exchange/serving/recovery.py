"""Finds another state for a server that cannot load the one that the manifest names.

The newest whole one that the directory still holds, in this order: the live snapshot with the
records before the damaged one, what the server has in memory, an older snapshot as it was built.
Over each goes what was stopped since (`stops`); without that file there is none. The server has no
database and no broker, so it asks for a build by a file that the sweep of the builders finds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

import msgspec

from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import (
    BOOKINGS_FILE,
    CATALOG_FILE,
    INDEX_FILE,
    MANIFEST_FILE,
    DirectoryError,
    FormattedDocument,
    Manifest,
    SnapshotDirectory,
)
from exchange.serving.live import LiveSnapshot, Opened
from exchange.serving.stops import KeptSnapshot, Stops, read_stops
from matcher_ext import SnapshotError

REQUEST_FILE = "build-wanted.json"
# What a damaged, half-mounted or forbidden directory raises; anything else is our own bug.
UNREADABLE = (DirectoryError, SnapshotError, OSError)

FileMark = tuple[int, int, int, int] | None
Seen = tuple[FileMark, ...]


class BuildRequest(FormattedDocument, frozen=True, kw_only=True):
    """Names a state that a server could not load. It is done with when the manifest names
    another."""

    snapshot_id: str
    log_id: str
    reason: str
    asked_at: datetime


class Trouble(msgspec.Struct, kw_only=True):
    """Why the state that is named is not served, and what the directory looked like then: nothing
    is tried again before something in it moves, or `tried_at` is long ago."""

    reason: str
    stops: FileMark
    seen: Seen
    tried_at: float

    def is_worth_a_try(self, seen: Seen, after_seconds: float) -> bool:
        return seen != self.seen or time.monotonic() - self.tried_at > after_seconds


def mark_of(directory: SnapshotDirectory, name: str) -> FileMark:
    """Tells one renamed-in file from the next, and a damaged one from a mended, without reading."""
    try:
        found = (directory.root / name).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def look(directory: SnapshotDirectory, live: LiveSnapshot | None) -> Seen:
    """Looks at everything that another try depends on, except the stops."""
    manifest = find_named(directory)
    names = [MANIFEST_FILE]
    if manifest is not None:
        folder = manifest.snapshot_id
        names += [f"{folder}/{name}" for name in (INDEX_FILE, BOOKINGS_FILE, CATALOG_FILE)]
    marks = [mark_of(directory, name) for name in names]
    log = None if manifest is None else DeltaLogFolder.of(directory, manifest)
    if log is not None and live is not None and live.manifest.log_id == log.log_id:
        path = log.path(live.delta + 1)
        marks.append(mark_of(directory, str(path.relative_to(directory.root))))
    return tuple(marks)


def find_named(directory: SnapshotDirectory) -> Manifest | None:
    """Finds the manifest, or the copy of it that the stops have; None if neither can be read."""
    with suppress(*UNREADABLE):
        if (manifest := directory.read_manifest()) is not None:
            return manifest
    stops = find_stops(directory)
    return None if stops is None else stops.manifest


def find_stops(directory: SnapshotDirectory) -> Stops | None:
    try:
        return read_stops(directory)
    except UNREADABLE:
        return None


def recover(directory: SnapshotDirectory, current: LiveSnapshot | None) -> LiveSnapshot | None:
    """Finds the newest state that can be served; None if none is surely free of what was
    stopped."""
    stops, named = find_stops(directory), find_named(directory)
    if stops is None or named is None:
        return None
    for state in find_states(directory, named, stops, current):
        floor = stops.floor_of(state.manifest.snapshot_id)
        if floor is None or floor > state.delta or is_fled(state, named):
            continue
        after = floor if state.manifest.is_held else state.delta
        with suppress(ValueError):
            return state.lay(stops, after=after)
    return None


def renew(live: LiveSnapshot, directory: SnapshotDirectory) -> LiveSnapshot | None:
    """Renews a recovered state after more was stopped. Stops that cannot be read are written anew
    with the next one: until then they say nothing that is not laid over it."""
    stops = find_stops(directory)
    if stops is None or live.stopped_after is None:
        return live
    floor = stops.floor_of(live.manifest.snapshot_id)
    if floor is None or floor > live.stopped_after:
        return None
    return live.lay(stops, after=live.stopped_after)


def find_states(
    directory: SnapshotDirectory, named: Manifest, stops: Stops, current: LiveSnapshot | None
) -> Iterator[LiveSnapshot]:
    """Yields the states that can be opened, the newest first, without the stops laid over them."""
    if current is not None and current.is_recovered:
        current = None
    is_of_log = current is not None and current.manifest.log_id == named.log_id
    if not is_of_log and (state := attempt(partial(open_readable, directory, named))):
        yield state
    if current is not None:
        yield current
    for kept in sorted(stops.snapshots, key=lambda kept: kept.read_at, reverse=True):
        if kept.snapshot_id == named.snapshot_id:
            continue
        if state := attempt(partial(open_as_built, directory, kept)):
            yield state


def attempt(open_state: Callable[[], LiveSnapshot]) -> LiveSnapshot | None:
    try:
        return open_state()
    except (*UNREADABLE, ValueError):
        return None


def open_readable(directory: SnapshotDirectory, manifest: Manifest) -> LiveSnapshot:
    opened = Opened.open(directory, manifest.snapshot_id)
    return LiveSnapshot.begin(manifest, opened).follow_readable(directory)


def open_as_built(directory: SnapshotDirectory, kept: KeptSnapshot) -> LiveSnapshot:
    """Opens the snapshot without a log: nothing that comes later may be applied to it."""
    manifest = Manifest(
        snapshot_id=kept.snapshot_id,
        read_at=kept.read_at,
        activated_at=kept.read_at,
        delta=kept.floor,
    )
    return LiveSnapshot.begin(manifest, Opened.open(directory, kept.snapshot_id))


def is_fled(state: LiveSnapshot, named: Manifest) -> bool:
    """Tells whether somebody went back to a snapshot before this one: they may have had to."""
    return named.is_held and state.manifest.read_at > named.read_at


def ask_for_build(directory: SnapshotDirectory, reason: str) -> None:
    """Asks for a build by a file; a directory that cannot be written keeps nobody from
    answering."""
    named = find_named(directory)
    request = BuildRequest(
        snapshot_id="" if named is None else named.snapshot_id,
        log_id="" if named is None else named.log_id,
        reason=reason,
        asked_at=datetime.now(UTC),
    )
    with suppress(OSError):
        directory.write(REQUEST_FILE, request)


def read_build_request(directory: SnapshotDirectory) -> BuildRequest | None:
    """Reads the request; one that cannot be read is none: its server asks again when it starts."""
    try:
        return directory.read(REQUEST_FILE, BuildRequest)
    except DirectoryError:
        return None


def forget_build_request(directory: SnapshotDirectory) -> None:
    with suppress(OSError):
        (directory.root / REQUEST_FILE).unlink(missing_ok=True)

"""Holds one state of what is served: a snapshot, and what changed since it was built.

Opened aside, then swapped in as one reference: who holds a `LiveSnapshot` sees one state from the
first byte of an answer to its last.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from exchange.serving.answers import (
    NO_WARNINGS,
    RECOVERED,
    Options,
    WarningNote,
    write_items,
    write_warnings,
)
from exchange.serving.bid_sources import make_bid_reader
from exchange.serving.bookings import BookingRow, Bookings
from exchange.serving.changed_bookings import (
    Beside,
    BookingsView,
    ChangedBookings,
    SharedBookings,
)
from exchange.serving.deltas import Delta, DeltaLogFolder
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    DirectoryError,
    Manifest,
    SnapshotDirectory,
    read_catalog,
)
from exchange.serving.openrtb import Source, read_sources
from exchange.serving.routed import RoutedBookings
from exchange.serving.stops import CLOSED, EDGE_PREFIX, Stops, read_stops
from exchange.serving.visits import PUBLISHER, STAMPED_TIMES
from matcher_ext import LiveIndex, Snapshot
from matcher_ext.index import State, fold_definitions
from matcher_ext.requests import BidReader, Stamps
from matcher_ext.serving import Integers, Items, StateAnswers

ON_ITS_WAY_SECONDS = 0.5
LOOK_SECONDS = 0.01
STAMPS = Stamps(STAMPED_TIMES, PUBLISHER)
# What a match found: items as JSON, how many are eligible, names of attributes whose value has a
# wrong type, and the booking ids.
Found = tuple[bytes, int, tuple[str, ...], Integers]


@dataclass(frozen=True, slots=True)
class Opened:
    """The files of a snapshot, and the index that changes are laid over. Only who refreshes
    touches `changing`; what it publishes is immutable."""

    below: Bookings
    items: Items
    changing: LiveIndex
    attributes: frozenset[str]
    sources: tuple[Source, ...]
    bids: BidReader

    @classmethod
    def open(cls, directory: SnapshotDirectory, snapshot_id: str) -> Opened:
        folder = directory.folder(snapshot_id)
        if not directory.is_known_whole(snapshot_id):
            raise DirectoryError(f"{folder} is missing, or not what was built")
        index = Snapshot.open(folder / INDEX_FILE)
        attributes = frozenset(row[0] for row in index.catalog_rows)
        sources = read_sources(read_catalog(folder))
        below = Bookings(folder / BOOKINGS_FILE)
        items, bids = below.items_of(index), make_bid_reader(index, sources)
        return cls(below, items, LiveIndex(index), attributes, sources, bids)

    def without_changes(self) -> Opened:
        return replace(self, changing=LiveIndex(self.changing.snapshot))


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """One state. Immutable, shared by all threads. `delta` is the number of the last change in it;
    `heading` is the start of every answer, up to the age; `answers` gives them in compiled code.
    One that was recovered says so in every answer; what was stopped after a number is laid over
    it."""

    manifest: Manifest
    delta: int
    index: State
    bookings: SharedBookings
    attributes: frozenset[str]
    read_at_seconds: float
    heading: bytes
    opened: Opened
    changed: Mapping[int, Beside]
    items_beside: Items | None = None
    stopped_after: int | None = None
    answers: StateAnswers = field(init=False)

    def __post_init__(self) -> None:
        answers = StateAnswers(
            self.index.snapshot,
            self.opened.items,
            self.items_beside,
            self.index.overlay,
            heading=self.heading,
            read_at_seconds=self.read_at_seconds,
            stamps=STAMPS,
            notes=[self.warnings[1:-1]] if self.notes else [],
            bids=self.opened.bids,
        )
        object.__setattr__(self, "answers", answers)

    @property
    def is_recovered(self) -> bool:
        return self.stopped_after is not None

    @property
    def notes(self) -> tuple[WarningNote, ...]:
        """Lists what every answer warns of."""
        return (RECOVERED,) if self.is_recovered else ()

    @property
    def warnings(self) -> bytes:
        """Returns the warnings of a visit that there is nothing else to warn of."""
        return write_warnings((), (), (), self.notes) if self.is_recovered else NO_WARNINGS

    @classmethod
    def open(cls, directory: SnapshotDirectory, manifest: Manifest) -> LiveSnapshot:
        """Opens the snapshot with all that its log holds already: a server never goes back in
        time."""
        opened = Opened.open(directory, manifest.snapshot_id)
        return cls.begin(manifest, opened).follow_all(directory)

    @classmethod
    def begin(cls, manifest: Manifest, opened: Opened) -> LiveSnapshot:
        return cls(
            manifest=manifest,
            delta=manifest.delta,
            index=opened.changing.state,
            bookings=opened.below,
            attributes=opened.attributes,
            read_at_seconds=manifest.read_at.timestamp(),
            heading=write_heading(manifest, manifest.delta),
            opened=opened,
            changed={},
        )

    def renew(self, directory: SnapshotDirectory, manifest: Manifest) -> LiveSnapshot:
        """Takes the same files under another manifest, which may have another log."""
        if manifest.log_id != self.manifest.log_id:
            return self.begin(manifest, self.opened.without_changes()).follow_all(directory)
        return replace(self, manifest=manifest, read_at_seconds=manifest.read_at.timestamp())

    def follow(self, directory: SnapshotDirectory) -> LiveSnapshot:
        """Makes the state after all records that follow; itself if there is none."""
        log = DeltaLogFolder.of(directory, self.manifest)
        deltas = [] if log is None else list(log.read_after(self.delta))
        return self.apply(deltas) if deltas else self

    def follow_all(self, directory: SnapshotDirectory) -> LiveSnapshot:
        """Follows for a server that comes new: it cannot know which records there were, but the
        stops do. Raises DirectoryError if the last ones are missing."""
        live = self.follow(directory)
        log = DeltaLogFolder.of(directory, self.manifest)
        while log is not None and (last := find_last_number(directory, log)) > live.delta:
            path = log.path(live.delta + 1)
            is_last = last == live.delta + 1
            if not path.exists() and not (is_last and is_on_its_way(path)):
                raise DirectoryError(f"{path} is missing")
            live = live.follow(directory)  # more was written meanwhile
        return live

    def follow_readable(self, directory: SnapshotDirectory) -> LiveSnapshot:
        """Applies records up to the first that cannot be read."""
        log = DeltaLogFolder.of(directory, self.manifest)
        deltas: list[Delta] = []
        with suppress(DirectoryError, OSError):
            for delta in log.read_after(self.delta) if log is not None else ():
                deltas.append(delta)
        return self.apply(deltas) if deltas else self

    def lay(self, stops: Stops, *, after: int) -> LiveSnapshot:
        """Makes the same state without what was stopped after that number, and with the definitions
        of now, as far as this state can read them: an edge that it cannot read lets nothing by, an
        audience or a list stays as it was."""
        definitions = stops.definitions_after(after)
        readable = find_readable(self.opened.changing, definitions)
        closed = {name: CLOSED for name in definitions if name.startswith(EDGE_PREFIX)}
        laid = Delta(
            log_id=self.manifest.log_id,
            number=self.delta,
            position="",
            read_at=self.manifest.read_at,
            definitions=closed | readable,
            dead=tuple(stops.bookings_after(after)),
        )
        return replace(self.apply([laid]), stopped_after=after)

    def apply(self, deltas: list[Delta]) -> LiveSnapshot:
        """Applies all records in one step: laying out the changed part anew costs the same."""
        rows, texts, dead = fold(deltas)
        state = self.opened.changing.apply(
            definitions=fold_definitions(delta.definitions for delta in deltas),
            lent=[pair for delta in deltas for pair in delta.lent.items()],
            dead=dead,
            entries=texts,
            routes=next((delta.routes for delta in reversed(deltas) if delta.routes), None),
        )
        changed = {key: beside for key, beside in self.changed.items() if key not in dead}
        changed |= Beside.of(self.opened.below, rows.values())
        beside = ChangedBookings(self.opened.below, changed) if changed else None
        last = deltas[-1].number
        return replace(
            self,
            delta=last,
            index=state,
            bookings=beside or self.opened.below,
            heading=write_heading(self.manifest, last),
            changed=changed,
            items_beside=beside.items_of(state.beside) if beside else None,
        )

    def answer(self, flat: Mapping[str, object], options: Options) -> Found:
        ids, malformed, view = self.match(flat)
        return (*write_items(view, ids, options), malformed, ids)

    def match(self, flat: Mapping[str, object]) -> tuple[Integers, tuple[str, ...], BookingsView]:
        """Finds booking ids, the names of attributes whose value has a wrong type, and the bookings
        as this visit sees them."""
        ids, malformed, paths = self.index.match_with_paths(flat)
        if len(paths) == 0:
            return ids, malformed, self.bookings
        return ids, malformed, RoutedBookings(self.bookings, paths)

    def age_seconds(self, now: float) -> float:
        return max(now - self.read_at_seconds, 0.0)


def find_last_number(directory: SnapshotDirectory, log: DeltaLogFolder) -> int:
    """Returns the number of the last record that was written, whether or not it is still there."""
    try:
        stops = read_stops(directory)
    except DirectoryError:
        stops = None
    is_of_log = stops is not None and stops.manifest.log_id == log.log_id
    return max(log.last_number(), stops.number if stops is not None and is_of_log else 0)


def is_on_its_way(path: Path) -> bool:
    """Waits a moment for a record, whose stops are said before it is there; tells if it came."""
    until = time.monotonic() + ON_ITS_WAY_SECONDS
    while not (is_there := path.exists()) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    return is_there


def find_readable(index: LiveIndex, definitions: Mapping[str, str]) -> dict[str, str]:
    """Defines what this index can read, and returns it. Definitions may use each other, in any
    order."""
    with suppress(ValueError):
        index.apply(definitions=definitions.items())
        return dict(definitions)
    readable: dict[str, str] = {}
    waiting = dict(definitions)
    is_over = False
    while waiting and not is_over:
        is_over = True
        for name, text in tuple(waiting.items()):
            with suppress(ValueError):
                index.define(name, text)
                readable[name] = waiting.pop(name)
                is_over = False
    return readable


def fold(deltas: Iterable[Delta]) -> tuple[dict[int, BookingRow], dict[int, str], set[int]]:
    """Sums up what is left to say about each booking in the end."""
    rows: dict[int, BookingRow] = {}
    texts: dict[int, str] = {}
    dead: set[int] = set()
    for delta in deltas:
        for booking_id in delta.dead:
            rows.pop(booking_id, None)
            texts.pop(booking_id, None)
            dead.add(booking_id)
        for entry in delta.entries:
            rows[entry.row.booking_id] = entry.row
            texts[entry.row.booking_id] = entry.text
    return rows, texts, dead


def write_heading(manifest: Manifest, delta: int) -> bytes:
    return b'{"snapshot_id":"%s","delta":%d,"snapshot_age_seconds":' % (
        manifest.snapshot_id.encode(),
        delta,
    )

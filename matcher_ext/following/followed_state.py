"""Owns one state that a follower answers from: a fetched snapshot, and what changed since.

A state is immutable: the next one is made aside and swapped in as one reference, so an answer is of
one state from its first booking to its last. It answers as the servers (`exchange.serving.live`)
do: by the same index, the same order and the same terms.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matcher_ext.following.downloading import INDEX_FILE, Offer
from matcher_ext.index.folding import fold_definitions
from matcher_ext.index.live import LiveIndex, RouteTable, State
from matcher_ext.index.snapshot import Snapshot
from matcher_ext.serving.answer_texts import Items, answer_visit
from matcher_ext.serving.ranking import Terms, count_before, rank_between
from matcher_ext.serving.snapshot_files import BOOKINGS_LINES, TERMS, TERMS_FILE
from matcher_ext.values.refusals import SnapshotError

# The fields that a visit's own path decides, in the order in which lines have them.
TERMS_OF_A_PATH = ("net_cpm", "fee_percent", "path")
Booking = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OpenedSnapshot:
    """A snapshot's files, mapped. Only the following thread touches `changing`."""

    changing: LiveIndex
    items: Items
    terms: Terms
    rows_by_rank: NDArray[np.intp]
    attributes: frozenset[str]

    @classmethod
    def open(cls, folder: Path) -> OpenedSnapshot:
        """Opens fetched files; raises SnapshotError if they are not of one build."""
        index = Snapshot.open(folder / INDEX_FILE)
        rows = np.load(folder / TERMS_FILE, allow_pickle=False)
        if rows.dtype != TERMS or rows.ndim != 1:
            raise SnapshotError(f"{folder / TERMS_FILE} is of another version")
        content = map_bytes(folder / BOOKINGS_LINES)
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(rows["line_bytes"], out=offsets[1:])
        column = {name: np.ascontiguousarray(rows[name]) for name in TERMS.names or ()}
        try:
            items = Items(
                index,
                column["booking_id"],
                column["rank"],
                offsets,
                content,
                campaigns=column["campaign_id"],
                path_at=column["path_at"],
                reaches=column["reach"],
                prices=column["price"],
            )
        except ValueError as error:
            raise SnapshotError(f"index and bookings are not of one build: {error}") from error
        return cls(
            changing=LiveIndex(index),
            items=items,
            terms=Terms(column["net_cpm"], column["campaign_id"], column["booking_id"]),
            rows_by_rank=np.argsort(column["rank"]),
            attributes=frozenset(row[0] for row in index.catalog_rows),
        )

    def without_changes(self) -> OpenedSnapshot:
        return replace(self, changing=LiveIndex(self.changing.snapshot))


@dataclass(frozen=True, slots=True)
class ChangedBooking:
    """A changed booking as answers show it. `reach` is the key of its path where the visit's own
    path counts, else 0; `price` is what the path's share is taken of."""

    booking: Booking
    reach: int
    price: float

    def write(self) -> tuple[bytes, int]:
        """Writes a line of the bookings' file, and says where in it the path begins."""
        net_cpm, fee_percent, path = TERMS_OF_A_PATH
        others = [name for name in self.booking if name not in TERMS_OF_A_PATH]
        item = encode({name: self.booking[name] for name in (*others, net_cpm, fee_percent)})[:-1]
        return b'%b,"path":%b}' % (item, encode(self.booking[path])), len(item)


@dataclass(frozen=True, slots=True)
class FollowedState:
    """One state, shared by all threads. `delta` is the number of the last change in it."""

    offer: Offer
    opened: OpenedSnapshot
    delta: int
    index: State
    changed: Mapping[int, ChangedBooking] = field(default_factory=dict)
    items_beside: Items | None = None

    @classmethod
    def begin(cls, offer: Offer, opened: OpenedSnapshot) -> FollowedState:
        return cls(offer, opened, offer.built_delta, opened.changing.state)

    def __len__(self) -> int:
        return len(self.index)

    def apply(self, records: Sequence[Mapping[str, Any]]) -> FollowedState:
        """Makes the state after all of these changes, as one step; itself if there are none."""
        if not records:
            return self
        entries, bookings, dead = fold(records)
        routes = next((each["routes"] for each in reversed(records) if each["routes"]), None)
        index = self.opened.changing.apply(
            definitions=fold_definitions(each["definitions"] for each in records),
            lent=[pair for each in records for pair in each["lent"].items()],
            dead=dead,
            entries=entries,
            routes=None if routes is None else RouteTable.of(routes),
        )
        changed = {key: each for key, each in self.changed.items() if key not in dead} | bookings
        return replace(
            self,
            delta=records[-1]["number"],
            index=index,
            changed=changed,
            items_beside=self._rank(index, [changed[key] for key in sorted(changed)]),
        )

    def _rank(self, index: State, changed: Sequence[ChangedBooking]) -> Items | None:
        """Gives changed bookings their places between those in the files."""
        if not changed:
            return None
        others = Terms(
            np.array([each.booking["net_cpm"] for each in changed], np.float64),
            np.array([each.booking["campaign_id"] for each in changed], np.int64),
            np.array([each.booking["booking_id"] for each in changed], np.int64),
        )
        before = count_before(self.opened.terms, self.opened.rows_by_rank, others)
        texts, path_at = zip(*(each.write() for each in changed), strict=True)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return Items(
            index.beside,
            others.booking_ids,
            rank_between(others, before),
            offsets,
            b"".join(texts),
            campaigns=others.campaign_ids,
            path_at=np.array(path_at, np.int32),
            reaches=np.array([each.reach for each in changed], np.int64),
            prices=np.array([each.price for each in changed], np.float64),
        )

    def find_eligible(self, visit: Mapping[str, object], limit: int | None) -> list[Booking]:
        """Finds what is eligible for a flat, stamped visit, the best first."""
        text, _ = answer_visit(
            self.index.snapshot,
            self.opened.items,
            self.items_beside,
            self.index.overlay,
            visit,
            limit=limit,
        )
        found: list[Booking] = json.loads(b"[%b]" % text)
        return found


def encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def fold(
    records: Iterable[Mapping[str, Any]],
) -> tuple[dict[int, str], dict[int, ChangedBooking], set[int]]:
    """Folds records into what is true in the end: texts, bookings, and which of them died."""
    texts: dict[int, str] = {}
    bookings: dict[int, ChangedBooking] = {}
    dead: set[int] = set()
    for record in records:
        for key in record["dead"]:
            texts.pop(key, None)
            bookings.pop(key, None)
            dead.add(key)
        texts |= {int(key): text for key, text in record["entries"].items()}
        for booking in record["bookings"]:
            key = booking["booking_id"]
            bookings[key] = ChangedBooking(booking, *record["reaches"][str(key)])
    return texts, bookings, dead


def map_bytes(path: Path) -> memoryview:
    """Maps a file, so that processes on one machine share it. An empty one cannot be mapped."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

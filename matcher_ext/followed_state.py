"""One state of what a follower answers from: a fetched snapshot, and what changed since.

Immutable: the next state is made aside and swapped in as one reference, so an answer is of one
state from its first booking to its last. Answers as the servers do (`exchange.serving.live`), by
the same index, the same order and the same terms.
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

from matcher_ext.downloading import INDEX_FILE, Offer
from matcher_ext.folding import fold_definitions
from matcher_ext.items import Items, answer_visit
from matcher_ext.live import LiveIndex, RouteTable, State
from matcher_ext.ranking import (
    Floats,
    Integers,
    Paths,
    Terms,
    count_before,
    fee_percent_of,
    find_worth,
    rank_between,
)
from matcher_ext.refusals import SnapshotError
from matcher_ext.snapshot import Snapshot
from matcher_ext.snapshot_files import BOOKINGS_LINES, TERMS, TERMS_FILE

NO_LIMIT = 2**63 - 1
Booking = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OpenedSnapshot:
    """The mapped files. Only who follows touches `changing`."""

    changing: LiveIndex
    items: Items
    content: memoryview
    offsets: NDArray[np.int64]
    terms: Terms
    reaches: NDArray[np.int64]
    prices: Floats
    rows_by_rank: NDArray[np.intp]
    attributes: frozenset[str]

    @classmethod
    def open(cls, folder: Path) -> OpenedSnapshot:
        """Raises SnapshotError if the files are not of one another."""
        index = Snapshot.open(folder / INDEX_FILE)
        rows = np.load(folder / TERMS_FILE, allow_pickle=False)
        if rows.dtype != TERMS or rows.ndim != 1:
            raise SnapshotError(f"{folder / TERMS_FILE} is of another version")
        content = map_bytes(folder / BOOKINGS_LINES)
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(rows["line_bytes"], out=offsets[1:])
        column = {name: np.ascontiguousarray(rows[name]) for name in TERMS.names or ()}
        try:
            items = Items(index, column["booking_id"], column["rank"], offsets, content)
        except ValueError as error:
            raise SnapshotError(f"index and bookings are not of one build: {error}") from error
        return cls(
            changing=LiveIndex(index),
            items=items,
            content=content,
            offsets=offsets,
            terms=Terms(column["net_cpm"], column["campaign_id"], column["booking_id"]),
            reaches=column["reach"],
            prices=column["price"],
            rows_by_rank=np.argsort(column["rank"]),
            attributes=frozenset(row[0] for row in index.catalog_rows),
        )

    def without_changes(self) -> OpenedSnapshot:
        return replace(self, changing=LiveIndex(self.changing.snapshot))

    def booking(self, row: int) -> Booking:
        found: Booking = json.loads(bytes(self.content[self.offsets[row] : self.offsets[row + 1]]))
        return found


@dataclass(frozen=True, slots=True)
class ChangedBooking:
    """As answers name it, with what a visit's own path is known by and its share is taken of."""

    booking: Booking
    reach: int
    price: float


@dataclass(frozen=True, slots=True)
class FollowedState:
    """Shared by all threads. `delta` is the number of the last change in it."""

    offer: Offer
    opened: OpenedSnapshot
    delta: int
    index: State
    changed: Mapping[int, ChangedBooking] = field(default_factory=dict)
    changed_ids: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    items_beside: Items | None = None

    @classmethod
    def begin(cls, offer: Offer, opened: OpenedSnapshot) -> FollowedState:
        return cls(offer, opened, offer.built_delta, opened.changing.state)

    def __len__(self) -> int:
        return len(self.index)

    def apply(self, records: Sequence[Mapping[str, Any]]) -> FollowedState:
        """All of them as one step; itself if there is none."""
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
        ids = np.array(sorted(changed), np.int64)
        return replace(
            self,
            delta=records[-1]["number"],
            index=index,
            changed=changed,
            changed_ids=ids,
            items_beside=self._rank(index, [changed[key] for key in ids.tolist()]),
        )

    def _rank(self, index: State, changed: Sequence[ChangedBooking]) -> Items | None:
        """Gives those beside the files their places between those in them."""
        if not changed:
            return None
        others = Terms(
            np.array([each.booking["net_cpm"] for each in changed], np.float64),
            np.array([each.booking["campaign_id"] for each in changed], np.int64),
            np.array([each.booking["booking_id"] for each in changed], np.int64),
        )
        before = count_before(self.opened.terms, self.opened.rows_by_rank, others)
        texts = [json.dumps(each.booking).encode() for each in changed]
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        ranks = rank_between(others, before)
        return Items(index.beside, others.booking_ids, ranks, offsets, b"".join(texts))

    def find_eligible(self, visit: Mapping[str, object], limit: int | None) -> list[Booking]:
        """The best first; the visit is flat and stamped."""
        text, _, _, ids, paths = answer_visit(
            self.index.snapshot,
            self.opened.items,
            self.items_beside,
            self.index.overlay,
            visit,
            NO_LIMIT if limit is None else limit,
        )
        if paths is not None and ids is not None:
            return self._find_routed(ids, paths, limit)
        found: list[Booking] = json.loads(b"[%b]" % text)
        return found

    def _find_routed(self, ids: Integers, paths: Paths, limit: int | None) -> list[Booking]:
        """Of a visit that found paths of its own: they say what such bookings leave."""
        rows, reaches, prices, campaigns = self._look_up(ids)
        net_cpm, shares = find_worth(prices, reaches, paths)
        found = []
        for place in Terms(net_cpm, campaigns, ids).order()[:limit].tolist():
            key, reach = ids[place].item(), reaches[place].item()
            booking = (
                dict(self.changed[key].booking)
                if key in self.changed
                else self.opened.booking(rows[place])
            )
            if reach:
                booking["net_cpm"] = net_cpm[place].item()
                booking["fee_percent"] = fee_percent_of(shares[place].item())
                booking["path"] = paths.labels(reach)
            found.append(booking)
        return found

    def _look_up(self, ids: Integers) -> tuple[Integers, Integers, Floats, Integers]:
        """Rows in the files, reaches, prices and campaigns; a changed booking has a row that means
        nothing."""
        opened = self.opened
        rows = opened.terms.booking_ids.searchsorted(ids)
        reaches = np.zeros(len(ids), np.int64)
        prices = np.zeros(len(ids), np.float64)
        campaigns = np.zeros(len(ids), np.int64)
        if len(opened.reaches):
            opened.reaches.take(rows, out=reaches, mode="clip")
            opened.prices.take(rows, out=prices, mode="clip")
            opened.terms.campaign_ids.take(rows, out=campaigns, mode="clip")
        for place in np.flatnonzero(np.isin(ids, self.changed_ids)).tolist():
            changed = self.changed[ids[place].item()]
            reaches[place], prices[place] = changed.reach, changed.price
            campaigns[place] = changed.booking["campaign_id"]
        return rows, reaches, prices, campaigns


def fold(
    records: Iterable[Mapping[str, Any]],
) -> tuple[dict[int, str], dict[int, ChangedBooking], set[int]]:
    """What is left to say about each booking in the end: texts, bookings, and which are dead."""
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
    """Mapped, so that processes on one machine share them; an empty file cannot be."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

"""Shows a snapshot's bookings together with the changed ones, behind the same interface.

A changed booking has its place between the ranks of those that did not change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from exchange.serving.bookings import BookingRow, Bookings, terms_of
from matcher_ext import Snapshot
from matcher_ext.serving import Integers, Items, rank_between


class BookingsView(Protocol):
    """What an answer needs of bookings: ids to rows in some order, rows to items."""

    def best_rows(self, booking_ids: Integers, limit: int | None) -> list[int]: ...
    def rows_by_campaign(self, booking_ids: Integers, limit: int | None) -> list[int]: ...
    def keep_campaigns(self, booking_ids: Integers, campaign_ids: Sequence[int]) -> Integers: ...
    def fragments(self, rows: Sequence[int]) -> Sequence[bytes | memoryview]: ...
    def pathless_fragments(self, rows: Sequence[int]) -> Sequence[bytes | memoryview]: ...


class SharedBookings(BookingsView, Protocol):
    """What a view of one visit needs besides (see `routed`)."""

    def rows_of(self, booking_ids: Integers) -> Integers: ...
    def campaigns_of(self, rows: Integers) -> Integers: ...
    def reaches_of(self, rows: Integers) -> Integers: ...
    def prices_of(self, rows: Integers) -> NDArray[np.float64]: ...


class Beside(msgspec.Struct, frozen=True, gc=False):
    """A changed booking, prepared once however many changes follow: its item, and how many of
    those below come before it."""

    row: BookingRow
    gap: int
    item: tuple[bytes, int]

    @classmethod
    def of(cls, below: Bookings, rows: Collection[BookingRow]) -> dict[int, Beside]:
        """Returns the rows by booking id, each with its place among those of the file."""
        gaps = below.count_before(terms_of(rows)).tolist()
        return {
            row.booking_id: cls(row, gap, row.fragment())
            for row, gap in zip(rows, gaps, strict=True)
        }


class ChangedBookings:
    """Bookings with changes. Immutable. Its rows are those of the file, then those beside it in
    ascending order of id."""

    def __init__(self, below: Bookings, changed: Mapping[int, Beside]) -> None:
        self._below = below
        self._size = len(below)
        besides = [changed[booking_id] for booking_id in sorted(changed)]
        rows = [beside.row for beside in besides]
        self._ids = np.array([row.booking_id for row in rows], np.int64)
        self._campaign_ids = np.array([row.campaign_id for row in rows], np.int64)
        self._ranks = rank_between(terms_of(rows), np.array([each.gap for each in besides]))
        self._items = [beside.item for beside in besides]
        self._reaches = np.array([row.reach for row in rows], np.int64)
        self._prices = np.array([row.price for row in rows], np.float64)

    def items_of(self, index: Snapshot) -> Items:
        """Returns the texts of the bookings beside the file: what the small index answers with."""
        texts = [text for text, _ in self._items]
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return Items(
            index,
            self._ids,
            self._ranks,
            offsets,
            b"".join(texts),
            campaigns=self._campaign_ids,
            path_at=np.array([path_at for _, path_at in self._items], np.int32),
            reaches=self._reaches,
            prices=self._prices,
        )

    def best_rows(self, booking_ids: Integers, limit: int | None) -> list[int]:
        rows, beside = self._find(booking_ids)
        ranks = np.empty(len(rows), np.float64)
        ranks[~beside] = self._below.ranks_of(rows[~beside])
        ranks[beside] = self._ranks.take(rows[beside] - self._size)
        best: list[int] = rows.take(ranks.argsort()[:limit]).tolist()
        return best

    def rows_by_campaign(self, booking_ids: Integers, limit: int | None) -> list[int]:
        booking_ids = np.sort(booking_ids)
        rows, beside = self._find(booking_ids)
        order = self._campaigns_of(rows, beside).argsort(kind="stable")
        best: list[int] = rows.take(order[:limit]).tolist()
        return best

    def keep_campaigns(self, booking_ids: Integers, campaign_ids: Sequence[int]) -> Integers:
        found = self._campaigns_of(*self._find(booking_ids))
        return booking_ids[np.isin(found, np.array(campaign_ids, np.int64))]

    def fragments(self, rows: Sequence[int]) -> list[bytes | memoryview]:
        return [
            self._items[row - self._size][0]
            if row >= self._size
            else self._below.fragments([row])[0]
            for row in rows
        ]

    def pathless_fragments(self, rows: Sequence[int]) -> list[bytes]:
        return [self._pathless(row) for row in rows]

    def _pathless(self, row: int) -> bytes:
        if row < self._size:
            return self._below.pathless_fragments([row])[0]
        item, path_at = self._items[row - self._size]
        return item[:path_at] + b"}"

    def rows_of(self, booking_ids: Integers) -> Integers:
        return self._find(booking_ids)[0]

    def campaigns_of(self, rows: Integers) -> Integers:
        return self._campaigns_of(rows, rows >= self._size)

    def reaches_of(self, rows: Integers) -> Integers:
        beside = rows >= self._size
        reaches = np.empty(len(rows), np.int64)
        reaches[~beside] = self._below.reaches_of(rows[~beside])
        reaches[beside] = self._reaches.take(rows[beside] - self._size)
        return reaches

    def prices_of(self, rows: Integers) -> NDArray[np.float64]:
        beside = rows >= self._size
        prices = np.empty(len(rows), np.float64)
        prices[~beside] = self._below.prices_of(rows[~beside])
        prices[beside] = self._prices.take(rows[beside] - self._size)
        return prices

    def _find(self, booking_ids: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Finds rows, and which are beside the file: a changed booking is dead in the file."""
        places = self._ids.searchsorted(booking_ids)
        beside = self._ids.take(places, mode="clip") == booking_ids
        rows = np.where(beside, places + self._size, self._below.rows_of(booking_ids))
        return rows, beside

    def _campaigns_of(self, rows: Integers, beside: NDArray[np.bool_]) -> Integers:
        campaigns = np.empty(len(rows), np.int64)
        campaigns[~beside] = self._below.campaigns_of(rows[~beside])
        campaigns[beside] = self._campaign_ids.take(rows[beside] - self._size)
        return campaigns

"""Orders answers: by what is left for the publisher, best first, then by campaign and booking.

Our servers, and ad servers that match by themselves, order by these same lines, over plain arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.signedinteger]
Floats = NDArray[np.float64]


class Paths(Protocol):
    """The paths that the index found: see `matcher_ext.match.Paths`."""

    def shares(self, keys: NDArray[np.int64]) -> Floats: ...
    def labels(self, key: int) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Terms:
    """What the order depends on: arrays with one place for each booking."""

    net_cpm: Floats
    campaign_ids: Integers
    booking_ids: Integers

    def order(self) -> NDArray[np.intp]:
        return np.lexsort((self.booking_ids, self.campaign_ids, -self.net_cpm))

    def ranks(self) -> NDArray[np.int32]:
        places = np.empty(len(self.booking_ids), np.int32)
        places[self.order()] = np.arange(len(places), dtype=np.int32)
        return places


def count_before(below: Terms, rows_by_rank: Integers, others: Terms) -> NDArray[np.int64]:
    """Counts how many bookings below come before each of the others. Searches for all at once, so
    that the number of steps does not depend on how many they are."""
    low = np.zeros(len(others.booking_ids), np.int64)
    high = np.full(len(others.booking_ids), len(rows_by_rank), np.int64)
    while (is_open := low < high).any():
        middle = (low + high) // 2
        rows = rows_by_rank.take(middle, mode="clip")
        gain = below.net_cpm[rows] - others.net_cpm
        campaign, booking = below.campaign_ids[rows], below.booking_ids[rows]
        is_before = (gain > 0) | (gain == 0) & (
            (campaign < others.campaign_ids)
            | (campaign == others.campaign_ids) & (booking < others.booking_ids)
        )
        low = np.where(is_open & is_before, middle + 1, low)
        high = np.where(is_open & ~is_before, middle, high)
    return low


def rank_between(others: Terms, counts_before: Integers) -> Floats:
    """Gives each of the others a rank between those of its neighbours below."""
    order = others.order()
    gaps = np.asarray(counts_before, np.int64)[order]
    _, firsts, counts = np.unique(gaps, return_index=True, return_counts=True)
    neighbours = np.repeat(counts, counts)
    turn = np.arange(len(gaps)) - np.repeat(firsts, counts) + 1
    ranks = np.empty(len(gaps), np.float64)
    ranks[order] = gaps - 1 + turn / (neighbours + 1)
    return ranks


def find_worth(prices: Floats, reaches: Integers, paths: Paths) -> tuple[Floats, Floats]:
    """Finds what a visit's own paths leave of each price, and the share that this is. Bookings
    without a reach have a fixed path, whose fees their price has already paid."""
    shares = np.ones(len(reaches), np.float64)
    takes_any = reaches != 0
    shares[takes_any] = paths.shares(np.ascontiguousarray(reaches[takes_any], np.int64))
    return np.round(prices * shares, 4), shares


def fee_percent_of(share: float) -> float:
    return round(100 * (1 - share), 4)

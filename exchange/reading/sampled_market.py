"""Asks the market on the newest night's sample: which of its visits each booking is eligible for,
as the market is saved, or as if one thing were saved otherwise.

    at the publisher  ->  the rules of the path  ->  the campaign        rows of the publisher only

Campaigns' flights are left aside: the sample is of the last days, the question about the next ones.
A rule that does not compile lets nothing by. Not thread-safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from exchange.market.models import Attribute, Campaign, Edge, Party
from exchange.reading.drafted_market import Draft, DraftedMarket, Way
from exchange.reports.sample_counting import Counter, Rows, Truths
from targeting import Expression

CAMPAIGNS_KEPT = 16  # bookings of a campaign mostly follow one another
PATHS_KEPT = 64

Places = NDArray[np.int64]


class SampledMarket(DraftedMarket):
    def __init__(
        self, counter: Counter, draft: Draft | None = None, saved: SampledMarket | None = None
    ) -> None:
        """Asks the sample behind `counter`; what the draft cannot change is asked of the market as
        it is `saved`."""
        super().__init__(draft, saved)
        self.counter = counter
        self.sample = counter.sample
        self._places: dict[str, Places] = {}
        self._passing: dict[int, NDArray[np.uint8]] = {}
        self._countable = counter.can_count(self._required())
        self._opened = lru_cache(PATHS_KEPT)(self._ask_opened)
        self._wanted = lru_cache(CAMPAIGNS_KEPT)(self._ask_wanted)
        if saved is not None and not (draft and draft.changes_campaigns):
            self._wanted = saved._wanted

    def _required(self) -> Sequence[str]:
        row = self.draft.row if self.draft else None
        if not isinstance(row, Attribute):
            return self.sample.required
        others = [name for name in self.sample.required if name != row.name]
        return [*others, row.name] if row.is_required else others

    def at(self, publisher: Party) -> Places:
        """Finds the rows of the sample that are visits at the publisher and may count."""
        seller_id = publisher.seller_id
        if seller_id not in self._places:
            places = self.counter.at(seller_id)
            self._places[seller_id] = places[self._countable[places]]
        return self._places[seller_id]

    def eligible(self, way: Way) -> Places:
        """Finds the rows that the booking is eligible for."""
        places = self.at(way.booking.publisher)
        if not len(places):
            return places
        wanted = unpack(self._wanted(self.campaign_of(way.booking)), len(self.sample))
        return places[self.opened(way) & wanted[places]]

    def opened(self, way: Way) -> Rows:
        """Tells for which of the rows at the publisher a path is open."""
        booking = way.booking
        return self._opened(
            booking.publisher,
            booking.campaign.advertiser_id,
            booking.hop_limit if way.is_any else 0,
            way.edge_ids,
        )

    def _ask_opened(
        self, publisher: Party, advertiser_id: int, hops: int, edge_ids: tuple[int, ...]
    ) -> Rows:
        places = self.at(publisher)
        passing = {pk: self.passes(pk)[places] for pk in edge_ids}
        if hops:
            return walk(passing, self._ends(edge_ids), (publisher.pk, advertiser_id), hops, places)
        closed = np.full(len(places), bool(edge_ids))
        return reduce(np.logical_and, passing.values(), closed)

    def _ends(self, edge_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
        return {pk: (self._edges[pk].seller_id, self._edges[pk].buyer_id) for pk in edge_ids}

    def passes(self, edge_id: int) -> Rows:
        """Tells of which rows of the whole sample the rule is true."""
        if edge_id not in self._passing:
            self._passing[edge_id] = np.packbits(self._judge_true(self.read_rule(edge_id)))
        return unpack(self._passing[edge_id], len(self.sample))

    def along(self, places: Places, edges: Sequence[Edge]) -> Places:
        """Leaves of these rows those that every one of the edges lets by. The edges come with their
        sellers."""
        self._edges |= {edge.pk: edge for edge in edges if edge.pk not in self._edges}
        for edge in edges:
            places = places[self.passes(edge.pk)[places]]
        return places

    def _ask_wanted(self, campaign: Campaign) -> NDArray[np.uint8]:
        return np.packbits(self._judge_true(self.read_campaign(campaign)))

    def _judge_true(self, read: Expression | None) -> Rows:
        return self.judge(read).true

    def judge(self, read: Expression | None) -> Truths:
        """Judges all rows; what does not compile is false of every one."""
        if read is None:
            nothing = np.zeros(len(self.sample), dtype=bool)
            return Truths(nothing, ~nothing)
        return self.counter.judge(read.root, read)

    def visits(self, places: Places) -> float:
        """Sums what the rows stand for, in visits a day."""
        return float(self.sample.weights[places].sum()) / self.sample.day_count

    def people(self, places: Places) -> int:
        return len(np.unique(self.sample.people[places]))


def unpack(bits: NDArray[np.uint8], length: int) -> Rows:
    return np.unpackbits(bits, count=length).view(bool)


def walk(
    passing: dict[int, Rows],
    ends: dict[int, tuple[int, int]],
    between: tuple[int, int],
    hops: int,
    places: Places,
) -> Rows:
    """Walks all rows at once, a hop a round, and tells which visits can reach the buyer."""
    source, target = between
    none = np.zeros(len(places), dtype=bool)
    reached = {source: ~none}
    for _ in range(hops):
        before = dict(reached)
        for edge_id, (seller_id, buyer_id) in ends.items():
            if seller_id in before:
                come = before[seller_id] & passing[edge_id]
                reached[buyer_id] = reached.get(buyer_id, none) | come
    return reached.get(target, none)

"""Finds where a campaign could be booked: publishers, each with the path that a booking would
take, and whether anything could ever pass it.

Judged as the check of bookings judges them, before there is one. A contradiction that is not found
within its budget is not told: the check of the booking has more time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from exchange.accounts.models import User
from exchange.findings.checking import Found, find_contradiction, find_quarantined
from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import sight
from exchange.reading.paths import BookingPath, Hop, find_paths
from exchange.reading.reach import Reach, ReachCounter
from exchange.reading.verdicts import tell_contradiction
from exchange.snapshots.models import ChangeKind
from targeting import Expression, ExpressionError

BUDGET = 4_000  # nodes that the analysis of one path may look at: about 10 ms


@dataclass(frozen=True, slots=True)
class Offer:
    """Holds a path and its verdict: `never` says why no visit could pass; it is empty where nothing
    is known to exclude all of them. `conditions` are what contradicts each other, as far as the
    person may read them. `reach` is by the sample, None before a night was counted."""

    path: BookingPath
    never: str = ""
    conditions: tuple[tuple[str, str], ...] = ()
    reach: Reach | None = None

    @property
    def publisher(self) -> Party:
        return self.path.booking.publisher

    @property
    def is_open(self) -> bool:
        return not self.never


def read_offers(campaign: Campaign, publishers: Iterable[Party], viewer: User) -> list[Offer]:
    """Keeps the order of the publishers. The campaign comes with its advertiser."""
    bookings = [Booking(campaign=campaign, publisher=publisher) for publisher in publishers]
    judge, counter = Judge(campaign, viewer), ReachCounter.open(campaign)
    return [make_offer(path, judge, counter) for path in find_paths(bookings, viewer)]


def make_offer(path: BookingPath, judge: Judge, counter: ReachCounter | None) -> Offer:
    """Counts first: where a sampled visit gets by, nothing excludes all, and there is nothing to
    prove."""
    reach = reach_over(path, counter)
    return replace(judge.judge(path, is_open=bool(reach and reach.eligible)), reach=reach)


def reach_over(path: BookingPath, counter: ReachCounter | None) -> Reach | None:
    if counter is None:
        return None
    return counter.count(path.booking.publisher, [hop.edge for hop in path.hops])


class Judge:
    """Reads the campaign once, and each rule when it is first met. Not thread-safe."""

    def __init__(self, campaign: Campaign, viewer: User) -> None:
        self._campaign = campaign
        self._viewer = viewer
        self._reader = ExpressionReader(load_catalog())
        self._read = self._read_text(campaign.expression, campaign.advertiser.organisation_id)
        self._rules: dict[int, Expression | None] = {}
        self._quarantined = find_quarantined()

    def judge(self, path: BookingPath, *, is_open: bool = False) -> Offer:
        """Judges one path; `is_open` says that some visit gets by."""
        if not path.hops:
            publisher, advertiser = path.booking.publisher, self._campaign.advertiser
            return Offer(path, f"no edges lead from {publisher.name} to {advertiser.name}")
        if self._read is None:
            return Offer(path, "the targeting no longer compiles")
        closed = [hop.edge for hop in path.hops if self._is_closed(hop.edge)]
        if closed:
            return Offer(path, f"the rule of {closed[0]} no longer compiles")
        if is_open:
            return Offer(path)
        rules = {hop.edge.pk: rule for hop in path.hops if (rule := self._rule_of(hop.edge))}
        found = find_contradiction(self._read, rules, budget=BUDGET)
        return self._tell(path, found) if found else Offer(path)

    def _is_closed(self, edge: Edge) -> bool:
        return self._quarantined.get((ChangeKind.EDGE, edge.pk)) is False

    def _tell(self, path: BookingPath, found: Found) -> Offer:
        hops = {hop.edge.pk: hop for hop in path.hops}
        edges = {pk: hop.edge for pk, hop in hops.items()}
        said = tell_contradiction(found, edges, self._campaign, self._viewer)
        conditions = tuple(
            (self._owner(pk, hops), self._redact(pk, hops, text)) for pk, text in found.conditions
        )
        return Offer(path, said, conditions)

    def _owner(self, pk: int | None, hops: dict[int, Hop]) -> str:
        return "the campaign" if pk is None else str(hops[pk].edge)

    def _redact(self, pk: int | None, hops: dict[int, Hop], text: str) -> str:
        seen = sight(self._viewer, self._campaign) if pk is None else hops[pk].seen
        return seen.redact(text)

    def _rule_of(self, edge: Edge) -> Expression | None:
        if edge.pk not in self._rules:
            rule = self._read_text(edge.expression, edge.seller.organisation_id)
            self._rules[edge.pk] = rule
        return self._rules[edge.pk]

    def _read_text(self, text: str, organisation_id: int | None) -> Expression | None:
        try:
            return self._reader.read(text, organisation_id)
        except ExpressionError:
            return None

"""Reads what a publisher sells through each of its edges, by the night's funnels.

A booking belongs to the edge that its path begins with. A visit counts once for each booking that
it is on its way to, as in all sums over bookings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from exchange.accounts.models import User
from exchange.market.models import Campaign, Edge, Party
from exchange.market.visibility import Sight, sight
from exchange.reports.night.asking import Question, Row, read_rows
from exchange.reports.night.campaign_reports import FUNNEL
from exchange.reports.night.tables import find_night
from exchange.reports.night.wording import CAMPAIGN_STEP, edge_number

CAMPAIGNS_NAMED = 3


@dataclass(slots=True)
class Sold:
    """Through one edge, or over any path (`edge` None). `offered` came to the edge, `passed` its
    rule, `eligible` also everything behind it. `campaigns` are the largest, `unsold` the first of
    those that had nothing."""

    edge: Edge | None = None
    seen: Sight | None = None
    bookings: int = 0
    offered: int = 0
    passed: int = 0
    lost_to_false: int = 0
    lost_to_unknown: int = 0
    eligible: int = 0
    by_campaign: dict[int, int] = field(default_factory=dict)
    campaigns: list[tuple[Campaign, int]] = field(default_factory=list)
    unsold: list[Campaign] = field(default_factory=list)

    @property
    def unsold_count(self) -> int:
        return len(self.list_unsold())

    def list_unsold(self) -> list[int]:
        return sorted(pk for pk, visits in self.by_campaign.items() if not visits)

    def list_largest(self) -> list[tuple[int, int]]:
        sold = [(pk, visits) for pk, visits in self.by_campaign.items() if visits]
        return sorted(sold, key=lambda item: (-item[1], item[0]))[:CAMPAIGNS_NAMED]

    @property
    def percent(self) -> float | None:
        return 100 * self.passed / self.offered if self.offered else None

    def add(self, steps: list[Row]) -> None:
        first, last = steps[0], steps[-1]
        self.bookings += 1
        self.offered += first["came"]
        self.passed += first["passed"]
        self.lost_to_false += first["lost_to_false"]
        self.lost_to_unknown += first["lost_to_unknown"]
        passed = last["passed"] if last["name"] == CAMPAIGN_STEP else 0
        self.eligible += passed
        sums = self.by_campaign
        sums[first["campaign_id"]] = sums.get(first["campaign_id"], 0) + passed


@dataclass(frozen=True, slots=True)
class SoldThrough:
    publisher: Party
    day: date
    edges: list[Sold]

    @property
    def total(self) -> int:
        return sum(one.eligible for one in self.edges)


def read_sold(person: User, publisher: Party, day: date | None) -> SoldThrough | None:
    """Reads what was sold through each edge of a publisher; gives None if no such night was
    counted. Whoever asks owns the publisher, or is the exchange's."""
    night = find_night(FUNNEL.job, day)
    if night is None:
        return None
    question = Question(FUNNEL, person, day, publisher=publisher.seller_id)
    rows = [row for batch in read_rows(question, night) for row in batch.to_pylist()]
    found: dict[int | None, Sold] = {}
    for steps in by_booking(rows):
        pk = edge_number(steps[0]["name"])
        found.setdefault(pk, Sold()).add(steps)
    name_edges(found, person)
    sold = sorted(found.values(), key=lambda one: -one.eligible)
    return SoldThrough(publisher, night.day, sold)


def by_booking(rows: Iterable[Row]) -> Iterable[list[Row]]:
    """Steps in their order, booking by booking."""
    steps: dict[int, list[Row]] = {}
    for row in rows:
        steps.setdefault(row["booking_id"], []).append(row)
    return [sorted(each, key=lambda row: row["step"]) for each in steps.values()]


def name_edges(found: dict[int | None, Sold], person: User) -> None:
    numbers = [pk for pk in found if pk is not None]
    edges = Edge.objects.with_parties().in_bulk(numbers)
    largest = {pk: one.list_largest() for pk, one in found.items()}
    unsold = {pk: one.list_unsold()[:CAMPAIGNS_NAMED] for pk, one in found.items()}
    wanted = {campaign for each in largest.values() for campaign, _ in each}
    wanted |= {campaign for each in unsold.values() for campaign in each}
    campaigns = Campaign.objects.select_related("advertiser").in_bulk(wanted)
    for pk, one in found.items():
        one.edge = edges.get(pk) if pk is not None else None
        one.seen = sight(person, one.edge) if one.edge else None
        one.campaigns = [(campaigns[c], n) for c, n in largest[pk] if c in campaigns]
        one.unsold = [campaigns[c] for c in unsold[pk] if c in campaigns]

"""An exchange and a day of its visits in plain Python, judged by the plain evaluator alone.

What bookings are made of is taken from the market, not from any index: the edges of their paths,
or an advertiser and a number of hops, and the texts of campaigns and flights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from exchange.snapshots.composing import Composer, edge_name
from exchange.snapshots.market import Market
from targeting import Expression, parse

Row = Mapping[str, Any]
Truth = bool | None
REACH = "@reach."


@dataclass(frozen=True)
class PlainBooking:
    """`steps` are definitions that its path consists of, or the one that says that any is open."""

    booking_id: int
    campaign_id: int
    publisher: str
    steps: tuple[str, ...]
    own: str


class PlainDay:
    """The visits that count, by publisher, and what conditions are of each of them."""

    def __init__(self, market: Market, rows: Sequence[Row]) -> None:
        composer = Composer(market)
        self._catalog = market.catalog
        self._definitions: dict[str, Expression] = {}
        for name, text in composer.definitions():
            self._definitions[name] = self._parse(text)
        self.bookings = [
            PlainBooking(
                entry.row.booking_id,
                entry.row.campaign_id,
                entry.row.publisher,
                (f"reach.{entry.reach[0]}.{entry.reach[1]}",)
                if entry.reach
                else tuple(map(edge_name, entry.edge_ids)),
                entry.parts[1].removeprefix(" and "),
            )
            for entry in composer.entries()
        ]
        self.rows = choose_counted(rows)
        self.visits: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            self.visits[row["publisher.id"]].append(row)
        self._sold: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for link in market.links:
            self._sold[link.seller_id].append((edge_name(link.edge_id), link.buyer_id))
        self._party_of = {party.seller_id: pk for pk, party in market.parties.items()}
        self._truths: dict[tuple[str, str], list[Truth]] = {}
        self._reached: dict[tuple[str, int, int], frozenset[int]] = {}
        self._asked: dict[str, list[dict[str, Any]]] = {}

    def _parse(self, text: str) -> Expression:
        return parse(text, self._catalog, definitions=self._definitions)

    def truths(self, text: str, publisher: str) -> list[Truth]:
        """What a condition is of the publisher's visits, in their order."""
        key = text, publisher
        if key not in self._truths:
            visits = self.visits[publisher]
            if text.startswith(REACH):
                found: list[Truth] = [self._is_open(text, publisher, n) for n in range(len(visits))]
            else:
                expression = self._parse(text)
                found = [expression.evaluate(visit) for visit in self._ask(publisher)]
            self._truths[key] = found
        return self._truths[key]

    def _ask(self, publisher: str) -> list[dict[str, Any]]:
        if publisher not in self._asked:
            self._asked[publisher] = list(map(as_asked, self.visits[publisher]))
        return self._asked[publisher]

    def _is_open(self, reach: str, publisher: str, number: int) -> bool:
        """Whether edges that are true of a visit lead to the advertiser in so many hops."""
        advertiser, hops = map(int, reach.removeprefix(REACH).split("."))
        key = publisher, number, hops
        if key not in self._reached:
            self._reached[key] = self._walk(*key, {})
        return advertiser in self._reached[key]

    def _walk(
        self, publisher: str, number: int, hops: int, forced: Mapping[str, bool]
    ) -> frozenset[int]:
        """Finds the parties that a visit comes to, with an edge forced to be open or not."""
        there = {self._party_of[publisher]}
        for _ in range(hops):
            there |= {
                buyer
                for party in there
                for edge, buyer in self._sold[party]
                if forced.get(edge, self.truths(f"@{edge}", publisher)[number] is True)
            }
        return frozenset(there)

    def decides(self, booking: PlainBooking, edge: str, number: int) -> bool:
        """Whether an edge alone says if some path of a visit is open."""
        advertiser, hops = map(int, booking.steps[0].removeprefix("reach.").split("."))
        walks = (
            self._walk(booking.publisher, number, hops, {edge: forced}) for forced in (True, False)
        )
        one, other = (advertiser in there for there in walks)
        return one != other

    def passing(self, conditions: Iterable[str], publisher: str) -> set[int]:
        """Which of the publisher's visits all of these are true of."""
        left = set(range(len(self.visits[publisher])))
        for text in conditions:
            truths = self.truths(text, publisher)
            left = {number for number in left if truths[number] is True}
        return left

    @cached_property
    def eligible(self) -> dict[PlainBooking, set[int]]:
        return {
            each: self.passing([*(f"@{step}" for step in each.steps), each.own], each.publisher)
            for each in self.bookings
        }

    def of(self, booking: PlainBooking) -> list[Row]:
        """The visits that a booking is eligible for."""
        visits = self.visits[booking.publisher]
        return [visits[number] for number in self.eligible[booking]]


def choose_counted(rows: Sequence[Row]) -> list[Row]:
    """Those with an id, a publisher and a time; of several with one id, the earliest."""
    kept: dict[str, Row] = {}
    for row in rows:
        if row["visit_id"] and (row["publisher.id"] or "").strip() and row["time"]:
            before = kept.get(row["visit_id"])
            if before is None or row["time"] < before["time"]:
                kept[row["visit_id"]] = row
    return list(kept.values())


def as_asked(row: Row) -> dict[str, Any]:
    """The visit as an ad server would send it."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
        if value is not None and name != "visit_id"
    }

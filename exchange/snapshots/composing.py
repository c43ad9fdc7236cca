"""Turns the market into what the index holds: one entry per booking, one definition per edge and
audience.

A booking that cannot be built is left out with its reason; it never spoils the others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain

import msgspec

from exchange.market.models import Booking
from exchange.market.models.bookings import DEFAULT_HOPS
from exchange.routing import MAX_HOPS, Graph, Path, within
from exchange.routing.policies import BrokenPathError, pin_path
from exchange.serving.bookings import BookingRow
from exchange.serving.deltas import RouteRecord
from exchange.snapshots.market import BookedPair, CampaignRow, Market
from exchange.snapshots.models import ChangeKind
from exchange.snapshots.quarantine import Quarantine
from exchange.snapshots.texts import Compiled, Readable
from exchange.snapshots.vocabulary import Vocabulary
from matcher_ext.match import path_key
from targeting import ExpressionError

MAX_SKIPPED_KEPT = 100
MAX_REASONS_KEPT = 20
# Defines an edge that is closed or does not compile: no booking over it may match.
CLOSED = "false"
ANY = str(Booking.Policy.ANY)  # compared with every booking: an enum's own comparison is slower
# Products of floats below MAX_ROUGH are off by far less than UNCLEAR, in units of 0.0001.
MAX_ROUGH, UNCLEAR = 1e6, 1e-3
# Policy, publisher, advertiser, and the hops and the edges that the booking asks for.
RouteKey = tuple[str, int, int, int, tuple[int, ...]]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A booking as the index takes it, and as answers name it. One that takes any path has `reach`
    instead of edges: the advertiser and the most hops. Its text is kept in parts that it shares
    with others."""

    row: BookingRow
    edge_ids: tuple[int, ...]
    parts: tuple[str, ...]
    reach: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        return "".join(self.parts)


class Offer(msgspec.Struct, frozen=True, gc=False):
    """What all bookings of a campaign have in common. `conditions` are flight and expression."""

    name: str
    advertiser_id: int
    advertiser: str
    conditions: str
    bid: tuple[int, int]
    bid_cpm: float


class Route(msgspec.Struct, frozen=True, gc=False):
    """What all bookings on a path have in common. `conditions` are publisher and path."""

    sellers: tuple[str, ...]
    edge_ids: tuple[int, ...]
    reach: tuple[int, int] | None
    reach_key: int
    conditions: str
    fee_percent: float
    share: tuple[int, int]
    kept: float  # the same, nearly


@dataclass(slots=True)
class Skipped:
    """Bookings left out: the first ones with their reason, and how many of each reason."""

    first: list[dict[str, object]] = field(default_factory=list)
    by_reason: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return self.by_reason.total()

    def most_frequent(self) -> list[dict[str, object]]:
        frequent = self.by_reason.most_common(MAX_REASONS_KEPT)
        return [{"reason": reason, "bookings": count} for reason, count in frequent]

    def add(self, pair: BookedPair, reason: str) -> None:
        self.by_reason[reason] += 1
        if len(self.first) < MAX_SKIPPED_KEPT:
            self.first.append(
                {
                    "booking_id": pair.booking_id,
                    "campaign_id": pair.campaign_id,
                    "reason": reason,
                }
            )


class SkipError(Exception):
    """Says why this booking cannot be built, for people."""


class Texts(dict[int, Compiled]):
    """Expressions by the id of what they belong to, each compiled when it is first asked for."""

    def __init__(self, compile_one: Callable[[int], Compiled]) -> None:
        self._compile_one = compile_one

    def __missing__(self, key: int) -> Compiled:
        self[key] = self._compile_one(key)
        return self[key]

    def compile_all(self, keys: Iterable[int]) -> None:
        """Compiles them for what they refer to, and for what is wrong with them."""
        for key in keys:
            if key not in self:
                self[key] = self._compile_one(key)


class Composer:
    """Compiles every expression once and joins it with the paths. Not thread-safe."""

    def __init__(self, market: Market, quarantine: Quarantine | None = None) -> None:
        self.market = market
        self.skipped = Skipped()
        self.quarantine = quarantine or Quarantine()
        self.vocabulary = Vocabulary(market, self.quarantine)
        self.edges = Texts(self._compile_edge)
        self.campaigns = Texts(self._compile_campaign)
        self.graph = Graph(market.links, market.names())
        self._paths: dict[int, dict[int, tuple[Path, ...]]] = {}
        self.offers: dict[int, Offer] = {}
        self._routes: dict[RouteKey, Route | str] = {}  # or why there is none

    @cached_property
    def party_ids(self) -> dict[str, int]:
        """Maps seller ids to parties."""
        return {party.seller_id: party_id for party_id, party in self.market.parties.items()}

    def definitions(self) -> Iterator[tuple[str, str]]:
        """Yields what campaigns and edges refer to, each after what it refers to itself, as far as
        it compiles. An edge that does not lets nothing by: once it is mended, replacing its
        definition is enough for all bookings behind it."""
        edges = {edge_id: self.edges[edge_id] for edge_id in self.market.edge_expressions}
        campaigns = self.market.campaigns.items()
        self.campaigns.compile_all(pk for pk, campaign in campaigns if "$" in campaign.expression)
        for name, expression in chain(
            self.vocabulary.slots.items(), self.vocabulary.audiences.items()
        ):
            yield name, expression.text
        for edge_id, compiled in edges.items():
            text = CLOSED if isinstance(compiled, ExpressionError) else compiled.text
            yield edge_name(edge_id), text

    def entries(self) -> Iterator[Entry]:
        """Yields the entries in ascending order of booking id."""
        for pair in self.market.bookings:
            try:
                yield self.compose(pair)
            except SkipError as skip:
                self.skipped.add(pair, str(skip))
        self.campaigns.compile_all(self.market.campaigns)  # one without a booking may be wrong, too

    def compose(self, pair: BookedPair) -> Entry:
        """Composes an entry, by positions instead of names: in a tenth of the time."""
        campaign_id = pair.campaign_id
        offer = self.offers.get(campaign_id) or self._make_offer(campaign_id)
        route = self._route(pair, offer.advertiser_id)
        row = BookingRow(
            pair.booking_id,
            campaign_id,
            offer.name,
            offer.advertiser,
            route.sellers[0],
            route.sellers,
            route.fee_percent,
            find_net(offer, route),
            route.reach_key,
            offer.bid_cpm if route.reach_key else 0.0,
        )
        return Entry(row, route.edge_ids, (route.conditions, offer.conditions), route.reach)

    def routes(self) -> RouteRecord:
        """Describes the graph for the index."""
        links = [
            (link.edge_id, link.seller_id, link.buyer_id, int(10_000 * (1 - Fraction(link.fee))))
            for link in self.market.links
        ]
        labels = {party_id: party.seller_id for party_id, party in self.market.parties.items()}
        buyers = {link.buyer_id for link in self.market.links}
        # Includes publishers without a booking: their first one needs no build either.
        publishers = {
            labels[link.seller_id]: link.seller_id
            for link in self.market.links
            if link.seller_id not in buyers
        }
        return RouteRecord(self.market.names(), links, labels, sorted(publishers.values()))

    def reaches(self) -> set[tuple[int, int]]:
        """Lists advertisers with limits of hops that bookings ask for; and every advertiser with
        the usual limit, so that a new booking needs no build."""
        campaigns = self.market.campaigns
        usual = {(campaign.advertiser_id, DEFAULT_HOPS) for campaign in campaigns.values()}
        return usual | {
            (campaigns[pair.campaign_id].advertiser_id, pair.hop_limit)
            for pair in self.market.bookings
            if pair.policy == Booking.Policy.ANY
        }

    def _compile_edge(self, edge_id: int) -> Compiled:
        link = self.graph.links[edge_id]
        text = self.market.edge_expressions[edge_id]
        return self._compile(ChangeKind.EDGE, edge_id, text, link.seller_id)

    def _compile_campaign(self, campaign_id: int) -> Compiled:
        row = self.market.campaigns[campaign_id]
        return self._compile(ChangeKind.CAMPAIGN, campaign_id, row.expression, row.advertiser_id)

    def _compile(self, kind: ChangeKind, object_id: int, text: str, party_id: int) -> Compiled:
        owner = self.market.organisation_of(party_id)
        return self.quarantine.compile(
            kind, object_id, text, lambda form: self.vocabulary.compile(form, owner)
        )

    def _make_offer(self, campaign_id: int) -> Offer:
        campaign = self.market.campaigns[campaign_id]
        expression = self.campaigns[campaign_id]
        if isinstance(expression, ExpressionError):
            raise SkipError(f"The campaign's expression no longer compiles: {expression}")
        offer = Offer(
            name=campaign.name,
            advertiser_id=campaign.advertiser_id,
            advertiser=self.market.parties[campaign.advertiser_id].name,
            conditions=campaign_text(campaign, expression),
            bid=campaign.bid_cpm.as_integer_ratio(),
            bid_cpm=float(campaign.bid_cpm),
        )
        self.offers[campaign_id] = offer
        return offer

    def _route(self, pair: BookedPair, advertiser_id: int) -> Route:
        """Finds a route once for all bookings between two parties that choose in the same way."""
        _, _, publisher_id, policy, pinned_edges, hop_limit = pair
        key = policy, publisher_id, advertiser_id, hop_limit, tuple(pinned_edges)
        route = self._routes.get(key)
        if route is None:
            try:
                route = self._make_route(pair, advertiser_id)
            except SkipError as skip:
                route = str(skip)
            self._routes[key] = route
        if isinstance(route, str):
            raise SkipError(route)
        return route

    def _make_route(self, pair: BookedPair, advertiser_id: int) -> Route:
        path = self._path(pair, advertiser_id)
        reach = (advertiser_id, pair.hop_limit) if pair.policy == ANY else None
        edge_ids = () if reach else path.edge_ids
        names = [reach_name(*reach)] if reach else [edge_name(edge_id) for edge_id in edge_ids]
        parties = self.market.parties
        sellers = tuple(parties[party_id].seller_id for party_id in path.party_ids)
        return Route(
            sellers=sellers,
            edge_ids=edge_ids,
            reach=reach,
            reach_key=path_key(*reach) if reach else 0,
            conditions=route_text(sellers[0], names),
            fee_percent=round(float(100 * (1 - path.net_share)), 4),
            share=path.net_share.as_integer_ratio(),
            kept=float(path.net_share),
        )

    def _path(self, pair: BookedPair, advertiser_id: int) -> Path:
        """Returns the path within the booking's hops; the cheapest one for a booking that takes
        any."""
        if pair.policy == Booking.Policy.PINNED:
            return self._pinned(pair, advertiser_id)
        return self._cheapest(pair.publisher_id, advertiser_id, pair.hop_limit)

    def _pinned(self, pair: BookedPair, advertiser_id: int) -> Path:
        try:
            return pin_path(
                self.graph,
                pair.pinned_edges,
                pair.publisher_id,
                advertiser_id,
                max_hops=pair.hop_limit,
            )
        except BrokenPathError as error:
            raise SkipError(f"Its pinned path does not hold: {error}.") from error

    def _cheapest(self, publisher_id: int, advertiser_id: int, hops: int) -> Path:
        if publisher_id not in self._paths:
            self._paths[publisher_id] = self.graph.cheapest_by_hops(publisher_id)
        path = within(self._paths[publisher_id].get(advertiser_id, ()), hops)
        if path is None:
            limit = "" if hops == MAX_HOPS else f" in at most {hops} hop{'s' * (hops > 1)}"
            raise SkipError(f"No active path leads from the publisher to the advertiser{limit}.")
        return path


def route_text(publisher: str, names: Sequence[str]) -> str:
    """Writes the first part of an entry; `names` are the definitions that its path consists of."""
    parts = [f"publisher.id = {json.dumps(publisher)}", *(f"@{name}" for name in names)]
    return " and ".join(parts)


def campaign_text(campaign: CampaignRow, expression: Readable) -> str:
    """Writes the second part: the flight, kept outside what campaigns share, and the expression."""
    parts = [f" and time >= '{utc(campaign.starts_at)}'"]
    if campaign.ends_at is not None:
        parts.append(f"time < '{utc(campaign.ends_at)}'")
    # The line break ends a comment in the campaign's last line.
    parts.append(f"({expression.text}\n)")
    return " and ".join(parts)


def edge_name(edge_id: int) -> str:
    return f"edge.{edge_id}"


def reach_name(advertiser_id: int, hops: int) -> str:
    return f"reach.{advertiser_id}.{hops}"


def find_net(offer: Offer, route: Route) -> float:
    """Rounds the exact product of bid and share. Floats do where it is clear which way they round;
    of a million bookings, a thousand need the large integers."""
    rough = offer.bid_cpm * route.kept
    if rough < MAX_ROUGH and abs(rough * 10_000 % 1 - 0.5) > UNCLEAR:
        return round(rough, 4)
    (bid, bid_unit), (share, share_unit) = offer.bid, route.share
    return round(bid * share / (bid_unit * share_unit), 4)


@lru_cache(maxsize=100_000)  # most bookings share theirs with others of their campaign
def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

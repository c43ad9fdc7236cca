"""From the market to what the index holds: one entry per booking, one definition per edge and
audience.

A booking that cannot be built is left out with its reason; it never spoils the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from exchange.market.models import Booking
from exchange.market.models.bookings import DEFAULT_HOPS
from exchange.routing import MAX_HOPS, Graph, Path
from exchange.routing.policies import BrokenPathError, pin_path
from exchange.serving.bookings import BookingRow
from exchange.snapshots.market import BookedPair, CampaignRow, Market
from exchange.snapshots.models import ChangeKind
from exchange.snapshots.quarantine import Quarantine
from exchange.snapshots.vocabulary import Vocabulary
from matcher_ext.paths import path_key
from targeting import Expression, ExpressionError

MAX_SKIPPED_KEPT = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A booking as the index takes it, and as answers name it. `reach` instead of edges: the
    advertiser and the most hops of one that takes any path."""

    row: BookingRow
    text: str
    edge_ids: tuple[int, ...]
    reach: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Routes:
    """The exchange graph as `ATree.set_routes` takes it."""

    names: dict[int, str]
    links: list[tuple[int, int, int, int]]
    labels: dict[int, str]
    publishers: set[int]


@dataclass(slots=True)
class Skipped:
    """Bookings left out: the first ones with their reason, and how many in all."""

    first: list[dict[str, object]] = field(default_factory=list)
    count: int = 0

    def add(self, pair: BookedPair, reason: str) -> None:
        self.count += 1
        if len(self.first) < MAX_SKIPPED_KEPT:
            self.first.append(
                {
                    "booking_id": pair.booking_id,
                    "campaign_id": pair.campaign_id,
                    "reason": reason,
                }
            )


class SkipError(Exception):
    """This booking cannot be built; the message says why, for people."""


class Compiled(dict[int, Expression | ExpressionError]):
    """Expressions by the id of what they belong to, each compiled when it is first asked for."""

    def __init__(self, compile_one: Callable[[int], Expression | ExpressionError]) -> None:
        self._compile_one = compile_one

    def __missing__(self, key: int) -> Expression | ExpressionError:
        self[key] = self._compile_one(key)
        return self[key]


class Composer:
    """Compiles every expression once and joins it with the paths. Not thread-safe."""

    def __init__(self, market: Market, quarantine: Quarantine | None = None) -> None:
        self.market = market
        self.skipped = Skipped()
        self.quarantine = quarantine or Quarantine()
        self.vocabulary = Vocabulary(market, self.quarantine)
        self.edges = Compiled(self._compile_edge)
        self.campaigns = Compiled(self._compile_campaign)
        self.graph = Graph(market.links, market.names())
        self._paths: dict[tuple[int, int], dict[int, Path]] = {}
        self._told: dict[tuple[int, ...], tuple[tuple[str, ...], float]] = {}

    @cached_property
    def party_ids(self) -> dict[str, int]:
        """By seller id."""
        return {party.seller_id: party_id for party_id, party in self.market.parties.items()}

    def definitions(self) -> Iterator[tuple[str, Expression]]:
        """What campaigns and edges refer to, each after what it refers to itself, as far as it
        compiles; what needs another one is skipped by `entries`."""
        edges = {edge_id: self.edges[edge_id] for edge_id in self.market.edge_expressions}
        for campaign_id in self.market.campaigns:
            self.campaigns[campaign_id]
        yield from self.vocabulary.slots.items()
        yield from self.vocabulary.audiences.items()
        for edge_id, compiled in edges.items():
            if isinstance(compiled, Expression):
                yield edge_name(edge_id), compiled

    def entries(self) -> Iterator[Entry]:
        """In ascending order of booking id."""
        for pair in self.market.bookings:
            try:
                yield self.compose(pair)
            except SkipError as skip:
                self.skipped.add(pair, str(skip))

    def compose(self, pair: BookedPair) -> Entry:
        campaign = self.market.campaigns[pair.campaign_id]
        expression = self._usable(self.campaigns[pair.campaign_id], "The campaign's expression")
        path = self._path(pair, campaign.advertiser_id)
        row = self._row(pair, campaign, path)
        if pair.policy == Booking.Policy.ANY:
            reach = campaign.advertiser_id, pair.hop_limit
            text = entry_text(row.publisher, campaign, [reach_name(*reach)], expression)
            bid_cpm = float(campaign.bid_cpm)
            row = replace(row, reach=path_key(*reach), bid_cpm=bid_cpm)
            return Entry(row, text, (), reach)
        for edge_id in path.edge_ids:
            self._usable(self.edges[edge_id], f"The expression of edge {edge_id} on its path")
        names = [edge_name(edge_id) for edge_id in path.edge_ids]
        return Entry(row, entry_text(row.publisher, campaign, names, expression), path.edge_ids)

    def routes(self) -> Routes:
        """The graph for the index, without edges whose expression does not compile."""
        links = [
            (link.edge_id, link.seller_id, link.buyer_id, int(10_000 * (1 - Fraction(link.fee))))
            for link in self.market.links
            if isinstance(self.edges[link.edge_id], Expression)
        ]
        labels = {party_id: party.seller_id for party_id, party in self.market.parties.items()}
        buyers = {link.buyer_id for link in self.market.links}
        # Also publishers without a booking yet: their first one needs no build either.
        publishers = {
            labels[link.seller_id]: link.seller_id
            for link in self.market.links
            if link.seller_id not in buyers
        }
        return Routes(self.market.names(), links, labels, set(publishers.values()))

    def reaches(self) -> set[tuple[int, int]]:
        """Advertisers with limits of hops that bookings ask for; and every advertiser with the
        usual limit, so that a new booking needs no build."""
        campaigns = self.market.campaigns
        usual = {(campaign.advertiser_id, DEFAULT_HOPS) for campaign in campaigns.values()}
        return usual | {
            (campaigns[pair.campaign_id].advertiser_id, pair.hop_limit)
            for pair in self.market.bookings
            if pair.policy == Booking.Policy.ANY
        }

    def _compile_edge(self, edge_id: int) -> Expression | ExpressionError:
        link = self.graph.links[edge_id]
        text = self.market.edge_expressions[edge_id]
        return self._compile(ChangeKind.EDGE, edge_id, text, link.seller_id)

    def _compile_campaign(self, campaign_id: int) -> Expression | ExpressionError:
        row = self.market.campaigns[campaign_id]
        return self._compile(ChangeKind.CAMPAIGN, campaign_id, row.expression, row.advertiser_id)

    def _compile(
        self, kind: ChangeKind, object_id: int, text: str, party_id: int
    ) -> Expression | ExpressionError:
        owner = self.market.organisation_of(party_id)
        return self.quarantine.compile(
            kind, object_id, text, lambda form: self.vocabulary.compile(form, owner)
        )

    def _usable(self, compiled: Expression | ExpressionError, what: str) -> Expression:
        if isinstance(compiled, ExpressionError):
            raise SkipError(f"{what} no longer compiles: {compiled}")
        return compiled

    def _path(self, pair: BookedPair, advertiser_id: int) -> Path:
        """Of a booking that takes any path: the cheapest one that there is within its hops."""
        if pair.policy == Booking.Policy.PINNED:
            return self._pinned(pair, advertiser_id)
        hops = pair.hop_limit if pair.policy == Booking.Policy.ANY else MAX_HOPS
        return self._cheapest(pair.publisher_id, advertiser_id, hops)

    def _pinned(self, pair: BookedPair, advertiser_id: int) -> Path:
        try:
            return pin_path(self.graph, pair.pinned_edges, pair.publisher_id, advertiser_id)
        except BrokenPathError as error:
            raise SkipError(f"Its pinned path does not hold: {error}.") from error

    def _cheapest(self, publisher_id: int, advertiser_id: int, hops: int) -> Path:
        key = publisher_id, hops
        if key not in self._paths:
            self._paths[key] = self.graph.cheapest_paths(publisher_id, max_hops=hops)
        path = self._paths[key].get(advertiser_id)
        if path is None:
            within = "" if hops == MAX_HOPS else f" in at most {hops} hops"
            raise SkipError(f"No active path leads from the publisher to the advertiser{within}.")
        return path

    def _row(self, pair: BookedPair, campaign: CampaignRow, path: Path) -> BookingRow:
        parties = self.market.parties
        sellers, fee_percent = self._tell(path)
        return BookingRow(
            booking_id=pair.booking_id,
            campaign_id=pair.campaign_id,
            campaign=campaign.name,
            advertiser=parties[campaign.advertiser_id].name,
            publisher=sellers[0],
            path=sellers,
            fee_percent=fee_percent,
            net_cpm=find_net(campaign.bid_cpm, path.net_share),
        )

    def _tell(self, path: Path) -> tuple[tuple[str, ...], float]:
        """What many bookings say of the path that they share."""
        if path.edge_ids not in self._told:
            parties = self.market.parties
            sellers = tuple(parties[party_id].seller_id for party_id in path.party_ids)
            self._told[path.edge_ids] = sellers, round(float(100 * (1 - path.net_share)), 4)
        return self._told[path.edge_ids]


def entry_text(
    publisher: str, campaign: CampaignRow, names: Sequence[str], expression: Expression
) -> str:
    """`names`: the definitions that its path consists of."""
    parts = [f"publisher.id = {json.dumps(publisher)}", f"time >= '{utc(campaign.starts_at)}'"]
    if campaign.ends_at is not None:
        parts.append(f"time < '{utc(campaign.ends_at)}'")
    parts += [f"@{name}" for name in names]
    # The line break ends a comment in the campaign's last line.
    parts.append(f"({expression.text}\n)")
    return " and ".join(parts)


def edge_name(edge_id: int) -> str:
    return f"edge.{edge_id}"


def reach_name(advertiser_id: int, hops: int) -> str:
    return f"reach.{advertiser_id}.{hops}"


def find_net(bid_cpm: Decimal, share: Fraction) -> float:
    """Exact before it is rounded, like the product of fractions, without their common divisors: a
    sixth of the time, a million times per build."""
    numerator, denominator = bid_cpm.as_integer_ratio()
    return round(numerator * share.numerator / (denominator * share.denominator), 4)


@lru_cache(maxsize=100_000)  # most bookings share theirs with others of their campaign
def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

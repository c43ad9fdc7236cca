"""Describes the path of a booking as a page shows it: each hop with its edge, or why there is none.

The path itself is chosen by `exchange.routing`, exactly as the snapshot build does it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from exchange.accounts.models import User
from exchange.market.models import Booking, Edge, Party
from exchange.market.saved_graph import SavedGraph, load_graph
from exchange.market.visibility import PriceSight, Sight, sight, sight_price
from exchange.routing import Path
from exchange.routing.alternatives import alternative_paths
from exchange.routing.policies import BrokenPathError, pin_path

PINS_OFFERED = 20
UNSEEN_PRICE = PriceSight(reads_total=False, reads_net=False)


@dataclass(frozen=True, slots=True)
class Hop:
    """One edge of a path, as far as the person who looks at it may see it."""

    edge: Edge
    buyer: Party
    seen: Sight

    @property
    def rule(self) -> str:
        return self.seen.redact(self.edge.expression)


@dataclass(frozen=True, slots=True)
class BookingPath:
    """A booking's path: either hops or a reason; `hops` is empty exactly when `reason` is not.
    `price` says what of fees and net CPM the person who looks at it may see."""

    booking: Booking
    hops: tuple[Hop, ...]
    net_share: Fraction
    reason: str
    price: PriceSight = UNSEEN_PRICE

    @property
    def fee_percent(self) -> Decimal:
        return as_percent(1 - self.net_share)

    @property
    def net_cpm(self) -> Decimal:
        share = Decimal(self.net_share.numerator) / Decimal(self.net_share.denominator)
        return (self.booking.campaign.bid_cpm * share).quantize(Decimal("0.01"))


def as_percent(share: Fraction) -> Decimal:
    return (Decimal(share.numerator) * 100 / Decimal(share.denominator)).quantize(Decimal("0.01"))


def find_paths(bookings: Iterable[Booking], viewer: User) -> list[BookingPath]:
    """Finds the paths of bookings, which must come with `campaign__advertiser` and `publisher`; two
    queries in all while the graph stays the same."""
    bookings = list(bookings)
    if not bookings:
        return []
    graph = load_graph()
    cheapest = find_cheapest(bookings, graph)
    chosen = [choose_path(booking, graph, cheapest) for booking in bookings]
    edges = load_edges(chosen)
    return [
        describe_path(booking, path, edges, viewer)
        for booking, path in zip(bookings, chosen, strict=True)
    ]


# A publisher, how many hops paths may have, and an advertiser.
Ends = tuple[int, int, int]


def find_cheapest(bookings: Iterable[Booking], graph: SavedGraph) -> dict[Ends, Path]:
    """Finds cheapest paths: one walk for all that share their publisher and limit of hops."""
    wanted: dict[tuple[int, int], set[int]] = defaultdict(set)
    for booking in bookings:
        if booking.policy != Booking.Policy.PINNED:
            wanted[booking.publisher_id, booking.hop_limit].add(booking.campaign.advertiser_id)
    return {
        (publisher_id, hops, advertiser_id): path
        for (publisher_id, hops), advertiser_ids in wanted.items()
        for advertiser_id, path in graph.cheapest_paths(
            publisher_id, advertiser_ids, max_hops=hops
        ).items()
    }


def choose_path(booking: Booking, graph: SavedGraph, cheapest: dict[Ends, Path]) -> Path | None:
    advertiser_id = booking.campaign.advertiser_id
    if booking.policy != Booking.Policy.PINNED:
        return cheapest.get((booking.publisher_id, booking.hop_limit, advertiser_id))
    return find_pinned(booking, graph)


def find_pinned(booking: Booking, graph: SavedGraph) -> Path | None:
    source, target = booking.publisher_id, booking.campaign.advertiser_id
    try:
        return pin_path(graph, booking.pinned_edges, source, target, max_hops=booking.hop_limit)
    except BrokenPathError:
        return None


def load_edges(paths: Iterable[Path | None]) -> dict[int, Edge]:
    ids = {edge_id for path in paths if path for edge_id in path.edge_ids}
    return Edge.objects.with_parties().in_bulk(ids)


def describe_path(
    booking: Booking, path: Path | None, edges: dict[int, Edge], viewer: User
) -> BookingPath:
    if path is None:
        return BookingPath(booking, (), Fraction(0), explain_no_path(booking))
    sold = [edges[edge_id] for edge_id in path.edge_ids]
    hops = tuple(Hop(edge, edge.buyer, sight(viewer, edge)) for edge in sold)
    parties = [sold[0].seller, *(edge.buyer for edge in sold)]
    return BookingPath(booking, hops, path.net_share, "", sight_price(viewer, parties))


def show_path(booking: Booking, path: Path | None, viewer: User) -> BookingPath:
    """Describes a path that somebody else chose."""
    return describe_path(booking, path, load_edges([path]), viewer)


def show_edges(edge_ids: Iterable[int], viewer: User) -> list[Hop]:
    """Describes single edges, in the order of the ids."""
    edge_ids = list(edge_ids)
    edges = Edge.objects.with_parties().in_bulk(edge_ids)
    return [Hop(edges[pk], edges[pk].buyer, sight(viewer, edges[pk])) for pk in edge_ids]


def explain_no_path(booking: Booking) -> str:
    publisher, advertiser = booking.publisher, booking.campaign.advertiser
    if booking.policy == Booking.Policy.PINNED:
        return (
            f"The path that this booking is pinned to does not lead from {publisher.name} to "
            f"{advertiser.name} in at most {booking.most_hops}, so it is never eligible. "
            "Choose another path."
        )
    return (
        f"No chain of active edges leads from {publisher.name} to {advertiser.name} "
        f"in at most {booking.most_hops}, so this booking is never eligible. "
        "Ask a graph operator to connect the two."
    )


def offer_pins(booking: Booking, viewer: User) -> list[tuple[str, str]]:
    """Lists paths that the booking may be pinned to, as choices of a form; the pinned one is among
    them also where others are cheaper."""
    graph = load_graph()
    source, target = booking.publisher_id, booking.campaign.advertiser_id
    links = graph.between(source, target).links.values()
    paths = alternative_paths(links, source, target, limit=PINS_OFFERED)
    pinned = find_pinned(booking, graph) if booking.pinned_edges else None
    if pinned and pinned not in paths:
        paths.append(pinned)
    parties = Party.objects.in_bulk({party_id for path in paths for party_id in path.party_ids})
    return [
        (
            ",".join(map(str, path.edge_ids)),
            describe_pin([parties[party_id] for party_id in path.party_ids], path, viewer),
        )
        for path in paths
    ]


def describe_pin(parties: list[Party], path: Path, viewer: User) -> str:
    names = " → ".join(party.name for party in parties)
    if not sight_price(viewer, parties).reads_total:
        return names
    return f"{names} · fees {as_percent(1 - path.net_share)} %"

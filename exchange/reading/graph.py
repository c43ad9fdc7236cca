"""Reads the graph as one person sees it: the exchange's people all of it; people who trade the
edges that they sell or buy over, and those on the paths of their bookings, by name.

What is drawn are the trunk edges, between publishers and intermediaries; advertisers are folded
under those who sell to them. The exchange's own trunk is kept for each version of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.models import Booking, Edge, Party
from exchange.market.querysets import EdgeQuerySet
from exchange.market.saved_graph import Version, load_graph, read_version
from exchange.market.visibility import visible
from exchange.reading.paths import choose_path, find_cheapest
from exchange.reports.edge_counts import NOT_COUNTED, EdgeCounts, read_edge_counts

# A larger drawing says nothing: people get a search instead, and see groups as a matrix.
MOST_BOXES = 300
MOST_LINES = 1_000
# People who trade see, beside their own edges, the paths of so many of their newest bookings.
BOOKINGS_FOLLOWED = 500


@dataclass(frozen=True, slots=True)
class Sale:
    """An edge, as far as a drawing needs it."""

    edge_id: int
    seller_id: int
    buyer_id: int


@dataclass(frozen=True, slots=True)
class Node:
    """A party, as far as a drawing needs it."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Trunk:
    """What is drawn. `folds` are the ids of edges to advertisers, by their seller; `nodes` all
    sellers, and the buyers of `sales`."""

    sales: tuple[Sale, ...]
    folds: Mapping[int, tuple[int, ...]]
    nodes: Mapping[int, Node]


def seen_edges(person: User) -> EdgeQuerySet:
    """Finds active edges that the person's graph is made of; to be asked for once, and handed on.
    Names them by id: for an `or` over two tables Postgres would read all edges."""
    edges = Edge.objects.active()
    if is_exchange_operator(person):
        return edges
    own = visible(edges, person).order_by().values_list("pk", flat=True)
    return edges.filter(pk__among=sorted({*own, *follow_bookings(person)}))


def follow_bookings(person: User) -> set[int]:
    """Finds edges on the paths that the person's booking pages show."""
    bookings = visible(Booking.objects.active().with_parties(), person).order_by("-pk")
    newest = list(bookings[:BOOKINGS_FOLLOWED])
    if not newest:
        return set()
    graph = load_graph()
    cheapest = find_cheapest(newest, graph)
    paths = (choose_path(booking, graph, cheapest) for booking in newest)
    return {edge_id for path in paths if path for edge_id in path.edge_ids}


def load_trunk(person: User, edges: EdgeQuerySet) -> Trunk | None:
    """Loads the trunk of the edges that the person sees; None if there are too many to draw."""
    return load_whole_trunk() if is_exchange_operator(person) else read_trunk(edges)


_lock = Lock()
_kept: tuple[Version, Trunk | None] | None = None


def load_whole_trunk() -> Trunk | None:
    """Loads everybody's trunk: one small query, unless the graph has changed since this process
    last read it."""
    global _kept
    version, is_everybodys = read_version()
    kept = _kept
    if kept is not None and kept[0] == version and is_everybodys:
        return kept[1]
    with _lock:  # a second thread waits for the first, instead of reading the same
        if _kept is not None and _kept[0] == version and is_everybodys:
            return _kept[1]
        trunk = read_trunk(Edge.objects.active())
        after, is_everybodys = read_version()
        if after == version and is_everybodys:
            _kept = version, trunk
        return trunk


def read_trunk(edges: EdgeQuerySet) -> Trunk | None:
    to_advertisers = Q(buyer__kind=Party.Kind.ADVERTISER)
    rows = edges.exclude(to_advertisers).order_by("pk")
    sales = tuple(
        Sale(*row) for row in rows.values_list("pk", "seller_id", "buyer_id")[: MOST_LINES + 1]
    )
    if len(sales) > MOST_LINES:
        return None
    folded = edges.filter(to_advertisers).order_by("seller_id").values_list("seller_id")
    grouped = folded.annotate(ids=ArrayAgg("pk", order_by="pk"))[: MOST_BOXES + 1]
    folds = {seller_id: tuple(ids) for seller_id, ids in grouped}
    ends = {party for sale in sales for party in (sale.seller_id, sale.buyer_id)}
    nodes = read_nodes(ends | folds.keys())
    return Trunk(sales, folds, nodes) if len(nodes) <= MOST_BOXES else None


def read_nodes(party_ids: Iterable[int]) -> dict[int, Node]:
    rows = Party.objects.filter(pk__in=party_ids).order_by("name")
    return {pk: Node(name, kind) for pk, name, kind in rows.values_list("pk", "name", "kind")}


def read_seen_counts(person: User) -> EdgeCounts:
    """Reads counts over everybody's visits, which are told to people of the exchange alone."""
    return read_edge_counts() if is_exchange_operator(person) else NOT_COUNTED

"""Finds the bookings that a draft concerns: those that it may give other visits, or another path.

Found without asking a visit: over the paths that lead across an edge, before or after, and by what
expressions use. Bounded, and said where more are concerned than are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from django.db import connection

from exchange.accounts.models import User
from exchange.findings.changed import over_edges
from exchange.findings.services import judged
from exchange.market.impact import PAIRS_ASKED, find_sources, reach, users
from exchange.market.models import Attribute, Audience, Booking, Campaign, Edge, ValueList
from exchange.market.saved_graph import SavedGraph
from exchange.market.visibility import visible
from exchange.reading.drafted_market import NEW_EDGE, Draft

MOST_IDS = 5_000
MOST_BOOKINGS = 500  # whose visits are counted: some seconds
MOST_EDGES = 30  # that use one audience or list
SELECT_PASSING = """
    SELECT market_booking.id
    FROM unnest(%s::bigint[], %s::bigint[], %s::int[], %s::int[])
            AS pair (publisher_id, advertiser_id, fewest, most)
        JOIN market_booking USING (publisher_id, advertiser_id)
    WHERE is_active AND retired_at IS NULL AND policy = 'cheapest'
        AND hop_limit BETWEEN fewest AND most
    LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Concerned:
    """`bookings` are those that serve, or will, and that the person may see: the first of
    `serving`. `idle` ones are active, but their campaigns are not; `unseen` ones are others'. With
    `is_cut` there are more than were looked for."""

    bookings: list[Booking] = field(default_factory=list)
    serving: int = 0
    idle: int = 0
    unseen: int = 0
    is_cut: bool = False

    @property
    def has_more(self) -> bool:
        """Tells whether the person may see more than are counted."""
        return self.is_cut or self.serving > len(self.bookings)


def find_concerned(draft: Draft, person: User, graphs: Iterable[SavedGraph]) -> Concerned:
    found = list(dict.fromkeys(islice(find_ids(draft, list(graphs)), MOST_IDS + 1)))
    ids = found[:MOST_IDS]
    serving = judged().order_by().filter(pk__in=ids)
    seen = set(visible(serving, person).values_list("pk", flat=True))
    first = [pk for pk in ids if pk in seen][:MOST_BOOKINGS]
    serving_count = serving.count()
    return Concerned(
        bookings=list(judged().order_by("-pk").filter(pk__in=first)),
        serving=len(seen),
        idle=len(ids) - serving_count,
        unseen=serving_count - len(seen),
        is_cut=len(found) > MOST_IDS,
    )


def find_ids(draft: Draft, graphs: list[SavedGraph]) -> Iterator[int]:
    """Finds those first that are sure to be concerned: on any path an edge is one of many."""
    row = draft.row
    if isinstance(row, Edge):
        yield from find_over_edge(row, graphs)
    elif isinstance(row, Audience | ValueList):
        word = "audience" if isinstance(row, Audience) else "list"
        yield from find_using(f"{word}:{row.pk}", graphs)
    elif isinstance(row, Attribute):
        yield from find_by_requirement(row)


def find_over_edge(edge: Edge, graphs: list[SavedGraph]) -> Iterator[int]:
    """Finds active bookings that may take the edge: as it is saved, and as it would be."""
    edge_id = edge.pk or NEW_EDGE
    active = Booking.objects.active().order_by()
    pinned = active.filter(policy=Booking.Policy.PINNED, pinned_edges__contains=[edge_id])
    yield from pinned.values_list("pk", flat=True)[: MOST_IDS + 1]
    for graph in unique(graphs):
        yield from find_passing(graph, edge_id)
    ends = {(edge.seller_id, edge.buyer_id)}
    ends |= set(Edge.objects.filter(pk=edge.pk).order_by().values_list("seller_id", "buyer_id"))
    on_any = active.filter(policy=Booking.Policy.ANY)
    if on_any.exists():
        yield from on_any.filter(over_edges(ends)).values_list("pk", flat=True)[: MOST_IDS + 1]


def unique(graphs: Iterable[SavedGraph]) -> list[SavedGraph]:
    return list({id(graph): graph for graph in graphs}.values())


def find_passing(graph: SavedGraph, edge_id: int) -> Iterator[int]:
    passing = graph.find_passing(edge_id, among=find_sources(graph, edge_id))
    while some := list(islice(passing, PAIRS_ASKED)):
        columns = [list(column) for column in zip(*some, strict=True)]
        with connection.cursor() as cursor:
            cursor.execute(SELECT_PASSING, [*columns, MOST_IDS + 1])
            rows = cursor.fetchall()
        yield from sorted((row[0] for row in rows), reverse=True)


def find_using(word: str, graphs: list[SavedGraph]) -> Iterator[int]:
    """Finds bookings of campaigns that use the word, and those over edges that do, directly or
    through audiences."""
    words = reach({word})
    campaigns = users(Campaign, words).order_by().values("pk")
    active = Booking.objects.active().order_by()
    yield from active.filter(campaign__in=campaigns).values_list("pk", flat=True)[: MOST_IDS + 1]
    for edge in users(Edge, words).filter(is_active=True).order_by("pk")[:MOST_EDGES]:
        yield from find_over_edge(edge, graphs)


def find_by_requirement(attribute: Attribute) -> Iterator[int]:
    """Finds bookings that a changed attribute may touch. Whether every visit must carry it is all
    of an attribute that decides about visits."""
    saved = Attribute.objects.filter(pk=attribute.pk).first()
    if attribute.is_required != bool(saved and saved.is_required):
        active = Booking.objects.active().order_by("-pk")
        yield from active.values_list("pk", flat=True)[: MOST_IDS + 1]

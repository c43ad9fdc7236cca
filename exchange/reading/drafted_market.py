"""Reads the market as if one thing were saved otherwise: its names, its edges, and bookings' ways.

Without a draft it is the market as it is saved. Nothing is counted here. Not thread-safe.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.history import Revision, content_of
from exchange.market.models import Attribute, Audience, Booking, Campaign, Edge, ValueList
from exchange.market.names import Names, Values, load_names, load_values, with_audience, with_values
from exchange.market.saved_graph import WHOLE, Row, SavedGraph, load_graph
from exchange.reading.paths import choose_path, find_cheapest
from targeting import Expression, ExpressionError

Drafted = Edge | Audience | ValueList | Attribute | Campaign | Booking
NEW_EDGE = 0  # the id of one that is not saved yet


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """One thing as it would be saved; of a list, also its values, None where they stay."""

    row: Drafted
    values: Values | None = None

    @property
    def changes_campaigns(self) -> bool:
        """Tells whether campaigns may want other visits after the draft."""
        return isinstance(self.row, Audience | ValueList | Campaign)


@dataclass(frozen=True, slots=True)
class Way:
    """What visits of a booking may take: the edges of its path, or all that a path may have.
    Without edges there is no path."""

    booking: Booking
    edge_ids: tuple[int, ...]

    @property
    def is_any(self) -> bool:
        return self.booking.policy == Booking.Policy.ANY


class DraftedMarket:
    def __init__(self, draft: Draft | None = None, saved: DraftedMarket | None = None) -> None:
        """Takes what would be saved; `saved` is the market without the draft, whose graph is used
        again."""
        self.draft = draft
        self._catalog = load_catalog()
        self._reader = ExpressionReader(self._catalog, self._names_of)
        self._edges: dict[int, Edge] = {}
        self._rules: dict[int, Expression | None] = {}
        self.graph: SavedGraph = self._draft_graph(saved.graph if saved else load_graph())

    def _draft_graph(self, graph: SavedGraph) -> SavedGraph:
        row = self.draft.row if self.draft else None
        if not isinstance(row, Edge):
            return graph
        edge_id = row.pk or NEW_EDGE
        self._edges[edge_id] = row
        is_open = row.is_active and not row.is_retired
        return graph.with_edge(edge_id, link_of(row, edge_id) if is_open else None)

    def _names_of(self, organisation_id: int | None) -> Names:
        names = load_names(organisation_id, self._catalog)
        draft = self.draft
        if draft is None:
            return names
        row = draft.row
        if isinstance(row, Audience) and names.definitions.ids.get(row.name) == row.pk:
            return with_audience(names, row, self._catalog)
        if (
            isinstance(row, ValueList)
            and draft.values is not None
            and names.lists.ids.get(row.name) == row.pk
        ):
            return with_values(names, row, draft.values, self._catalog)
        return names

    def _drafted(self, booking: Booking) -> Booking:
        """Gives the booking as the draft would have it."""
        row = self.draft.row if self.draft else None
        return row if isinstance(row, Booking) and row.pk == booking.pk else booking

    def campaign_of(self, booking: Booking) -> Campaign:
        row = self.draft.row if self.draft else None
        is_drafted = isinstance(row, Campaign) and row.pk == booking.campaign_id
        return row if is_drafted and isinstance(row, Campaign) else booking.campaign

    # --- paths

    def find_ways(self, bookings: Iterable[Booking]) -> list[Way]:
        """Finds what visits of each booking may take. Bookings come with `campaign__advertiser` and
        `publisher`."""
        drafted = [self._drafted(booking) for booking in bookings]
        cheapest = find_cheapest(drafted, self.graph)
        ways = []
        for booking in drafted:
            if booking.policy == Booking.Policy.ANY:
                ends = booking.publisher_id, booking.campaign.advertiser_id
                between = self.graph.between(*ends, max_hops=booking.hop_limit)
                ways.append(Way(booking, tuple(between.links)))
            else:
                path = choose_path(booking, self.graph, cheapest)
                ways.append(Way(booking, path.edge_ids if path else ()))
        self._load({pk for way in ways for pk in way.edge_ids})
        return ways

    def _load(self, edge_ids: set[int]) -> None:
        missing = edge_ids - self._edges.keys()
        if missing:
            self._edges |= Edge.objects.with_parties().in_bulk(missing)

    def edge(self, edge_id: int) -> Edge:
        return self._edges[edge_id]

    # --- expressions

    def read_rule(self, edge_id: int) -> Expression | None:
        """Reads an edge's rule; gives None if it does not compile."""
        if edge_id not in self._rules:
            edge = self._edges[edge_id]
            self._rules[edge_id] = self.read_text(edge.expression, edge.seller.organisation_id)
        return self._rules[edge_id]

    def read_campaign(self, campaign: Campaign) -> Expression | None:
        return self.read_text(campaign.expression, campaign.advertiser.organisation_id)

    def read_text(self, text: str, organisation_id: int | None) -> Expression | None:
        try:
            return self._reader.read(text, organisation_id)
        except ExpressionError:
            return None


def as_it_was(row: Drafted, revision: Revision) -> Draft:
    """Gives the thing with the content of an earlier version."""
    former = copy.copy(row)
    for field in content_of(revision.event):
        if field.name != "current_number":
            setattr(former, field.attname, getattr(revision.event, field.attname))
    former.retired_at = revision.event.retired_at
    if isinstance(former, ValueList):
        number = revision.event.current_number
        return Draft(former, load_values(former.pk, number, former.type))
    return Draft(former)


def link_of(edge: Edge, edge_id: int) -> Row:
    return edge_id, edge.seller_id, edge.buyer_id, WHOLE - round(WHOLE // 100 * edge.fee_percent)

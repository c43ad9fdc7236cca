"""Shows the graph: who sells visits to whom, drawn; where that is too much, a search, a party and
two hops around it, and groups as a matrix. Always a table of the same edges as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.impact import impact_of_edge
from exchange.market.models import Edge, Party
from exchange.market.querysets import EdgeQuerySet, PartyQuerySet
from exchange.market.visibility import Sight, owned, sight
from exchange.reading.around import look_around
from exchange.reading.graph import MOST_BOXES, load_trunk, read_seen_counts, seen_edges
from exchange.reading.matrix import read_matrix
from exchange.reading.paging import Order, count_roughly, read_page
from exchange.reading.passing import measure_passing
from exchange.reports.edge_counts import EdgeCount
from exchange.web.graph.matrix import draw_matrix, list_pairs
from exchange.web.graph.pictures import picture_around, picture_trunk
from exchange.web.graph.rates import LEGEND, rate_class
from exchange.web.views.listing import person_of

BY_NAMES = Order(("seller__name", "buyer__name"))
FOUND_SHOWN = 12
NEIGHBOURS_SHOWN = 6
NEIGHBOURS_LOOKED_AT = 200
PAIRS_SHOWN = 25


@dataclass(frozen=True, slots=True)
class Row:
    """An edge as far as the person sees it; `count` is what the last night counted of it."""

    edge: Edge
    seen: Sight
    count: EdgeCount | None

    @property
    def rule(self) -> str:
        return self.seen.redact(self.edge.expression)

    @property
    def css(self) -> str:
        return rate_class(self.count)


@require_safe
def show_graph(request: HttpRequest) -> HttpResponse:
    person, text = person_of(request), request.GET.get("q", "").strip()[:200]
    edges = seen_edges(person)
    trunk = load_trunk(person, edges)
    context = {
        "picture": picture_trunk(person, trunk) if trunk is not None else None,
        "is_drawn": trunk is not None,
        "most_boxes": MOST_BOXES,
        "q": text,
        "found": find_parties(person, edges, text) if text else None,
        "party_count": count_roughly(seen_parties(person, edges)),
        "edge_count": count_roughly(edges.order_by()),
        **read_table(request, person, edges),
    }
    return render(request, "graph/graph.html", context)


@require_safe
def show_party(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows a party and two hops around it."""
    person = person_of(request)
    seen = seen_edges(person)
    party = find_party(person, seen, pk)
    around = look_around(person, party, seen)
    edges = seen.filter(Q(seller=party) | Q(buyer=party))
    context = {
        "party": party,
        "picture": picture_around(person, around),
        "is_owner_told": is_exchange_operator(person),
        "seller_count": count_roughly(edges.filter(buyer=party).order_by()),
        "buyer_count": count_roughly(edges.filter(seller=party).order_by()),
        **read_table(request, person, edges),
    }
    return render(request, "graph/party.html", context)


@require_safe
def show_groups(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    matrix = read_matrix(person)
    pairs = Paginator(list_pairs(matrix), PAIRS_SHOWN).get_page(request.GET.get("page"))
    context = {
        "matrix": matrix,
        "picture": draw_matrix(matrix),
        "pairs": pairs,
        "largest": pairs.object_list,
        "legend": LEGEND,
    }
    return render(request, "graph/groups.html", context)


@require_safe
def show_edge_drawer(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows what a click on a line tells."""
    person = person_of(request)
    edge = get_object_or_404(seen_edges(person).with_parties(), pk=pk)
    (row,) = make_rows(person, [edge])
    is_own_visits = row.seen.reads_conditions and edge.seller.kind == Party.Kind.PUBLISHER
    context = {
        "row": row,
        "use": impact_of_edge(edge) if row.seen.has_page else None,
        "sampled": measure_passing([edge])[0] if is_own_visits and row.count is None else None,
    }
    return render(request, "graph/_edge_drawer.html", context)


@require_safe
def show_party_drawer(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows what a click on a box tells: whom the party buys from and sells to."""
    person = person_of(request)
    edges = seen_edges(person).with_parties()
    party = find_party(person, edges, pk)
    sides = [
        ("Buys from", "seller", read_neighbours(person, edges.filter(buyer=party), "seller")),
        ("Sells to", "buyer", read_neighbours(person, edges.filter(seller=party), "buyer")),
    ]
    return render(request, "graph/_party_drawer.html", {"party": party, "sides": sides})


def read_neighbours(person: User, edges: EdgeQuerySet, side: str) -> dict[str, Any]:
    """Reads edges, those that lose most visits first; by name where nothing is counted."""
    rows = make_rows(person, list(edges.order_by(f"{side}__name")[:NEIGHBOURS_LOOKED_AT]))
    rows.sort(key=lambda row: -(row.count.lost if row.count else 0))
    return {"rows": rows[:NEIGHBOURS_SHOWN], "count": count_roughly(edges.order_by())}


def read_table(request: HttpRequest, person: User, edges: EdgeQuerySet) -> dict[str, Any]:
    page = read_page(edges.with_parties(), BY_NAMES, request.GET)
    rows = make_rows(person, page.rows)
    day = read_seen_counts(person).day
    return {"page": page, "rows": rows, "counted_day": day, "legend": LEGEND}


def make_rows(person: User, edges: Sequence[Edge]) -> list[Row]:
    counts = read_seen_counts(person)
    return [Row(edge, sight(person, edge), counts.of(edge.pk)) for edge in edges]


def seen_parties(person: User, edges: EdgeQuerySet) -> PartyQuerySet:
    """Finds whom the person's graph names."""
    parties = Party.objects.kept().order_by()
    if is_exchange_operator(person):
        return parties
    ends = edges.order_by().values_list("seller_id", "buyer_id")
    named = {pk for pair in ends for pk in pair}
    own = owned(parties, person).values_list("pk", flat=True)
    return parties.filter(pk__among=sorted({*named, *own}))


def find_party(person: User, edges: EdgeQuerySet, pk: int) -> Party:
    """Finds a party; names that the person's graph does not show do not exist for them."""
    return get_object_or_404(seen_parties(person, edges).select_related("organisation"), pk=pk)


def find_parties(person: User, edges: EdgeQuerySet, text: str) -> dict[str, Any]:
    """Finds parties by name; advertisers last, of whom there are most."""
    named = seen_parties(person, edges).search(text)
    if not named.exists():
        return {"parties": [], "count": "0"}
    in_order = named.order_by("-kind", "name")
    return {"parties": list(in_order[:FOUND_SHOWN]), "count": count_roughly(named)}

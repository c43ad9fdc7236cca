"""Finds which paths a visit may take, from the market as it is saved: for explanations, one at a
time.

The plain counterpart of the compiled walk: the same rounds of `exchange.routing`, with each edge's
rule read and evaluated when its seller is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from exchange.market.expressions import read_expression
from exchange.market.models import Booking, Edge
from exchange.market.saved_graph import load_graph
from exchange.routing import Path
from targeting import Catalog, ExpressionError

OPENERS_TOLD = 5


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk found. `path` is the cheapest open one; where none is open, the one with the
    fewest closed edges, and `openers` are edges of which each alone would open one. None: there is
    no path."""

    path: Path | None
    is_open: bool
    openers: tuple[int, ...] = ()


def walk(*, booking: Booking, visit: dict[str, Any], catalog: Catalog) -> Walked:
    """Walks for a booking that takes any path. It costs two queries while the graph stays the same,
    and those of the rules' own names: only edges between the two ends are looked at."""
    source, target, hops = booking.publisher_id, booking.advertiser_id, booking.hop_limit
    graph = load_graph().between(source, target, max_hops=hops)
    allows = cache(judge_edges(graph.links, visit, catalog))
    found = graph.cheapest_paths(source, max_hops=hops, allows=allows).get(target)
    if found:
        return Walked(found, is_open=True)
    nearest = graph.nearest_paths(source, max_hops=hops, allows=allows).get(target)
    if nearest is None:
        return Walked(None, is_open=False)
    openers = graph.openers(source, target, max_hops=hops, allows=allows)
    # Edges of the path that is shown come first.
    openers.sort(key=lambda edge_id: (edge_id not in nearest.edge_ids, edge_id))
    return Walked(nearest, is_open=False, openers=tuple(openers[:OPENERS_TOLD]))


def judge_edges(
    edge_ids: Iterable[int], visit: dict[str, Any], catalog: Catalog
) -> Callable[[int], bool]:
    """Makes a function that tells whether the visit satisfies an edge's rule; one that no longer
    compiles lets nothing by."""
    columns = ("id", "expression", "seller__organisation_id")
    edges = Edge.objects.filter(pk__in=list(edge_ids)).order_by()
    rules = {row[0]: row[1:] for row in edges.values_list(*columns)}

    def allows(edge_id: int) -> bool:
        text, organisation_id = rules[edge_id]
        try:
            rule = read_expression(text=text, catalog=catalog, organisation_id=organisation_id)
            return rule.evaluate(visit) is True
        except ExpressionError:
            return False

    return allows

"""Draws directed graphs with cycles in layers: in which column each node stands, in which order and
at which height, and how links run between them. Plain numbers in, plain numbers out: it knows
neither parties nor visits nor SVG.

The same links always give the same drawing: nothing here depends on the order of a set.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from exchange.layout.columns import fill_columns, order_columns
from exchange.layout.drawing import Arc, Drawing, Lane, Link, Slot, Spacing
from exchange.layout.heights import place_lanes, place_slots
from exchange.layout.ranks import find_back_links, rank_nodes

__all__ = ["Arc", "Drawing", "Lane", "Link", "Slot", "Spacing", "lay_out"]

KEPT = 64


def lay_out(
    links: tuple[Link, ...],
    *,
    first: frozenset[int] = frozenset(),
    ranks: Mapping[int, int] | None = None,
    spacing: Spacing | None = None,
) -> Drawing:
    """Lays out links. Nodes begin in the order in which links name them; only those of `first`
    stand in the first column, unless `ranks` says for each node where it stands.

    1. Close one link of each cycle (ranks.py). 2. Give nodes their columns. 3. Lead long links
    through a bend in each column between (columns.py). 4. Order the columns so that few links
    cross. 5. Find heights, then where on a node each link begins and ends (heights.py).
    """
    given = None if ranks is None else tuple(sorted(ranks.items()))
    return draw(links, first, given, spacing or Spacing())


@lru_cache(maxsize=KEPT)
def draw(
    links: tuple[Link, ...],
    first: frozenset[int],
    given: tuple[tuple[int, int], ...] | None,
    spacing: Spacing,
) -> Drawing:
    """Draws, and keeps the drawing by what it is drawn from: another version of the graph with the
    same links finds it."""
    closing = find_back_links(links)
    ranks = rank_nodes(links, first) if given is None else dict(given)
    forward = [link for link in links if ranks[link.start] < ranks[link.end]]
    arcs = [
        Arc(link, closing.get(link.number, 0))
        for link in links
        if ranks[link.start] >= ranks[link.end]
    ]
    columns, ways = fill_columns(forward, ranks)
    order_columns(columns, ways.values())
    places = place_slots(columns, forward, ways, spacing)
    lanes = place_lanes(forward, ways, places, spacing)
    return Drawing(
        columns=tuple(map(tuple, columns)),
        middles=places.middles,
        sizes=places.sizes,
        lanes=tuple(lanes),
        arcs=tuple(arcs),
        height=places.height,
    )

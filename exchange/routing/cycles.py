"""Finds cycles of the exchange graph: parties that sell to one another in a circle.

Not an error, because no path visits a party twice; but visits never need to go round, so someone
should know. One cycle is told per knot (strongly connected part): their number may be exponential.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import networkx as nx

from exchange.routing.graph import Link


@dataclass(frozen=True, slots=True)
class Cycle:
    """One shortest circle of a knot; `knot` holds all parties that are in one with each other."""

    party_ids: tuple[int, ...]
    edge_ids: tuple[int, ...]
    knot: frozenset[int]


def find_cycles(links: Iterable[Link]) -> list[Cycle]:
    """Finds one cycle per knot, the one with the smallest party id first."""
    digraph = nx.DiGraph()
    for link in sorted(links, key=lambda link: link.edge_id, reverse=True):
        digraph.add_edge(link.seller_id, link.buyer_id, edge_id=link.edge_id)
    cycles = [
        spell_out(digraph, frozenset(knot))
        for knot in nx.strongly_connected_components(digraph)
        if len(knot) > 1 or any(digraph.has_edge(party, party) for party in knot)
    ]
    return sorted(cycles, key=lambda cycle: cycle.party_ids)


def spell_out(digraph: nx.DiGraph, knot: frozenset[int]) -> Cycle:
    first = min(knot)
    inside = digraph.subgraph(knot)
    sellers = inside.predecessors(first)
    ways = [nx.shortest_path(inside, first, seller) for seller in sellers]
    parties = min(ways, key=lambda way: (len(way), way))
    hops = zip(parties, [*parties[1:], first], strict=True)
    return Cycle(tuple(parties), tuple(digraph.edges[hop]["edge_id"] for hop in hops), knot)

"""The ways between two parties, cheapest first: what a booking may be pinned to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice, pairwise
from math import log

import networkx as nx

from exchange.routing.graph import MAX_HOPS, Link, Path

MAX_LOOKED_AT = 200  # ways longer than the limit of hops are passed over, but not for ever


def alternative_paths(links: Iterable[Link], source: int, target: int, *, limit: int) -> list[Path]:
    """Simple paths of at most `MAX_HOPS` edges. Costs are compared as floating-point numbers: this
    orders a menu, and which path is cheapest is `Graph`'s to say."""
    digraph = nx.DiGraph()
    for link in links:
        facts = {"edge_id": link.edge_id, "fee": link.fee, "cost": -log(1 - link.fee)}
        digraph.add_edge(link.seller_id, link.buyer_id, **facts)
    if source not in digraph or target not in digraph:
        return []
    return list(islice(_walk(digraph, source, target), limit))


def _walk(digraph: nx.DiGraph, source: int, target: int) -> Iterator[Path]:
    try:
        ways = nx.shortest_simple_paths(digraph, source, target, weight="cost")
        for parties in islice(ways, MAX_LOOKED_AT):
            if len(parties) <= MAX_HOPS + 1:
                yield _spell_out(digraph, parties)
    except nx.NetworkXNoPath:
        return


def _spell_out(digraph: nx.DiGraph, parties: list[int]) -> Path:
    edges = [digraph.edges[pair] for pair in pairwise(parties)]
    share = Fraction(1)
    for edge in edges:
        share *= 1 - Fraction(edge["fee"])
    return Path(tuple(edge["edge_id"] for edge in edges), tuple(parties), share)

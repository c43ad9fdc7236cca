"""Finds which links close a cycle, and in which column each node stands."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

from exchange.layout.drawing import Link

# Each cycle costs a search of its knot; what is left of a knot with more is cut in one walk.
CYCLES_APART = 60


def find_back_links(links: Sequence[Link]) -> dict[int, int]:
    """Finds the narrowest link of each cycle, until none is left, with the cycle's node count."""
    graph = nx.DiGraph()
    for link in links:
        graph.add_edge(link.start, link.end, link=link)
    closing: dict[int, int] = {}
    knots = [sorted(knot) for knot in nx.strongly_connected_components(graph) if len(knot) > 1]
    for knot in sorted(knots):
        # Copied by hand: a view of the whole graph would look at all of it for each question.
        part = nx.DiGraph()
        inside = set(knot)
        part.add_edges_from(
            edge for edge in graph.edges(data=True) if edge[0] in inside and edge[1] in inside
        )
        closing |= cut_knot(part)
    return closing


def cut_knot(part: nx.DiGraph) -> dict[int, int]:
    closing: dict[int, int] = {}
    for _ in range(CYCLES_APART):
        try:
            cycle = nx.find_cycle(part)
        except nx.NetworkXNoCycle:
            return closing
        narrowest = min(cycle, key=lambda pair: narrowness(part.edges[pair]["link"]))
        closing[part.edges[narrowest]["link"].number] = len(cycle)
        part.remove_edge(*narrowest)
    return closing | cut_rest(part)


def cut_rest(part: nx.DiGraph) -> dict[int, int]:
    """Finds links that close a cycle. A depth-first walk leaves a node before those that it came
    from: links to nodes that are left later close one, and without them there is none."""
    left = {node: number for number, node in enumerate(nx.dfs_postorder_nodes(part))}
    return {
        link.number: len(left)
        for start, end, link in part.edges(data="link")
        if left[start] <= left[end]
    }


def narrowness(link: Link) -> tuple[float, int]:
    return link.width, link.number


def rank_nodes(links: Sequence[Link], first: frozenset[int]) -> dict[int, int]:
    """Ranks nodes by the longest way from a node that nothing leads to. Nodes of one cycle share a
    column, and those that lead nowhere the last one. Only `first` stand in the first column: others
    that nothing leads to stand just before the nearest of those that they lead to."""
    graph = nx.DiGraph()
    graph.add_edges_from((link.start, link.end) for link in links)
    condensed = nx.condensation(graph)
    depths: dict[int, int] = {}
    late: dict[int, None] = {}
    for part in nx.lexicographical_topological_sort(condensed):
        before = [depths[one] + 1 for one in condensed.pred[part]]
        if first and not before and first.isdisjoint(condensed.nodes[part]["members"]):
            late[part] = None
        depths[part] = max(before, default=int(part in late))
    for part in late:
        after = [depths[one] - 1 for one in condensed.succ[part]]
        depths[part] = min(after, default=depths[part])
    found = condensed.graph["mapping"]
    return align_ends(graph, {node: depths[found[node]] for node in graph})


def align_ends(graph: nx.DiGraph, ranks: dict[int, int]) -> dict[int, int]:
    """Moves nodes that lead nowhere to the last column; then drops columns without nodes."""
    ends = [node for node in graph if not graph.succ[node]]
    others = [rank for node, rank in ranks.items() if graph.succ[node]]
    last = max(others, default=-1) + 1
    ranks |= dict.fromkeys(ends, last)
    used = {rank: place for place, rank in enumerate(sorted(set(ranks.values())))}
    return {node: used[rank] for node, rank in ranks.items()}

"""What a change of edges does to the cheapest paths in use, without asking about all of them.

Only a publisher that can get to a changed edge, with an advertiser behind it, is looked at; and if
every change makes things worse, only those whose path passes a changed edge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from exchange.routing.graph import MAX_HOPS, Graph, Link, Path

Pair = tuple[int, int]  # publisher, advertiser


def affected_pairs(
    before: Graph, after: Graph, in_use: Mapping[Pair, Path | None]
) -> dict[Pair, Path | None]:
    """The new path of each pair whose path is another one now. `in_use` holds the paths that the
    graph before had for the pairs that matter; None: it had none."""
    changed = changed_edges(before, after)
    if not changed:
        return {}
    wanted: dict[int, list[int]] = defaultdict(list)
    for publisher_id, advertiser_id in pairs_in_reach(before, after, changed, in_use):
        wanted[publisher_id].append(advertiser_id)
    found: dict[Pair, Path | None] = {}
    for publisher_id, advertiser_ids in wanted.items():
        paths = after.cheapest_paths(publisher_id)
        for advertiser_id in advertiser_ids:
            pair, path = (publisher_id, advertiser_id), paths.get(advertiser_id)
            if path != in_use[pair]:
                found[pair] = path
    return found


def changed_edges(before: Graph, after: Graph) -> set[int]:
    """Edges that came, went, or are between others or dearer or cheaper now."""
    edge_ids = before.links.keys() | after.links.keys()
    return {
        edge_id for edge_id in edge_ids if before.links.get(edge_id) != after.links.get(edge_id)
    }


def pairs_in_reach(
    before: Graph, after: Graph, changed: set[int], in_use: Mapping[Pair, Path | None]
) -> Iterable[Pair]:
    """Pairs whose path passes a changed edge, or could pass one that became better."""
    better = [
        after.links[edge_id]
        for edge_id in changed
        if edge_id in after.links and is_better(before.links.get(edge_id), after.links[edge_id])
    ]
    behind = [(link.seller_id, after.downstream(link.buyer_id)) for link in better]
    upstream = {
        publisher_id: after.downstream(publisher_id) if better else {}
        for publisher_id in {publisher_id for publisher_id, _ in in_use}
    }
    for pair, path in in_use.items():
        publisher_id, advertiser_id = pair
        passes = path is not None and not changed.isdisjoint(path.edge_ids)
        if passes or any(
            upstream[publisher_id].get(seller_id, MAX_HOPS) + 1 + hops[advertiser_id] <= MAX_HOPS
            for seller_id, hops in behind
            if advertiser_id in hops
        ):
            yield pair


def is_better(old: Link | None, new: Link) -> bool:
    """Whether a path that did not take the edge may take it now."""
    if old is None or (old.seller_id, old.buyer_id) != (new.seller_id, new.buyer_id):
        return True
    return new.fee < old.fee

"""Finds the ways between two parties, cheapest first: what a booking may be pinned to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice
from math import inf, log
from typing import NamedTuple

from exchange.routing.graph import MAX_HOPS, Link, Path

MAX_LOOKED_AT = 20_000  # beginnings of ways: where parties sell in circles, most lead nowhere


class _Start(NamedTuple):
    """The beginning of a way; the first field orders them, the others only break ties."""

    least: float  # what a way that begins like this costs at least
    edge_ids: tuple[int, ...]
    cost: float
    party_ids: tuple[int, ...]
    share: Fraction


def alternative_paths(links: Iterable[Link], source: int, target: int, *, limit: int) -> list[Path]:
    """Finds simple paths of at most `MAX_HOPS` edges. Costs are compared as floating-point numbers:
    this orders a menu, and which path is cheapest is `Graph`'s to say."""
    if source == target:
        return []
    return list(islice(_walk(list(links), source, target), limit))


def _walk(links: list[Link], source: int, target: int) -> Iterator[Path]:
    """Yields paths, going on with the best beginning first (A*). What the rest costs at least is
    known exactly but for parties that it may not visit again, so hardly any beginning goes on in
    vain."""
    sales: dict[int, list[tuple[Link, float]]] = defaultdict(list)
    for link in links:
        sales[link.seller_id].append((link, -log(1 - link.fee)))
    rests = _find_rests(sales, target)
    waiting = [_Start(rests[MAX_HOPS].get(source, inf), (), 0.0, (source,), Fraction(1))]
    for _ in range(MAX_LOOKED_AT):
        if not waiting or waiting[0].least == inf:
            return
        start = heappop(waiting)
        if start.party_ids[-1] == target:
            yield Path(start.edge_ids, start.party_ids, start.share)
            continue
        rest = rests[MAX_HOPS - len(start.party_ids)]
        for link, cost in sales[start.party_ids[-1]]:
            if link.buyer_id in rest and link.buyer_id not in start.party_ids:
                heappush(waiting, _go_on(start, link, cost, rest[link.buyer_id]))


def _go_on(start: _Start, link: Link, cost: float, rest: float) -> _Start:
    return _Start(
        start.cost + cost + rest,
        (*start.edge_ids, link.edge_id),
        start.cost + cost,
        (*start.party_ids, link.buyer_id),
        start.share * (1 - Fraction(link.fee)),
    )


def _find_rests(sales: dict[int, list[tuple[Link, float]]], target: int) -> list[dict[int, float]]:
    """Finds, by the hops that are left, what the way from each party to the target costs at
    least."""
    rests = [{target: 0.0}]
    for _ in range(MAX_HOPS):
        before, now = rests[-1], dict(rests[-1])
        for seller_id, sold in sales.items():
            for link, cost in sold:
                rest = before.get(link.buyer_id, inf) + cost
                if rest < now.get(seller_id, inf):
                    now[seller_id] = rest
        rests.append(now)
    return rests

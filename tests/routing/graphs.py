"""Random graphs for the tests of paths, and the oracle: every simple path, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise

from hypothesis import strategies as st

from exchange.routing import MAX_HOPS, Link, Path

Drawn = tuple[list[Link], dict[int, str]]


def enumerate_simple_paths(
    links: list[Link], source: int, max_hops: int = MAX_HOPS
) -> Iterator[Path]:
    pending = [Path((), (source,), Fraction(1))]
    while pending:
        path = pending.pop()
        if path.edge_ids:
            yield path
        if len(path.edge_ids) == max_hops:
            continue
        pending += [
            Path(
                (*path.edge_ids, step.edge_id),
                (*path.party_ids, step.buyer_id),
                path.net_share * (1 - Fraction(step.fee)),
            )
            for step in links
            if step.seller_id == path.party_ids[-1] and step.buyer_id not in path.party_ids
        ]


def enumerate_cheapest(
    links: list[Link],
    source: int,
    names: dict[int, str],
    *,
    max_hops: int = MAX_HOPS,
    allows: Callable[[Path], bool] = lambda _: True,
) -> dict[int, Path]:
    """Ranks the paths that `allows` lets through: by the largest share, the fewest hops, the names,
    the ids of parties of one name, the ids of parallel edges."""

    def rank(path: Path) -> tuple[object, ...]:
        spelled = tuple((names[party_id], party_id) for party_id in path.party_ids)
        return (-path.net_share, len(path.edge_ids), spelled, path.edge_ids)

    best: dict[int, Path] = {}
    for path in enumerate_simple_paths(links, source, max_hops):
        target = path.party_ids[-1]
        if allows(path) and (target not in best or rank(path) < rank(best[target])):
            best[target] = path
    return best


FEES = [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(3333, 10_000)]


@st.composite
def graphs(draw: st.DrawFn, max_size: int = 7, max_links: int = 18) -> Drawn:
    """Draws few fees, so that ties are common; parallel links, cycles and links to oneself
    included, and parties of the same name."""
    size = draw(st.integers(2, max_size))
    party = st.integers(0, size - 1)
    rows = draw(st.lists(st.tuples(party, party, st.sampled_from(FEES)), max_size=max_links))
    letters = st.sampled_from("abcdefgh")
    names = draw(st.lists(letters, min_size=size, max_size=size))
    return [Link(10 + row, *fields) for row, fields in enumerate(rows)], dict(enumerate(names))


@st.composite
def ladders(draw: st.DrawFn) -> Drawn:
    """Draws a long chain with shortcuts: here the limit of hops decides."""
    size = draw(st.integers(9, 13))
    fee = st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 5)])
    chain = [Link(i, i, i + 1, draw(fee)) for i in range(size - 1)]
    jump = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), fee)
    jumps = draw(st.lists(jump, max_size=6))
    links = chain + [Link(100 + row, *fields) for row, fields in enumerate(jumps)]
    return links, {party_id: f"party {party_id:02}" for party_id in range(size)}


@st.composite
def diamonds(draw: st.DrawFn) -> Drawn:
    """Layers of two or three parties, each selling to all of the next: many parallel routes."""
    depth = draw(st.integers(2, 4))
    fee = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(19, 100)])
    layers = [[0], *([3 * i + 1, 3 * i + 2, 3 * i + 3] for i in range(depth)), [3 * depth + 1]]
    pairs = [
        (seller, buyer)
        for sellers, buyers in pairwise(layers)
        for seller in sellers
        for buyer in buyers
    ]
    kept = draw(st.lists(st.sampled_from(pairs), min_size=depth, unique=True))
    links = [Link(10 + row, *pair, draw(fee)) for row, pair in enumerate(kept)]
    return links, {party_id: f"party {party_id % 5}" for party_id in range(3 * depth + 2)}

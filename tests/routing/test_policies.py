"""Pinned paths: what is taken as it is, and what is refused with the edge at fault."""

from __future__ import annotations

from fractions import Fraction

import pytest

from exchange.routing import BrokenPathError, Graph, Link, Path, pin_path
from exchange.routing.policies import Break

PUBLISHER, NORTH, SOUTH, ADVERTISER = range(4)
GRAPH = Graph(
    [
        Link(1, PUBLISHER, NORTH, Fraction(1, 10)),
        Link(2, NORTH, ADVERTISER, Fraction(1, 5)),
        Link(3, PUBLISHER, ADVERTISER, Fraction(0)),
        Link(4, NORTH, SOUTH, Fraction(0)),
        Link(5, SOUTH, NORTH, Fraction(0)),
    ]
)


def test_takes_exactly_the_given_edges_though_another_path_is_cheaper() -> None:
    path = pin_path(GRAPH, [1, 2], PUBLISHER, ADVERTISER)
    assert path == Path((1, 2), (PUBLISHER, NORTH, ADVERTISER), Fraction(18, 25))


BROKEN = [
    ([], Break.EMPTY, None),
    ([1, 4, 5, 4, 5, 4, 5, 4, 2], Break.TOO_LONG, None),
    ([1, 9], Break.INACTIVE, 9),
    ([2], Break.DISCONNECTED, 2),
    ([1, 3], Break.DISCONNECTED, 3),
    ([1], Break.DISCONNECTED, None),
    ([1, 4, 5, 2], Break.CIRCULAR, 5),
]


def test_refuses_more_hops_than_are_allowed() -> None:
    assert pin_path(GRAPH, [1, 2], PUBLISHER, ADVERTISER, max_hops=2).edge_ids == (1, 2)
    with pytest.raises(BrokenPathError) as refused:
        pin_path(GRAPH, [1, 2], PUBLISHER, ADVERTISER, max_hops=1)
    assert refused.value.kind is Break.TOO_LONG


@pytest.mark.parametrize(
    ("edge_ids", "kind", "edge_id"),
    BROKEN,
)
def test_refuses_a_broken_path(edge_ids: list[int], kind: Break, edge_id: int | None) -> None:
    with pytest.raises(BrokenPathError) as refused:
        pin_path(GRAPH, edge_ids, PUBLISHER, ADVERTISER)
    assert (refused.value.kind, refused.value.edge_id) == (kind, edge_id)

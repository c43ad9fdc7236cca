"""The ways between two parties that a booking may be pinned to."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import MAX_HOPS, Link
from exchange.routing.alternatives import alternative_paths
from tests.routing.graphs import Drawn, diamonds, enumerate_simple_paths, graphs, ladders


def link(edge_id: int, seller_id: int, buyer_id: int, percent: int = 0) -> Link:
    return Link(edge_id, seller_id, buyer_id, Fraction(percent, 100))


def test_the_cheapest_way_comes_first_with_its_exact_share() -> None:
    links = [link(1, 0, 9, 30), link(2, 0, 5, 10), link(3, 5, 9, 10)]
    first, second = alternative_paths(links, 0, 9, limit=20)
    assert (first.edge_ids, first.party_ids) == ((2, 3), (0, 5, 9))
    assert first.net_share == Fraction(81, 100)
    assert second.edge_ids == (1,)


def test_no_way_visits_a_party_twice() -> None:
    links = [link(1, 0, 5), link(2, 5, 0), link(3, 5, 6), link(4, 6, 5), link(5, 6, 9)]
    assert [path.edge_ids for path in alternative_paths(links, 0, 9, limit=20)] == [(1, 3, 5)]


def test_ways_longer_than_the_limit_of_hops_are_left_out() -> None:
    chain = [link(step, step, step + 1) for step in range(MAX_HOPS + 1)]
    assert len(alternative_paths(chain, 0, MAX_HOPS, limit=20)) == 1
    assert alternative_paths(chain, 0, MAX_HOPS + 1, limit=20) == []


def test_no_more_than_asked_for_and_none_where_none_leads() -> None:
    links = [link(way, 0, way) for way in range(1, 6)] + [
        link(way + 10, way, 9) for way in range(1, 6)
    ]
    assert len(alternative_paths(links, 0, 9, limit=3)) == 3
    assert alternative_paths(links, 9, 0, limit=3) == []
    assert alternative_paths(links, 0, 77, limit=3) == []


@given(graphs(max_size=8, max_links=20) | ladders() | diamonds(), st.integers(1, 20))
@settings(max_examples=200, deadline=None)
def test_they_are_the_cheapest_of_all_simple_paths(drawn: Drawn, limit: int) -> None:
    links, names = drawn
    target = max(names)
    every = [path for path in enumerate_simple_paths(links, 0) if path.party_ids[-1] == target]
    found = alternative_paths(links, 0, target, limit=limit)
    assert all(path in every for path in found)
    assert len({path.edge_ids for path in found}) == len(found)
    shares = sorted((path.net_share for path in every), reverse=True)
    assert [path.net_share for path in found] == shares[:limit]

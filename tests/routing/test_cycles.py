"""Cycles: one per knot of parties that sell to one another in a circle."""

from __future__ import annotations

from fractions import Fraction

from exchange.routing import Link
from exchange.routing.cycles import Cycle, find_cycles


def links(*hops: tuple[int, int]) -> list[Link]:
    return [Link(10 * i, *hop, Fraction(0)) for i, hop in enumerate(hops, 1)]


def test_a_graph_without_cycles_has_none() -> None:
    assert find_cycles(links((1, 2), (2, 3), (1, 3))) == []


def test_a_cycle_is_told_from_its_first_party_with_its_edges() -> None:
    found = find_cycles(links((7, 3), (3, 5), (5, 7), (1, 3), (5, 9)))
    assert found == [Cycle((3, 5, 7), (20, 30, 10), frozenset({3, 5, 7}))]


def test_a_knot_tells_its_shortest_cycle_and_all_its_parties() -> None:
    found = find_cycles(links((1, 2), (2, 3), (3, 1), (2, 1), (8, 9), (9, 8)))
    assert [(cycle.party_ids, cycle.knot) for cycle in found] == [
        ((1, 2), frozenset({1, 2, 3})),
        ((8, 9), frozenset({8, 9})),
    ]


def test_a_party_that_sells_to_itself_is_a_cycle() -> None:
    assert find_cycles(links((4, 4))) == [Cycle((4,), (10,), frozenset({4}))]

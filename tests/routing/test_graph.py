"""Cheapest paths against plain enumeration of simple paths, and the stories behind the rules."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import MAX_HOPS, Graph, Link, Path, cheapest_paths, within
from tests.routing.graphs import (
    Drawn,
    diamonds,
    enumerate_cheapest,
    enumerate_simple_paths,
    graphs,
    ladders,
)

PUBLISHER, NORTH, SOUTH, EAST, ADVERTISER = range(5)


def link(edge_id: int, seller: int, buyer: int, percent: str = "0") -> Link:
    return Link(edge_id, seller, buyer, Decimal(percent) / 100)


@given(graphs() | ladders() | diamonds())
@settings(max_examples=400, deadline=None)
def test_agrees_with_plain_enumeration_of_simple_paths(
    drawn: Drawn,
) -> None:
    links, names = drawn
    graph = Graph(links, names)
    for source in names:
        assert graph.cheapest_paths(source) == enumerate_cheapest(links, source, names)


@given(graphs(), st.randoms())
@settings(max_examples=100, deadline=None)
def test_does_not_depend_on_the_order_of_links(drawn: Drawn, random: Random) -> None:
    links, names = drawn
    shuffled = list(links)
    random.shuffle(shuffled)
    assert cheapest_paths(links, 0, names=names) == cheapest_paths(shuffled, 0, names=names)


def test_fees_multiply_along_the_path() -> None:
    links = [link(1, PUBLISHER, NORTH, "10"), link(2, NORTH, ADVERTISER, "12.5")]
    path = cheapest_paths(links, PUBLISHER)[ADVERTISER]
    assert path == Path((1, 2), (PUBLISHER, NORTH, ADVERTISER), Fraction(63, 80))


def test_a_cheaper_detour_beats_a_direct_edge() -> None:
    links = [
        link(1, PUBLISHER, ADVERTISER, "30"),
        link(2, PUBLISHER, NORTH, "10"),
        link(3, NORTH, ADVERTISER, "10"),
    ]
    assert cheapest_paths(links, PUBLISHER)[ADVERTISER].edge_ids == (2, 3)


def test_equal_cost_takes_fewer_hops() -> None:
    links = [
        link(1, PUBLISHER, NORTH, "0"),
        link(2, NORTH, ADVERTISER, "19"),
        link(3, PUBLISHER, SOUTH, "10"),
        link(4, SOUTH, EAST, "10"),
        link(5, EAST, ADVERTISER, "0"),
    ]
    assert cheapest_paths(links, PUBLISHER)[ADVERTISER].edge_ids == (1, 2)


def test_equal_cost_and_length_takes_the_first_name() -> None:
    diamond = [
        link(1, PUBLISHER, NORTH),
        link(2, NORTH, ADVERTISER),
        link(3, PUBLISHER, SOUTH),
        link(4, SOUTH, ADVERTISER),
    ]
    names = {PUBLISHER: "Herald", NORTH: "Zenith", SOUTH: "Acme", ADVERTISER: "Soda"}
    assert cheapest_paths(diamond, PUBLISHER, names=names)[ADVERTISER].edge_ids == (3, 4)
    assert cheapest_paths(diamond, PUBLISHER)[ADVERTISER].edge_ids == (1, 2)


def test_a_hundredth_of_a_percent_decides_where_floats_would_not() -> None:
    """Chooses between products that round to the same double; only one of them is the larger
    fraction."""
    tiny = Fraction(1, 10**17)
    links = [
        Link(1, PUBLISHER, NORTH, Fraction(1, 2)),
        Link(2, NORTH, ADVERTISER, tiny),
        Link(3, PUBLISHER, SOUTH, Fraction(1, 2)),
        Link(4, SOUTH, ADVERTISER, Fraction(0)),
    ]
    assert 0.5 * float(1 - tiny) == 0.5
    assert cheapest_paths(links, PUBLISHER)[ADVERTISER].edge_ids == (3, 4)


def test_reaches_eight_hops_and_no_ninth() -> None:
    chain = [link(hop, hop, hop + 1) for hop in range(9)]
    assert sorted(cheapest_paths(chain, 0)) == list(range(1, 9))


def test_a_dearer_short_way_is_kept_where_the_cheap_one_is_too_long() -> None:
    """Makes the cheapest way to 7 take seven hops, so that 9 is only within reach over the dear
    shortcut."""
    chain = [link(hop, hop, hop + 1) for hop in range(9)]
    paths = cheapest_paths([*chain, link(50, 0, 7, "40")], 0)
    assert paths[7].net_share == 1
    assert paths[9] == Path((50, 7, 8), (0, 7, 8, 9), Fraction(3, 5))


def test_a_cycle_without_fees_ends() -> None:
    links = [link(1, PUBLISHER, NORTH), link(2, NORTH, SOUTH), link(3, SOUTH, NORTH)]
    assert sorted(cheapest_paths(links, PUBLISHER)) == [NORTH, SOUTH]


def test_a_source_without_sales_reaches_nobody() -> None:
    assert cheapest_paths([], PUBLISHER) == {}
    assert cheapest_paths([link(1, NORTH, ADVERTISER)], PUBLISHER) == {}


@pytest.mark.parametrize("fee", [Fraction(-1, 100), Fraction(1), Decimal("1.5")])
def test_refuses_a_fee_outside_its_range(fee: Fraction | Decimal) -> None:
    with pytest.raises(ValueError, match="edge 1: fee must be from 0 to below 1"):
        Link(1, PUBLISHER, NORTH, fee)


@pytest.mark.parametrize("max_hops", [-1, 9])
def test_refuses_a_limit_of_hops_outside_its_range(max_hops: int) -> None:
    with pytest.raises(ValueError, match="max_hops must be from 0 to 8"):
        Graph([]).cheapest_paths(PUBLISHER, max_hops=max_hops)


def closed_by(draw: Random, links: list[Link]) -> set[int]:
    return {link.edge_id for link in links if draw.random() < 0.4}


@given(graphs() | ladders() | diamonds(), st.randoms(), st.integers(1, MAX_HOPS))
@settings(max_examples=200, deadline=None)
def test_a_closed_edge_is_no_way_and_is_asked_once(
    drawn: Drawn, random: Random, max_hops: int
) -> None:
    links, names = drawn
    closed = closed_by(random, links)
    asked: list[int] = []

    def allows(edge_id: int) -> bool:
        asked.append(edge_id)
        return edge_id not in closed

    found = Graph(links, names).cheapest_paths(0, max_hops=max_hops, allows=allows)
    open_links = [link for link in links if link.edge_id not in closed]
    assert found == enumerate_cheapest(open_links, 0, names, max_hops=max_hops)
    assert len(asked) == len(set(asked))
    assert {Graph(links).links[edge_id].seller_id for edge_id in asked} <= {0, *found}


@given(graphs() | ladders() | diamonds(), st.randoms())
@settings(max_examples=100, deadline=None)
def test_the_nearest_path_has_the_fewest_closed_edges(drawn: Drawn, random: Random) -> None:
    links, names = drawn
    closed = closed_by(random, links)
    found = Graph(links, names).nearest_paths(0, allows=lambda edge_id: edge_id not in closed)
    fewest: dict[int, tuple[int, Fraction]] = {}
    for path in enumerate_simple_paths(links, 0):
        worth = (len(closed & set(path.edge_ids)), -path.net_share)
        target = path.party_ids[-1]
        fewest[target] = min(worth, fewest.get(target, worth))
    assert {
        target: (len(closed & set(path.edge_ids)), -path.net_share)
        for target, path in found.items()
    } == fewest


def test_downstream_counts_the_fewest_hops() -> None:
    links = [link(1, PUBLISHER, NORTH), link(2, NORTH, SOUTH), link(3, PUBLISHER, SOUTH)]
    assert Graph(links).downstream(PUBLISHER) == {PUBLISHER: 0, NORTH: 1, SOUTH: 1}
    assert Graph(links).downstream(PUBLISHER, max_hops=0) == {PUBLISHER: 0}


@given(graphs() | ladders() | diamonds(), st.randoms(), st.integers(1, MAX_HOPS))
@settings(max_examples=150, deadline=None)
def test_an_opener_is_an_edge_that_alone_lets_a_path_through(
    drawn: Drawn, random: Random, max_hops: int
) -> None:
    links, names = drawn
    closed, target = closed_by(random, links), max(names)
    graph = Graph(links, names)

    def is_reached(opened: set[int]) -> bool:
        found = graph.cheapest_paths(
            0, max_hops=max_hops, allows=lambda edge_id: edge_id in opened or edge_id not in closed
        )
        return target in found

    expected = [] if is_reached(set()) else [e for e in sorted(closed) if is_reached({e})]
    found = graph.openers(0, target, max_hops=max_hops, allows=lambda e: e not in closed)
    assert sorted(found) == expected


@given(graphs() | ladders() | diamonds())
@settings(max_examples=200, deadline=None)
def test_one_walk_finds_what_a_walk_for_each_limit_finds(drawn: Drawn) -> None:
    links, names = drawn
    graph = Graph(links, names)
    found = graph.cheapest_by_hops(0)
    for hops in range(1, MAX_HOPS + 1):
        limited = {party: path for party in found if (path := within(found[party], hops))}
        assert limited == graph.cheapest_paths(0, max_hops=hops)

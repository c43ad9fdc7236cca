"""Cheapest paths against plain enumeration of simple paths, and the stories behind the rules."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import MAX_HOPS, Graph, Link, Path, cheapest_paths

PUBLISHER, NORTH, SOUTH, EAST, ADVERTISER = range(5)


def link(edge_id: int, seller: int, buyer: int, percent: str = "0") -> Link:
    return Link(edge_id, seller, buyer, Decimal(percent) / 100)


def enumerate_simple_paths(links: list[Link], source: int) -> Iterator[Path]:
    """The oracle: every simple path of at most eight hops, one after the other."""
    pending = [Path((), (source,), Fraction(1))]
    while pending:
        path = pending.pop()
        if path.edge_ids:
            yield path
        if len(path.edge_ids) == MAX_HOPS:
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


def enumerate_cheapest(links: list[Link], source: int, names: dict[int, str]) -> dict[int, Path]:
    def rank(path: Path) -> tuple[object, ...]:
        spelled = tuple(names[party_id] for party_id in path.party_ids)
        return (-path.net_share, len(path.edge_ids), spelled, path.edge_ids)

    best: dict[int, Path] = {}
    for path in enumerate_simple_paths(links, source):
        target = path.party_ids[-1]
        if target not in best or rank(path) < rank(best[target]):
            best[target] = path
    return best


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Link], dict[int, str]]:
    """Few fees, so that ties are common; parallel links, cycles and links to oneself included."""
    size = draw(st.integers(2, 7))
    party = st.integers(0, size - 1)
    fee = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 3)])
    rows = draw(st.lists(st.tuples(party, party, fee), max_size=18))
    names = draw(st.permutations([chr(ord("a") + position) for position in range(size)]))
    return [Link(10 + row, *fields) for row, fields in enumerate(rows)], dict(enumerate(names))


@st.composite
def ladders(draw: st.DrawFn) -> tuple[list[Link], dict[int, str]]:
    """A long chain with shortcuts: here the limit of hops decides."""
    size = draw(st.integers(9, 13))
    fee = st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 5)])
    chain = [Link(i, i, i + 1, draw(fee)) for i in range(size - 1)]
    jump = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), fee)
    jumps = draw(st.lists(jump, max_size=6))
    links = chain + [Link(100 + row, *fields) for row, fields in enumerate(jumps)]
    return links, {party_id: f"party {party_id:02}" for party_id in range(size)}


@given(graphs() | ladders())
@settings(max_examples=400, deadline=None)
def test_agrees_with_plain_enumeration_of_simple_paths(
    drawn: tuple[list[Link], dict[int, str]],
) -> None:
    links, names = drawn
    graph = Graph(links, names)
    for source in names:
        assert graph.cheapest_paths(source) == enumerate_cheapest(links, source, names)


@given(graphs(), st.randoms())
@settings(max_examples=100, deadline=None)
def test_does_not_depend_on_the_order_of_links(
    drawn: tuple[list[Link], dict[int, str]], random: Random
) -> None:
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
    """Both products round to the same double; only one of them is the larger fraction."""
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
    """The cheapest way to 7 takes seven hops, so 9 is only within reach over the dear shortcut."""
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

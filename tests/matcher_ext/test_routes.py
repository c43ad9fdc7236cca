"""The compiled walk against three other ways to the same answer, for every visit, party and limit:
the unrolled formula as definitions of the language, enumeration of all simple paths with the plain
evaluator, and a breadth-first search. The cheapest path is the enumeration's, to the last unit."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import MAX_HOPS, Graph, Link, Path
from matcher_ext import ATree
from matcher_ext.routes import RouteGraph
from targeting import Catalog, Expression, parse
from tests.routing.graphs import Drawn, diamonds, enumerate_cheapest, graphs, ladders

CATALOG = Catalog.of(country="string", age="integer", segments="string set")
CONDITIONS = [
    "country = 'FR'",
    "country != 'FR'",
    "not (country in ('FR', 'DE'))",
    "age >= 18",
    "age < 40 or segments one of ('cars')",
    "segments none of ('cars', 'ski') and age != 30",
    "true",
]
VISITS = st.fixed_dictionaries(
    {},
    optional={
        "country": st.sampled_from(["FR", "DE", "US"]),
        "age": st.sampled_from([17, 18, 30, 40]),
        "segments": st.lists(st.sampled_from(["cars", "ski", "tea"]), max_size=2),
    },
)
Visit = dict[str, object]


def numerator(link: Link) -> int:
    left = (1 - Fraction(link.fee)) * 10_000
    assert left.denominator == 1
    return left.numerator


def walk_graph(links: list[Link], names: dict[int, str]) -> RouteGraph:
    rows = [(link.edge_id, link.seller_id, link.buyer_id, numerator(link)) for link in links]
    return RouteGraph(names, rows)


def search_breadth_first(links: list[Link], source: int, hops: int) -> set[int]:
    reached = frontier = {source}
    for _ in range(hops):
        frontier = {link.buyer_id for link in links if link.seller_id in frontier} - reached
        reached = reached | frontier
    return reached - {source}


def unroll(links: list[Link], edges: dict[int, Expression], source: int) -> dict[str, Expression]:
    """Defines reach(N, h) = reach(N, h - 1) or (reach(M, h - 1) and edge(M -> N)) .. for all M."""
    definitions = {f"edge.{edge_id}": expression for edge_id, expression in edges.items()}
    parties = {link.seller_id for link in links} | {link.buyer_id for link in links} | {source}
    for party in parties:
        definitions[f"way.{party}.0"] = parse(str(party == source).lower(), CATALOG)
    for hop in range(1, MAX_HOPS + 1):
        for party in parties:
            ways = [f"@way.{party}.{hop - 1}"]
            ways += [
                f"(@way.{link.seller_id}.{hop - 1} and @edge.{link.edge_id})"
                for link in links
                if link.buyer_id == party
            ]
            definitions[f"way.{party}.{hop}"] = parse(
                " or ".join(ways), CATALOG, definitions=definitions
            )
    return definitions


def satisfies_all(edges: dict[int, Expression], visit: Visit, path: Path) -> bool:
    return all(edges[edge_id].evaluate(visit) is True for edge_id in path.edge_ids)


def draw_edges(draw: st.DrawFn, links: list[Link]) -> dict[int, Expression]:
    return {
        link.edge_id: parse(draw(st.sampled_from(CONDITIONS)), CATALOG, definitions={})
        for link in links
    }


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Drawn, dict[int, Expression], list[Visit]]:
    links, names = draw(graphs(max_size=8, max_links=24) | ladders() | diamonds())
    return (links, names), draw_edges(draw, links), draw(st.lists(VISITS, min_size=1, max_size=4))


@given(exchanges(), st.integers(1, MAX_HOPS))
@settings(max_examples=300, deadline=None)
def test_walk_enumeration_and_plain_routing_agree_on_the_cheapest_path(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit]], hops: int
) -> None:
    (links, names), edges, visits = drawn
    graph, plain = walk_graph(links, names), Graph(links, names)
    for visit in visits:
        truths = {edge_id: edge.evaluate(visit) is True for edge_id, edge in edges.items()}
        found, asked = graph.find_paths(0, truths, hops)
        satisfied = partial(satisfies_all, edges, visit)
        expected = enumerate_cheapest(links, 0, names, max_hops=hops, allows=satisfied)
        assert {party: edge_ids for party, (edge_ids, _) in found.items()} == {
            party: path.edge_ids for party, path in expected.items()
        }
        for party, (edge_ids, share) in found.items():
            assert Fraction(share, 10_000 ** len(edge_ids)) == expected[party].net_share
        assert plain.cheapest_paths(0, max_hops=hops, allows=truths.__getitem__) == expected
        assert {plain.links[edge_id].seller_id for edge_id, count in asked.items() if count} <= {
            0,
            *search_breadth_first([link for link in links if truths[link.edge_id]], 0, MAX_HOPS),
        }


@given(exchanges())
@settings(max_examples=60, deadline=None)
def test_walk_unrolled_formula_and_breadth_first_search_reach_the_same_parties(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit]],
) -> None:
    (links, names), edges, visits = drawn
    graph = walk_graph(links, names)
    definitions = unroll(links, edges, 0)
    goals = [
        (party, hops)
        for party in names
        for hops in (1, 3, 5, 8)
        if party and f"way.{party}.{hops}" in definitions
    ]
    index = ATree(CATALOG)
    for name, expression in definitions.items():
        index.define(name, expression)
    for number, (party, hops) in enumerate(goals):
        index.insert(number, f"@way.{party}.{hops}")
    for visit in visits:
        truths = {edge_id: edge.evaluate(visit) is True for edge_id, edge in edges.items()}
        open_links = [link for link in links if truths[link.edge_id]]
        walked = {hops: graph.find_paths(0, truths, hops)[0] for hops in (1, 3, 5, 8)}
        searched = {hops: search_breadth_first(open_links, 0, hops) for hops in (1, 3, 5, 8)}
        for hops in (1, 3, 5, 8):
            assert set(walked[hops]) == searched[hops]
        indexed = index.match(visit)
        for number, (party, hops) in enumerate(goals):
            goal = parse(f"@way.{party}.{hops}", CATALOG, definitions=definitions)
            is_reached = party in searched[hops]
            assert (goal.evaluate(visit) is True) == is_reached == (number in indexed)


def chain(length: int, left: int = 10_000) -> RouteGraph:
    return RouteGraph(
        {party: f"p{party:02}" for party in range(length + 1)},
        [(10 + hop, hop, hop + 1, left) for hop in range(length)],
    )


def test_a_share_is_exact_after_eight_hops() -> None:
    truths = dict.fromkeys(range(10, 18), True)
    found, _ = chain(8, 9_999).find_paths(0, truths)
    assert found[8] == (tuple(range(10, 18)), 9_999**8)


def test_eight_hops_are_reached_and_no_ninth() -> None:
    found, _ = chain(9).find_paths(0, dict.fromkeys(range(10, 19), True))
    assert sorted(found) == list(range(1, 9))


def test_each_limit_of_hops_has_its_own_cheapest_path() -> None:
    """Compares three hops for nothing with one for half: who allows one hop only pays."""
    names = {0: "Herald", 1: "North", 2: "South", 3: "Soda"}
    links = [(1, 0, 1, 10_000), (2, 1, 2, 10_000), (3, 2, 3, 10_000), (4, 0, 3, 5_000)]
    graph, truths = RouteGraph(names, links), dict.fromkeys(range(1, 5), True)
    assert graph.find_paths(0, truths, 3)[0][3] == ((1, 2, 3), 10_000**3)
    assert graph.find_paths(0, truths, 2)[0][3] == ((4,), 5_000)


def test_an_edge_is_not_asked_for_while_its_seller_is_not_reached() -> None:
    _, asked = chain(4).find_paths(0, {10: True, 11: False, 12: True, 13: True})
    assert {edge_id for edge_id, count in asked.items() if count} == {10, 11}


@pytest.mark.parametrize(
    ("names", "links", "said"),
    [
        ({0: "a", 1: "b"}, [(1, 0, 1, 0)], "edge 1: its fee must leave 1 to 10000, not 0"),
        ({0: "a", 1: "b"}, [(1, 0, 1, 10_001)], "edge 1: its fee must leave"),
        ({0: "a", 1: "b"}, [(1, 0, 1, 5), (1, 1, 0, 5)], "edge 1 is not in ascending order"),
    ],
)
def test_refuses_links_that_are_none(
    names: dict[int, str], links: list[tuple[int, int, int, int]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        RouteGraph(names, links)


@pytest.mark.parametrize("hops", [0, 9])
def test_refuses_a_limit_of_hops_outside_its_range(hops: int) -> None:
    with pytest.raises(ValueError, match="hops must be from 1 to 8"):
        chain(2).find_paths(0, {10: True, 11: True}, hops)

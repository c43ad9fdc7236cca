"""The demo's graph has the promised size and shape."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

from exchange.demo.graph import Graph, GraphSize, build_graph
from exchange.market.models.parties import DOMAIN, SELLER_ID
from exchange.routing import Link, cheapest_paths


def links_of(graph: Graph) -> list[Link]:
    return [
        Link(number, edge.seller, edge.buyer, Fraction(edge.fee_percent) / 100)
        for number, edge in enumerate(graph.edges)
        if edge.is_active
    ]


def test_the_graph_has_the_promised_size() -> None:
    graph = build_graph(1)
    assert Counter(party.kind for party in graph.parties) == {
        "publisher": 12,
        "intermediary": 40,
        "advertiser": 150,
    }
    assert 560 <= len(graph.edges) <= 640


def test_the_same_seed_gives_the_same_graph_and_another_seed_another_one() -> None:
    assert build_graph(7) == build_graph(7)
    assert build_graph(7).edges != build_graph(8).edges


def test_names_and_seller_ids_are_unique_and_plain() -> None:
    parties = build_graph(1, GraphSize(publishers=30, dsps=40, advertisers=4_000)).parties
    assert len({party.name for party in parties}) == len(parties)
    assert len({party.seller_id for party in parties}) == len(parties)
    assert all(re.match(SELLER_ID, party.seller_id) for party in parties)
    assert all(re.match(DOMAIN, party.domain) for party in parties)


def test_no_advertiser_sells_no_publisher_buys_and_no_pair_is_sold_twice() -> None:
    graph = build_graph(1)
    kinds = [party.kind for party in graph.parties]
    assert all(kinds[edge.seller] != "advertiser" for edge in graph.edges)
    assert all(kinds[edge.buyer] != "publisher" for edge in graph.edges)
    assert len({(edge.seller, edge.buyer) for edge in graph.edges}) == len(graph.edges)


def test_cheapest_paths_to_advertisers_take_two_to_five_hops() -> None:
    graph = build_graph(1)
    links = links_of(graph)
    hops: Counter[int] = Counter()
    for publisher in graph.publishers:
        paths = cheapest_paths(links, publisher)
        hops.update(len(path.edge_ids) for to, path in paths.items() if to in graph.advertisers)
    assert set(hops) <= {2, 3, 4, 5}
    assert {2, 3, 4} <= set(hops)


def test_there_are_diamonds_and_a_cycle_among_intermediaries() -> None:
    graph = build_graph(1)
    pairs = {(edge.seller, edge.buyer) for edge in graph.edges}
    sellers_of = Counter(edge.buyer for edge in graph.edges)
    assert max(sellers_of[advertiser] for advertiser in graph.advertisers) > 1
    names = {party.name: number for number, party in enumerate(graph.parties)}
    first, second, third = (
        names[name] for name in ("Crossbid Exchange", "Northlane Exchange", "Bazaarly")
    )
    assert {(first, second), (second, third), (third, first)} <= pairs


def test_some_edges_pass_everything_and_many_have_rules() -> None:
    rules = Counter(edge.expression for edge in build_graph(1).edges)
    assert 100 < rules["true"] < 350
    assert len(rules) > 60

"""The kept graph: read once, and anew after whatever changes a path, by whatever hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import pytest
from django.db import close_old_connections, connection, connections, transaction
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.accounts.models import Organisation, User
from exchange.market.models import Edge, Party
from exchange.market.saved_graph import SavedGraph, load_graph
from exchange.market.services import retire_edge, save_edge, save_party
from exchange.routing import MAX_HOPS, Graph, Link
from tests.conftest import environment_of_the_tests
from tests.market.places import found
from tests.routing.graphs import Drawn, diamonds, graphs, ladders

Change = Callable[["Market"], object]


class Market:
    """Daily Herald sells to Solberg Soda through Northgate, and through Southgate for more."""

    def __init__(self, operator: Organisation, by: User) -> None:
        self.by = by
        self.herald = found(Party.Kind.PUBLISHER, "Daily Herald", operator)
        self.north = found(Party.Kind.INTERMEDIARY, "Northgate", operator)
        self.south = found(Party.Kind.INTERMEDIARY, "Southgate", operator)
        self.soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
        self.first = self.connect(self.herald, self.north, 10)
        self.last = self.connect(self.north, self.soda, 10)
        self.dear = self.connect(self.herald, self.south, 20)
        self.connect(self.south, self.soda, 10)

    def connect(self, seller: Party, buyer: Party, fee: int) -> Edge:
        return Edge.objects.create(seller=seller, buyer=buyer, fee_percent=Decimal(fee))

    def path(self) -> tuple[list[str], Fraction] | None:
        """Gives the names on the cheapest path, and what it leaves."""
        graph = load_graph()
        path = graph.cheapest_paths(self.herald.pk, [self.soda.pk]).get(self.soda.pk)
        if path is None:
            return None
        return [graph.names[pk] for pk in path.party_ids], path.net_share


@pytest.fixture
def market(transactional_db: None, operator: Organisation, erin: User) -> Market:
    """Makes a market that is committed, so that the graph is kept: what a transaction alone sees
    never is."""
    return Market(operator, erin)


def run_sql(text: str, *parameters: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)


def charge(market: Market) -> object:
    market.first.fee_percent = Decimal(50)
    return save_edge(edge=market.first, by=market.by)


def rename(market: Market) -> object:
    market.north.name = "Nordtor"
    return save_party(party=market.north, by=market.by)


VIA_SOUTH = (["Daily Herald", "Southgate", "Solberg Soda"], Fraction(72, 100))
CHANGES: dict[str, tuple[Change, object]] = {
    "an edge is added": (
        lambda market: market.connect(market.herald, market.soda, 5),
        (["Daily Herald", "Solberg Soda"], Fraction(95, 100)),
    ),
    "a fee is raised": (charge, VIA_SOUTH),
    "an edge is switched off": (
        lambda market: Edge.objects.filter(pk=market.last.pk).update(is_active=False),
        VIA_SOUTH,
    ),
    "an edge is retired": (
        lambda market: retire_edge(edge=market.last, by=market.by),
        VIA_SOUTH,
    ),
    "an edge is switched off by SQL": (
        lambda market: run_sql(
            "UPDATE market_edge SET is_active = false WHERE id = %s", market.first.pk
        ),
        VIA_SOUTH,
    ),
    "a fee is lowered by SQL": (
        lambda market: run_sql(
            "UPDATE market_edge SET fee_percent = 1 WHERE id = %s", market.dear.pk
        ),
        (["Daily Herald", "Southgate", "Solberg Soda"], Fraction(891, 1000)),
    ),
    "an edge goes elsewhere by SQL": (
        lambda market: run_sql(
            "UPDATE market_edge SET buyer_id = %s WHERE id = %s", market.soda.pk, market.first.pk
        ),
        (["Daily Herald", "Solberg Soda"], Fraction(9, 10)),
    ),
    "edges are changed in bulk": (
        lambda market: Edge.objects.bulk_update(
            [Edge(pk=market.first.pk, retired_at=timezone.now())], ["retired_at"]
        ),
        VIA_SOUTH,
    ),
    "a party is renamed": (
        rename,
        (["Daily Herald", "Nordtor", "Solberg Soda"], Fraction(81, 100)),
    ),
    "all edges are gone": (lambda _: run_sql("TRUNCATE market_edge CASCADE"), None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_next_question_sees_the_change(market: Market, name: str) -> None:
    change, expected = CHANGES[name]
    assert market.path() == (["Daily Herald", "Northgate", "Solberg Soda"], Fraction(81, 100))
    change(market)
    assert market.path() == expected


def test_reads_the_graph_once_while_it_stays_the_same(market: Market) -> None:
    graph = load_graph()
    assert load_graph() is graph
    Edge.objects.filter(pk=market.first.pk).update(expression="geo.country = 'USA'")
    Party.objects.filter(pk=market.north.pk).update(domain="northgate.example")
    assert load_graph() is graph


def test_what_was_rolled_back_is_not_kept(market: Market) -> None:
    before = market.path()
    with transaction.atomic():
        charge(market)
        assert market.path() == VIA_SOUTH
        transaction.set_rollback(True)
    assert market.path() == before


def test_a_version_that_was_rolled_back_is_not_mistaken_for_the_next(market: Market) -> None:
    """Counts both one higher than before."""
    load_graph()
    with transaction.atomic():
        charge(market)
        load_graph()
        transaction.set_rollback(True)
    Edge.objects.filter(pk=market.first.pk).update(fee_percent=0)
    assert market.path() == (["Daily Herald", "Northgate", "Solberg Soda"], Fraction(9, 10))


def test_a_change_that_commits_late_is_seen_when_it_does(market: Market) -> None:
    """Counts a change before another one that commits first."""
    load_graph()
    with ThreadPoolExecutor(1) as beside:
        with transaction.atomic():
            Edge.objects.filter(pk=market.dear.pk).update(fee_percent=1)
            beside.submit(change_beside, market.first.pk).result()
            assert beside.submit(path_beside, market).result() == VIA_SOUTH
        assert market.path() == (["Daily Herald", "Southgate", "Solberg Soda"], Fraction(891, 1000))
        beside.submit(connections.close_all).result()


def change_beside(edge_id: int) -> None:
    close_old_connections()
    Edge.objects.filter(pk=edge_id).update(fee_percent=Decimal(90))


def path_beside(market: Market) -> object:
    return market.path()


def test_a_change_of_another_process_is_seen(market: Market) -> None:
    assert market.path() != VIA_SOUTH
    program = f"""
import django
django.setup()
from exchange.market.models import Edge
Edge.objects.filter(pk={market.first.pk}).update(is_active=False)
"""
    environment = {**environment_of_the_tests(), "DJANGO_SETTINGS_MODULE": "exchange.settings"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert market.path() == VIA_SOUTH


def test_many_threads_see_what_is_saved_while_it_changes(market: Market) -> None:
    """Shows that each sees a state that was saved, and that all see the last change after it."""

    def ask(_: int) -> tuple[list[str], Fraction] | None:
        try:
            return market.path()
        finally:
            connections.close_all()

    fees = range(1, 30)
    with ThreadPoolExecutor(4) as threads:
        asked = threads.map(ask, range(40))
        for fee in fees:
            Edge.objects.filter(pk=market.first.pk).update(fee_percent=Decimal(fee) / 4)
        seen = list(asked)
        last = list(threads.map(ask, range(4)))
    saved = [Fraction(81, 100), *(Fraction(400 - fee, 400) * Fraction(9, 10) for fee in fees)]
    assert all(path is not None and path[1] in saved for path in seen)
    assert last == [(["Daily Herald", "Northgate", "Solberg Soda"], saved[-1])] * 4


def saved(links: list[Link], names: dict[int, str]) -> SavedGraph:
    rows = [
        (link.edge_id, link.seller_id, link.buyer_id, int((1 - Fraction(link.fee)) * 10_000))
        for link in links
    ]
    return SavedGraph(rows, names)


DRAWN = graphs(max_size=8, max_links=24) | ladders() | diamonds()


@given(DRAWN, st.integers(1, MAX_HOPS))
@settings(max_examples=300, deadline=None)
def test_paths_are_those_of_plain_routing(drawn: Drawn, hops: int) -> None:
    links, names = drawn
    graph, plain = saved(links, names), Graph(links, names)
    for source in names:
        expected = plain.cheapest_paths(source, max_hops=hops)
        assert graph.cheapest_paths(source, names, max_hops=hops) == expected
    assert {edge_id: graph.links[edge_id] for edge_id in graph.links} == plain.links


@given(DRAWN)
@settings(max_examples=200, deadline=None)
def test_pairs_that_pass_an_edge_are_those_of_plain_routing(drawn: Drawn) -> None:
    links, names = drawn
    graph, plain = saved(links, names), Graph(links, names)
    sources = set(names) - {link.buyer_id for link in links}
    for link in links:
        passing = list(graph.find_passing(link.edge_id))
        for hops in range(1, MAX_HOPS + 1):
            assert sorted(
                (way.source, way.target)
                for way in passing
                if way.fewest_hops <= hops <= way.most_hops
            ) == sorted(
                (source, target)
                for source in sources
                for target, path in plain.cheapest_paths(source, max_hops=hops).items()
                if link.edge_id in path.edge_ids
            )
        some = {source for source in sources if source % 2}
        assert sorted(graph.find_passing(link.edge_id, among=some)) == sorted(
            way for way in passing if way.source in some
        )
    assert not list(graph.find_passing(9_999))


@given(DRAWN, st.integers(1, MAX_HOPS), st.data())
@settings(max_examples=200, deadline=None)
def test_between_two_parties_is_all_that_their_paths_need(
    drawn: Drawn, hops: int, data: st.DataObject
) -> None:
    links, names = drawn
    closed = data.draw(st.sets(st.sampled_from([link.edge_id for link in links] or [0])))
    plain, source = Graph(links, names), 0

    def allows(edge_id: int) -> bool:
        return edge_id not in closed

    for target in set(names) - {source}:
        part = saved(links, names).between(source, target, max_hops=hops)
        for find in (Graph.cheapest_paths, Graph.nearest_paths):
            found = find(part, source, max_hops=hops, allows=allows).get(target)
            assert found == find(plain, source, max_hops=hops, allows=allows).get(target)
        assert sorted(part.openers(source, target, max_hops=hops, allows=allows)) == sorted(
            plain.openers(source, target, max_hops=hops, allows=allows)
        )


def test_parties_that_are_not_there_are_not_reached() -> None:
    graph = saved([Link(1, 1, 2, Fraction(0))], {1: "one", 2: "two"})
    assert graph.cheapest_paths(7, [1, 2]) == {}
    assert graph.cheapest_paths(1, [7]) == {}
    assert not graph.between(1, 7).links

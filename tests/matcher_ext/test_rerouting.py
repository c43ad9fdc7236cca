"""Another graph under a snapshot: answers and paths are those of an index that was made with it."""

from __future__ import annotations

import json
import random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import Link
from exchange.serving.deltas import RouteRecord
from matcher_ext import ATree, LiveIndex
from matcher_ext.index import replace_routes
from matcher_ext.match import path_key
from matcher_ext.values import UnknownDefinitionError
from targeting import Expression
from tests.matcher_ext.test_route_section import (
    CATALOG,
    FRENCH,
    HERALD,
    LABELS,
    NAMES,
    NORTH,
    ROWS,
    SODA,
    exchanges,
    expect,
    insert_goals,
)
from tests.matcher_ext.test_routes import Visit, numerator
from tests.routing.graphs import Drawn


def record(links: list[Link], names: dict[int, str]) -> RouteRecord:
    rows = [(link.edge_id, link.seller_id, link.buyer_id, numerator(link)) for link in links]
    return RouteRecord(names, rows, {party: f"seller {party}" for party in names}, list(names))


def build_with_some(
    chance: random.Random, drawn: Drawn, edges: dict[int, Expression]
) -> tuple[ATree, dict[int, tuple[int, int]]]:
    """Builds with some of the links, with other fees and names; the rest has places only."""
    links, names = drawn
    some = [link for link in links if chance.random() < 0.6]
    earlier = record(some, {party: str(chance.random()) for party in names})
    index = ATree(CATALOG)
    for edge_id, expression in edges.items():
        index.define(f"edge.{edge_id}", expression)
    spare = edges.keys() - {link.edge_id for link in some}
    fees = [(*row[:3], chance.randint(1, 10_000)) for row in earlier.links]
    index.set_routes(earlier.names, fees, earlier.labels, earlier.publishers, spare=sorted(spare))
    return index, insert_goals(index, names)


@given(exchanges(), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_a_live_index_answers_over_its_new_graph(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit]], chance: random.Random
) -> None:
    (links, names), edges, visits = drawn
    index, goals = build_with_some(chance, (links, names), edges)
    live = LiveIndex(index.freeze())
    again = chance.sample(sorted(goals), min(3, len(goals)))
    live.apply(routes=record(links, names), dead=again)
    for visit in visits:
        expected = expect((links, names), edges, visit, goals)
        for number in again:
            expected.pop(number, None)
        matched, _, paths = live.state.match_with_paths(visit)
        assert matched.tolist() == sorted(expected)
        keys = numpy.array([path_key(*goals[number]) for number in matched.tolist()], numpy.int64)
        for number, key in zip(matched.tolist(), keys.tolist(), strict=True):
            assert paths.edges(key) == expected[number].edge_ids


@pytest.fixture
def index() -> ATree:
    index = ATree(CATALOG)
    for edge_id in (1, 2, 3, 4):
        index.define(f"edge.{edge_id}", "true" if edge_id < 4 else "false")
    index.set_routes(NAMES, ROWS, LABELS, [HERALD], spare=[4])
    index.insert(7, f"publisher.id = 'herald' and @{index.define_reach(SODA, 5)}")
    return index


def test_an_edge_that_comes_later_takes_its_spare_place(index: ATree) -> None:
    live = LiveIndex(index.freeze())
    key = path_key(SODA, 5)
    assert live.state.match_with_paths(FRENCH)[2].edges(key) == (1, 2)
    rows = [*ROWS, (4, HERALD, SODA, 10_000)]
    routes = RouteRecord(NAMES, rows, LABELS, [HERALD])
    assert live.apply(routes=routes).match_with_paths(FRENCH)[2].edges(key) == (1, 2)
    live.apply(definitions=[("edge.4", "true")])
    assert live.state.match_with_paths(FRENCH)[2].edges(key) == (4,)
    assert live.snapshot.match_with_paths(FRENCH)[2].edges(key) == (1, 2), "what is below stays"


def test_a_changed_entry_walks_the_new_graph_too(index: ATree) -> None:
    live = LiveIndex(index.freeze())
    shut = RouteRecord(NAMES, ROWS[:1], LABELS, [HERALD])
    text = f"publisher.id = 'herald' and @reach.{SODA}.5"
    live.apply(routes=shut, entries={8: text})
    assert live.match(FRENCH) == []
    live.apply(routes=RouteRecord(NAMES, ROWS[1:], LABELS, [HERALD]))
    assert live.match(FRENCH) == [7, 8]


def test_an_edge_without_a_place_is_refused(index: ATree) -> None:
    rows = [*ROWS, (5, HERALD, NORTH, 10_000)]
    with pytest.raises(UnknownDefinitionError, match=r"edge\.5"):
        replace_routes(index.freeze(), NAMES, rows, LABELS, [HERALD])


def test_an_index_without_a_graph_stays_as_it_is() -> None:
    plain = ATree(CATALOG).freeze()
    assert replace_routes(plain, NAMES, ROWS, LABELS, [HERALD]) is plain


def test_a_change_may_come_as_json(index: ATree) -> None:
    """Shows it as JSON, which ad servers get that match by themselves."""
    live = LiveIndex(index.freeze())
    text = f"publisher.id = 'herald' and @reach.{SODA}.5"
    change = {"definitions": {}, "dead": [7], "entries": {8: text}, "routes": None, "lent": {}}
    live.apply_record(json.loads(json.dumps(change)))
    assert live.match(FRENCH) == [8]
    shut = {"names": NAMES, "links": ROWS[:1], "labels": LABELS, "publishers": [HERALD]}
    live.apply_record(json.loads(json.dumps({**change, "dead": [], "routes": shut})))
    assert live.match(FRENCH) == []
    wide = {**shut, "links": ROWS}
    live.apply_record(json.loads(json.dumps({**change, "entries": {}, "dead": [], "routes": wide})))
    assert live.match(FRENCH) == [8]

"""What the papers claim of their matchers, on small cases: by counted work, never by the clock."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.paper_workloads import make_equalities, make_facts, make_intervals, make_trees
from matcher_ext.engines import ENGINES
from targeting import Catalog

FACTS = Catalog.of(facts="string set")
SETS = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=6)


def fill(name: str, made: Any, **options: Any) -> Any:
    engine = ENGINES[name](Catalog.of(**made.types), **options)
    engine.insert_many(range(len(made.texts)), made.texts)
    return engine


def ask_all(engine: Any, made: Any) -> dict[str, int]:
    for visit in made.visits:
        engine.match(visit)
    stats: dict[str, int] = engine.stats()
    return stats


def find_optimum(subscriptions: list[set[int]], true: set[int]) -> int:
    """Finds the fewest predicates that decide all: those of each match, one false one of each
    other."""
    for size in range(7):
        for asked in map(set, itertools.combinations(range(6), size)):
            if all(
                subscription <= asked if subscription <= true else (subscription - true) & asked
                for subscription in subscriptions
            ):
                return size
    raise AssertionError("six predicates decide everything")


@given(SETS, st.sets(st.integers(0, 5)))
@settings(deadline=None, max_examples=60)
def test_sequential_asks_at_most_d_times_the_optimum(
    subscriptions: list[set[int]], true: set[int]
) -> None:
    longest = max(map(len, subscriptions))
    best = find_optimum(subscriptions, true)
    texts = [" and ".join(f"facts one of ('f{f}')" for f in one) for one in subscriptions]
    for name in ("sequential", "suborder", "naive"):
        engine = ENGINES[name](FACTS)
        engine.insert_many(range(len(texts)), texts)
        engine.match({"facts": [f"f{fact}" for fact in true]})
        asked = engine.stats()["tested"]
        assert best <= asked <= 6
        if name == "sequential":
            assert asked <= longest * best


def test_what_is_shared_is_asked_once_and_decides_all_that_have_it() -> None:
    made = make_facts(subscriptions=600, predicates=150, popularity=1.0, visits=10)
    asked = {}
    for name in ("naive", "sequential", "suborder"):
        engine = fill(name, made)
        engine.learn_truth_rates(made.training)
        asked[name] = ask_all(engine, made)["tested"]
        assert asked[name] <= 150 * 10
    assert asked["suborder"] < asked["naive"]
    assert asked["sequential"] < asked["naive"]


def test_unequal_costs_put_the_cheap_first() -> None:
    catalog = Catalog.of(a="integer", b="integer")
    costs = {}
    for name in ("naive", "suborder"):
        engine = ENGINES[name](catalog, costs={"a": 50.0})
        engine.insert_many([1, 2], ["a = 1 and b = 1", "a = 2 and b = 1"])
        assert engine.match({"a": 1, "b": 2}) == []
        costs[name] = engine.stats()["cost"]
    assert costs["suborder"] == 1 <= costs["naive"]


def test_the_optimal_order_is_planned_no_dearer_than_the_near_optimal_one() -> None:
    made = make_intervals(subscriptions=300, attributes=6, visits=15)
    planned = {
        order: ask_all(fill("dexin", made, order=order), made)["planned_cost_millionths"]
        for order in ("near-optimal", "optimal")
    }
    assert 0 < planned["optimal"] <= planned["near-optimal"] < 2 * planned["optimal"]


def test_each_method_alone_goes_through_more_than_both() -> None:
    made = make_intervals(subscriptions=500, attributes=6, visits=15)
    gone = {
        method: ask_all(fill("dexin", made, method=method), made)["visited"]
        for method in ("both", "exclusive", "inclusive")
    }
    assert gone["both"] < gone["exclusive"]
    assert gone["both"] < gone["inclusive"]


def test_the_optimal_order_has_a_limit_of_attributes() -> None:
    made = make_intervals(subscriptions=1, attributes=4)
    with pytest.raises(ValueError, match="max_attributes is 3"):
        fill("dexin", made, order="optimal", max_attributes=3)


def test_each_optimisation_of_the_matching_tree_saves_what_it_says() -> None:
    made = make_equalities(subscriptions=300, attributes=6, values=4, visits=20)
    plain = ask_all(fill("gryphon", made, collapse=False), made)
    collapsed = ask_all(fill("gryphon", made), made)
    successors = ask_all(fill("gryphon", made, successors=True), made)
    factored = ask_all(fill("gryphon", made, factored=("a0",)), made)
    assert collapsed["nodes"] < plain["nodes"]
    assert collapsed["visited"] < plain["visited"]
    assert successors["tested"] < plain["tested"]
    assert factored["visited"] < collapsed["visited"]


def test_intervals_take_less_than_dewey_labels_and_tell_their_times_apart() -> None:
    made = make_trees(depth=4, expressions=60, visits=10)
    interval, dewey = (ask_all(fill(name, made), made) for name in ("interval", "dewey"))
    assert interval["nodes"] == dewey["nodes"]
    assert interval["bytes"] < dewey["bytes"]
    for stats in (interval, dewey):
        assert stats["index_ns"] > 0
        assert stats["sort_ns"] > 0
        assert stats["evaluate_ns"] > 0


def test_expressions_of_one_meaning_are_one_diagram() -> None:
    engine = ENGINES["bdd"](FACTS)
    engine.insert(1, "facts one of ('a') and (facts one of ('b') or facts one of ('c'))")
    before = engine.stats()["nodes"]
    engine.insert(2, "(facts one of ('c') or facts one of ('b')) and facts one of ('a')")
    assert engine.stats()["nodes"] == before == 3
    engine.delete(1)
    assert engine.match({"facts": ["a", "c"]}) == [2]
    engine.delete(2)
    assert engine.stats()["nodes"] == 0


def test_counting_spares_what_cannot_reach_its_number() -> None:
    engine = ENGINES["bop"](FACTS)
    engine.insert(1, "facts one of ('a') and facts one of ('b')")
    assert engine.match({"facts": ["a"]}) == []
    assert engine.stats()["evaluated"] == 0
    assert engine.match({"facts": ["a", "b"]}) == [1]
    assert engine.stats()["evaluated"] == 1

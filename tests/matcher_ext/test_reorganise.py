"""An index whose nodes may stand for several conditions of others."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, LiveIndex
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits

PARTS = ("age = 1", "mobile", "country = 'US'", "score > 0.4", "publisher = 'US'")
BOTH = {"reorganise": True, "self_adjust": True}
VISIT = {"age": 1, "mobile": True, "country": "US", "score": 1}


def join(count: int, operator: str = " and ") -> str:
    return operator.join(PARTS[:count])


def test_reorganisation_uses_what_is_there_already() -> None:
    plain, reorganised = ATree(CATALOG), ATree(CATALOG, reorganise=True)
    for index in (plain, reorganised):
        index.insert(1, join(3, " or "))
        index.insert(2, join(4, " or "))
    assert plain.stats()["edges"] == 7
    assert reorganised.stats()["edges"] == 5


def test_only_a_set_within_the_expression_is_used() -> None:
    index = ATree(CATALOG, **BOTH)
    index.insert(1, join(4))
    index.insert(2, "age = 1 and mobile and publisher = 'US'")
    assert index.match(VISIT) == [1]
    assert index.stats()["edges"] == 7


@pytest.mark.parametrize("operator", [" and ", " or "])
def test_self_adjustment_makes_the_order_of_arrival_irrelevant(operator: str) -> None:
    for order in itertools.permutations((2, 3, 4, 5)):
        index = ATree(CATALOG, **BOTH)
        for count in order:
            index.insert(count, join(count, operator))
        assert index.stats()["edges"] == 8


def test_the_same_expression_is_found_again_whatever_its_links() -> None:
    index = ATree(CATALOG, **BOTH)
    for count in (5, 2, 4, 3):
        index.insert(count, join(count))
    before = index.stats()
    index.insert(100, " and ".join(reversed(PARTS)))
    assert index.stats() == before | {"entries": 5}


def test_a_deleted_part_stays_for_those_that_use_it() -> None:
    index = ATree(CATALOG, **BOTH)
    index.insert(2, join(2))
    index.insert(4, join(4))
    index.delete(2)
    assert index.match(VISIT) == [4]
    index.delete(4)
    assert index.stats()["nodes"] == 0


@given(
    st.lists(
        st.tuples(st.sampled_from((" and ", " or ")), st.sets(st.sampled_from(PARTS), min_size=1)),
        max_size=12,
    ),
    st.data(),
)
@settings(deadline=None)
def test_parts_of_one_another_survive_any_order_of_changes(
    drawn: list[tuple[str, set[str]]], data: st.DataObject
) -> None:
    index = ATree(CATALOG, **BOTH)
    entries = {i: operator.join(sorted(parts)) for i, (operator, parts) in enumerate(drawn)}
    for entry, text in entries.items():
        index.insert(entry, text)
    visit = VISIT | {"score": data.draw(st.sampled_from((0, 1)))}
    for entry in data.draw(st.permutations(list(entries))):
        assert index.match(visit) == judge(entries, {}, visit)
        index.delete(entry)
        del entries[entry]
    assert index.stats()["nodes"] == 0


@given(st.lists(texts(), max_size=8), st.lists(visits(), max_size=3))
@settings(deadline=None)
def test_matches_like_the_evaluator(expressions: list[str], seen: list[Any]) -> None:
    index = ATree(CATALOG, **BOTH)
    entries = dict(enumerate(expressions))
    index.insert_many(entries, entries.values())
    for visit in seen:
        assert index.match(visit) == judge(entries, {}, visit)


def test_definitions_move_on_to_a_live_index() -> None:
    index = ATree(CATALOG, **BOTH)
    index.insert(1, join(2))
    index.insert(2, join(3))
    index.define("part", join(4))
    index.insert(3, "@part and publisher = 'US'")
    live = LiveIndex(index.freeze())
    live.insert(4, "@part")
    live.define("part", join(3))
    assert live.match(VISIT) == [1, 2, 4]


def test_a_capped_search_and_long_chains_change_nothing_but_sizes() -> None:
    chosen = random.Random(1)
    conditions = [f"numbers one of ({i})" for i in range(60)]
    chains = [" and ".join(conditions[:length]) for length in range(2, 61)]
    chosen.shuffle(chains)
    for cap in (0, 1, 64):
        index = ATree(CATALOG, **BOTH, search_cap=cap)
        index.insert_many(range(len(chains)), chains)
        matched = index.match({"numbers": list(range(30))})
        assert [chains[i].count("one of") <= 30 for i in range(59)] == [
            i in matched for i in range(59)
        ]
        for entry in range(59):
            index.delete(entry)
        assert index.stats()["nodes"] == 0

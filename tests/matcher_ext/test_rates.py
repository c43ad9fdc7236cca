"""Truth rates choose by which child an expression is reached, never what it answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits

ADULT = "age > 17"
SCORES = [f"score < {number}" for number in range(1, 20)]
ENTRIES = {number: f"{ADULT} and {score}" for number, score in enumerate(SCORES)}


def index_of(entries: dict[int, str]) -> ATree:
    index = ATree(CATALOG)
    index.insert_many(entries, entries.values())
    return index


def test_the_rarest_child_is_the_one_that_a_visit_pushes() -> None:
    index = index_of(ENTRIES)
    assert index.set_truth_rates({ADULT: 0.001} | dict.fromkeys(SCORES, 0.9)) == 20
    by_age = index.freeze()
    assert index.set_truth_rates({ADULT: 0.9} | dict.fromkeys(SCORES, 0.001)) == 20
    by_score = index.freeze()
    assert by_age.stats()["pushed predicates"] == 1
    assert by_score.stats()["pushed predicates"] == len(SCORES)
    for visit in ({"age": 18, "score": 7.5}, {"age": 17, "score": 7.5}, {"age": 18}, {}):
        expected = judge(ENTRIES, {}, visit)
        assert by_age.match(visit) == by_score.match(visit) == index.match(visit) == expected


@given(
    st.lists(texts(), min_size=1, max_size=8),
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
    st.lists(visits(), min_size=1, max_size=3),
)
@settings(deadline=None)
def test_no_rates_change_an_answer(
    expressions: list[str], rates: list[float], seen: list[dict[str, Any]]
) -> None:
    entries = dict(enumerate(expressions))
    # Each text is in the index by itself as well: those that are predicates take their rate.
    joined = {-1 - i: f"({text}) and ({expressions[0]})" for i, text in entries.items()}
    index = index_of(entries | joined)
    index.set_truth_rates(dict(zip(expressions, rates, strict=False)))
    for visit in seen:
        assert index.match(visit) == judge(entries | joined, {}, visit)


def test_counts_only_predicates_that_the_index_holds() -> None:
    index = index_of({1: "age > 17 and mobile"})
    gone = {"age > 40": 0.2, "age > 17 and mobile": 0.1, "no such attribute": 0.5}
    assert index.set_truth_rates({"age > 17": 0.4, **gone}) == 1


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan"), float("inf"), "often", None])
def test_refuses_a_bad_rate_by_its_text_and_changes_nothing(rate: Any) -> None:
    index = index_of(ENTRIES)
    index.set_truth_rates({ADULT: 0.001} | dict.fromkeys(SCORES, 0.9))
    good = {ADULT: 0.9} | dict.fromkeys(SCORES[1:], 0.001)
    with pytest.raises(ValueError, match=r"the truth rate of 'score < 1' is .*: not ") as raised:
        index.set_truth_rates(good | {SCORES[0]: rate})
    assert repr(rate) in str(raised.value)
    assert index.freeze().stats()["pushed predicates"] == 1

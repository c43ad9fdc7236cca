"""Reasons and pictures, and the words in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, UnknownIdError
from targeting import Catalog, parse
from targeting.catalog import Attribute, AttributeType
from tests.matcher_ext.expressions import CATALOG, CONDITIONS, visits

CONSENT = Attribute("consent", AttributeType.BOOLEAN, required=True)


@given(CONDITIONS, st.lists(visits(), min_size=1, max_size=3))
@settings(deadline=None)
def test_a_condition_in_words_means_the_same(text: str, seen: list[dict[str, Any]]) -> None:
    index = ATree(CATALOG)
    index.insert(1, text)
    for visit in seen:
        for _, words, truth in index.why_not(visit, [1])[1]:
            assert parse(words, CATALOG).evaluate(visit) is truth


def test_names_every_failed_condition_and_its_definition() -> None:
    index = ATree(CATALOG)
    index.define("edge", "country in ('US', 'DE') and mobile")
    index.insert(1, "age >= 18 and @edge and (score < 0.5 or segments one of ('cars'))")
    reasons = index.why_not({"age": 17, "country": "US", "mobile": False}, [1])
    assert set(reasons[1]) == {
        (None, "age > 17", False),
        ("edge", "mobile = true", False),
        (None, "score < 0.5", None),
        (None, 'segments one of ("cars")', None),
    }


def test_an_entry_that_matches_has_no_reasons() -> None:
    index = ATree(CATALOG)
    index.insert(1, "age >= 18 or mobile")
    assert index.why_not({"mobile": True}, [1]) == {1: []}


def test_reasons_and_pictures_of_an_absent_id_are_refused() -> None:
    index = ATree(CATALOG)
    index.insert(1, "age >= 18")
    with pytest.raises(UnknownIdError, match="id 2 is not in the index"):
        index.why_not({"age": 18}, [1, 2])
    with pytest.raises(UnknownIdError, match="id 2 is not in the index"):
        index.to_graphviz(2)


def test_a_missing_required_attribute_is_a_reason() -> None:
    catalog = Catalog([Attribute("age", AttributeType.INTEGER), CONSENT])
    index = ATree(catalog)
    index.insert(1, "age >= 18")
    assert index.match({"age": 18}) == []
    assert index.why_not({"age": 18}, [1]) == {1: [(None, "consent is present", False)]}


def test_draws_an_expression_for_graphviz() -> None:
    index = ATree(CATALOG)
    index.define("edge", "mobile")
    index.insert(1, "age >= 18 and (@edge or country = 'US')")
    drawn = index.to_graphviz(1)
    assert drawn.startswith("digraph expression {")
    for part in ('label="id 1"', "age > 17", "@edge", 'country = \\"US\\"', "and", "or"):
        assert part in drawn

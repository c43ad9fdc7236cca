"""The dynamic index against the plain evaluator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import (
    ATree,
    DefinitionCycleError,
    DuplicateIdError,
    ExpressionError,
    RefusedExpressionsError,
    UnknownDefinitionError,
    UnknownIdError,
)
from targeting import parse
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits


def index_of(entries: dict[int, str], definitions: dict[str, str] | None = None) -> ATree:
    index = ATree(CATALOG)
    for name, text in (definitions or {}).items():
        index.define(name, text)
    index.insert_many(entries, entries.values())
    return index


@given(st.lists(texts(), max_size=12), st.lists(visits(), min_size=1, max_size=4))
@settings(deadline=None)
def test_matches_what_the_plain_evaluator_says(
    expressions: list[str], seen: list[dict[str, Any]]
) -> None:
    entries = dict(enumerate(expressions))
    index = index_of(entries)
    for visit in seen:
        assert index.match(visit) == judge(entries, {}, visit)
        assert sorted(index.match_ids(visit)) == index.match(visit)


@given(texts(), texts(("first",)), st.lists(texts(("first", "second")), max_size=6), visits())
@settings(deadline=None)
def test_a_definition_means_the_same_as_its_text(
    first: str, second: str, expressions: list[str], visit: dict[str, Any]
) -> None:
    definitions = {"first": first, "second": second}
    entries = dict(enumerate(expressions))
    assert index_of(entries, definitions).match(visit) == judge(entries, definitions, visit)


@given(texts(), texts(), st.lists(texts(("name",)), max_size=6), visits())
@settings(deadline=None)
def test_redefining_changes_everyone_who_refers_to_it(
    before: str, after: str, expressions: list[str], visit: dict[str, Any]
) -> None:
    entries = dict(enumerate(expressions))
    index = index_of(entries, {"name": before})
    index.match(visit)
    index.define("name", after)
    assert index.match(visit) == judge(entries, {"name": after}, visit)


def test_takes_an_expression_as_well_as_a_text() -> None:
    index = ATree(CATALOG)
    index.insert(1, parse("age >= 18", CATALOG))
    assert index.match({"age": 18}) == [1]


def test_ids_are_any_64_bit_integers() -> None:
    index = index_of({-(2**63): "true", 2**63 - 1: "true", 0: "true"})
    assert index.match({}) == [-(2**63), 0, 2**63 - 1]
    with pytest.raises(OverflowError):
        index.insert(2**63, "true")


def test_an_empty_index_matches_nothing() -> None:
    assert ATree(CATALOG).match({"age": 1}) == []
    assert len(ATree(CATALOG)) == 0


def test_inserting_a_present_id_changes_nothing() -> None:
    index = index_of({1: "age = 1"})
    with pytest.raises(DuplicateIdError, match="id 1 is already in the index"):
        index.insert(1, "age = 2")
    with pytest.raises(DuplicateIdError):
        index.insert_many([2, 2], ["true", "true"])
    assert len(index) == 1
    assert index.match({"age": 2}) == []


def test_deleting_an_absent_id_changes_nothing() -> None:
    index = index_of({1: "true"})
    with pytest.raises(UnknownIdError, match="id 2 is not in the index"):
        index.delete(2)
    assert index.match({}) == [1]


def test_a_bulk_insert_is_all_or_nothing_and_names_every_bad_text() -> None:
    index = index_of({1: "true"})
    with pytest.raises(RefusedExpressionsError) as caught:
        index.insert_many([2, 3, 4], ["age = 1", "age =", "nothing = 1"])
    assert set(caught.value.errors) == {3, 4}
    assert 2 not in index
    assert index.match({"age": 1}) == [1]


def test_a_bulk_insert_of_many_chunks_is_all_or_nothing() -> None:
    index = ATree(CATALOG)
    with pytest.raises(RefusedExpressionsError):
        index.insert_many(range(10_001), ["age = 1"] * 10_000 + ["age ="])
    assert len(index) == 0
    assert index.stats()["nodes"] == 0


@pytest.mark.parametrize("text", ["age =", "", "nothing = 1", "age = 1 \ud800"])
def test_a_bad_text_raises_the_languages_error(text: str) -> None:
    index = ATree(CATALOG)
    with pytest.raises(ExpressionError):
        index.insert(1, text)
    with pytest.raises(ExpressionError):
        index.define("name", text)
    assert len(index) == 0


def test_an_undefined_name_is_refused() -> None:
    index = ATree(CATALOG)
    with pytest.raises(UnknownDefinitionError, match="@edge has no definition"):
        index.insert(1, "age = 1 and @edge")
    with pytest.raises(UnknownDefinitionError):
        index.define("other", "@edge")
    assert index.stats()["nodes"] == 0


def test_a_cycle_of_definitions_is_refused_and_the_old_meaning_stays() -> None:
    index = ATree(CATALOG)
    index.define("first", "age = 1")
    index.define("second", "@first or age = 2")
    index.insert(1, "@first")
    with pytest.raises(DefinitionCycleError, match="@first"):
        index.define("first", "not @second")
    assert index.match({"age": 1}) == [1]


def test_deleting_a_parent_keeps_its_shared_child() -> None:
    index = index_of({1: "age = 1", 2: "age = 1 and mobile", 3: "country = 'US' or age = 1"})
    index.delete(2)
    assert index.match({"age": 1, "mobile": True}) == [1, 3]
    index.delete(1)
    assert index.match({"age": 1}) == [3]
    index.delete(3)
    assert index.stats()["nodes"] == 0
    index.insert(2, "age = 1 and mobile")
    assert index.match({"age": 1, "mobile": True}) == [2]


def test_equal_expressions_share_one_node() -> None:
    index = index_of({1: "age = 1 and mobile", 2: "mobile and age = 1", 3: "age in (1) and mobile"})
    assert index.stats()["nodes"] == 3
    assert index.match({"age": 1, "mobile": True}) == [1, 2, 3]


def test_a_chain_of_xors_does_not_explode() -> None:
    text = " xor ".join(f"age = {i}" for i in range(200))
    index = index_of({1: text, 2: text})
    assert index.match({"age": 7}) == [1, 2]
    assert index.match({"age": 777}) == []


def test_new_meanings_of_a_small_index_are_seen_with_and_without_new_entries() -> None:
    index = ATree(CATALOG)
    index.define("edge", "age = 1")
    index.define("other", "not @edge")
    for number, text in enumerate(("@edge", "not @edge", "@other and mobile")):
        index.insert(number, text)
    assert index.match({"age": 1, "mobile": True}) == [0]
    for age in (2, 3, 1):
        index.define("edge", f"age = {age}")
        assert index.match({"age": 1, "mobile": True}) == ([0] if age == 1 else [1, 2])
        assert index.match({"age": age}) == [0]
        index.insert(10 + age, "@edge and @edge and mobile")
        assert index.match({"age": age, "mobile": True}) == [0, 10 + age]
        index.delete(10 + age)
    assert index.freeze().match({"age": 1}) == [0]

"""The dynamic index against the plain evaluator."""

from __future__ import annotations

import threading
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
from tests.matcher_ext.expressions import CATALOG, TYPES, judge, texts, visits

ONE_OF_EACH = (
    "publisher = 'US'",
    "country starts with 'U'",
    "age >= 18",
    "score < 0.5",
    "mobile = true",
    "time < '2026-11-15T00:00:00Z'",
    "segments one of ('cars')",
    "numbers all of (1, 2)",
    "address in network ('10.0.0.0/8')",
    "place within 5 km of (48.85, 2.35)",
    "seen during 'Mon-Fri 08:00-18:00'",
)


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


@pytest.mark.parametrize("visit", [{}, {"age": 1}, {"country": "unseen", "segments": ["unseen"]}])
def test_true_matches_every_visit_and_false_none(visit: dict[str, Any]) -> None:
    index = index_of(
        {1: "true", 2: "false", 3: "not true", 4: "not false", 5: "true and (false or true)"}
    )
    index.define("always", "true")
    index.insert_many([6, 7], ["@always", "not @always"])
    assert index.match(visit) == [1, 4, 5, 6]
    index.define("always", "false")
    assert index.match(visit) == [1, 4, 5, 7]
    index.delete(1)
    assert index.match(visit) == [4, 5, 7]
    assert index.freeze().stats()["entries"] == 6


def test_a_text_that_no_expression_names_is_unequal_to_all_that_are_named() -> None:
    entries = {
        1: "country = 'US'",
        2: "country != 'US'",
        3: "country in ('US', 'DE')",
        4: "country not in ('US', 'DE')",
        5: "country is present",
        6: "segments one of ('US')",
        7: "segments none of ('US')",
        8: "segments only of ('US')",
        9: "publisher = 'US'",
        10: "not (publisher = 'US')",
    }
    index = index_of(entries)
    for unseen in ("FR", "", "US ", "us", "\u00e9" * 300):
        visit = {"country": unseen, "segments": [unseen]}
        assert index.match(visit) == [2, 4, 5, 7] == judge(entries, {}, visit)


def test_a_visit_without_attributes_meets_what_asks_for_none() -> None:
    """Tries every type: comparisons and their negations are undefined."""
    entries = {}
    for number, condition in enumerate(ONE_OF_EACH):
        entries[4 * number] = condition
        entries[4 * number + 1] = f"not ({condition})"
        entries[4 * number + 2] = f"{condition.split()[0]} is missing"
        entries[4 * number + 3] = f"({condition}) or not ({condition})"
    index = index_of(entries)
    missing = [entry for entry in entries if entry % 4 == 2]
    for visit in ({}, dict.fromkeys(TYPES), {"unknown": 1}):
        assert index.match(visit) == missing == judge(entries, {}, visit)


def test_numbers_reach_to_the_ends_of_64_bits() -> None:
    low, high = -(2**63), 2**63 - 1
    entries = {
        1: f"age = {low}",
        2: f"age <= {low}",
        3: f"age > {low}",
        4: f"age = {high}",
        5: f"age >= {high}",
        6: f"age < {high}",
        7: f"age between {low} and {high}",
        8: f"age not between {low + 1} and {high - 1}",
        9: f"numbers one of ({low}, {high})",
        10: f"numbers only of ({low}, {high})",
    }
    index = index_of(entries)
    assert index.match({"age": low, "numbers": [low]}) == [1, 2, 6, 7, 8, 9, 10]
    assert index.match({"age": high, "numbers": [high, low]}) == [3, 4, 5, 7, 8, 9, 10]
    assert index.match({"age": 0, "numbers": [high, 0]}) == [3, 6, 7, 9]
    for beyond in (low - 1, high + 1):
        assert index.match({"age": beyond, "numbers": [beyond]}) == []
        with pytest.raises(ExpressionError):
            index.insert(11, f"age = {beyond}")


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


def test_a_single_predicate_may_be_a_part_of_others_and_a_definition() -> None:
    entries = {
        1: "age = 1",
        2: "age = 1 and mobile",
        3: "age = 1 or mobile",
        4: "@one and mobile",
        5: "not (age = 1)",
        6: "age = 1",
    }
    definitions = {"one": "age = 1"}
    index = index_of(entries, definitions)
    for gone in (0, 2, 1, 6, 3, 4):
        if gone:
            index.delete(gone)
            del entries[gone]
        for visit in ({"age": 1}, {"age": 1, "mobile": True}, {"age": 2, "mobile": True}, {}):
            assert index.match(visit) == judge(entries, definitions, visit)
            assert index.freeze().match(visit) == judge(entries, definitions, visit)


def test_a_refused_answer_defines_none_of_its_names() -> None:
    index = index_of({}, {"taken": "true"})
    index.answer_slots(["answered"], lambda ask: {"answered": ask("taken")})
    with pytest.raises(ValueError, match="@answered has an answer already"):
        index.answer_slots(["new", "answered"], lambda _ask: {})
    assert not index.has_definition("new")


def test_threads_match_on_an_index_while_another_changes_it() -> None:
    """Makes one of these changes at a time: entry 9 comes or goes, `@edge` gets its other
    meaning."""
    index = index_of({1: "@edge", 2: "not @edge", 3: "age = 1"}, {"edge": "age = 1"})
    possible = [[1, 3], [1, 3, 9], [2, 3], [2, 3, 9]]
    odd: list[list[int]] = []
    seen: set[tuple[int, ...]] = set()
    finished = threading.Event()

    def read() -> None:
        while not finished.is_set():
            found = index.match({"age": 1})
            seen.add(tuple(found))
            if found not in possible:
                odd.append(found)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(100_000):
        index.insert(9, "age = 1 and not (age = 2)")
        index.define("edge", "age = 2" if turn % 2 else "age = 1")
        index.delete(9)
        if turn > 200 and len(seen) == len(possible):
            break
    finished.set()
    for thread in threads:
        thread.join()
    assert odd == []
    assert len(seen) == len(possible), "they have read meanwhile"


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

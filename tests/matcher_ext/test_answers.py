"""Definitions that code answers instead of an expression."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from matcher_ext import ATree, LiveIndex, Snapshot, UnknownDefinitionError
from tests.matcher_ext.expressions import CATALOG

Ask = Callable[[str], bool]
Truths = dict[str, bool | None]


class Oracle:
    """Answers by what it is told, and counts how often it is asked."""

    def __init__(self, **truths: bool | None) -> None:
        self.truths = truths
        self.calls = 0

    def __call__(self, _ask: Ask) -> Truths:
        self.calls += 1
        return self.truths


def is_grown_up(ask: Ask) -> Truths:
    return {"grown_up": ask("adult"), "child": not ask("adult")}


def make_index(entries: dict[int, str], patch_from: int = 5000) -> ATree:
    index = ATree(CATALOG, patch_from=patch_from)
    index.define("adult", "age >= 18")
    index.answer_slots(["grown_up", "child"], is_grown_up, asks=["adult"])
    index.insert_many(entries, entries.values())
    return index


def test_a_function_answers_many_definitions_and_asks_for_others() -> None:
    index = make_index({1: "@grown_up", 2: "@child and mobile", 3: "mobile and not @grown_up"})
    assert index.match({"age": 18, "mobile": True}) == [1]
    assert index.match({"age": 17, "mobile": True}) == [2, 3]


@pytest.mark.parametrize(("truth", "expected"), [(True, [1, 4]), (False, [2, 3, 4]), (None, [4])])
def test_an_answer_has_three_values(truth: bool | None, expected: list[int]) -> None:
    index = ATree(CATALOG)
    index.answer_slots(["told"], Oracle(told=truth))
    entries = {1: "@told", 2: "not @told", 3: "mobile and not @told", 4: "@told or mobile"}
    index.insert_many(entries, entries.values())
    assert index.match({"mobile": True}) == expected
    reasons = index.why_not({"mobile": True}, entries)
    assert [entry for entry, why in reasons.items() if not why] == expected


def test_what_is_left_out_is_undefined() -> None:
    index = ATree(CATALOG)
    index.answer_slots(["told", "untold"], Oracle(told=True))
    index.insert_many([1, 2, 3], ["@told", "@untold", "not @untold"])
    assert index.match({}) == [1]


def test_it_is_asked_once_per_visit_and_only_when_needed() -> None:
    oracle = Oracle(one=True, two=False)
    index = ATree(CATALOG)
    index.answer_slots(["one", "two"], oracle)
    index.insert_many(range(3), ["mobile and @one", "mobile and @two", "mobile and not @two"])
    assert index.match({"mobile": False}) == []
    assert oracle.calls == 0
    assert index.match({"mobile": True}) == [0, 2]
    assert oracle.calls == 1
    assert index.match({"mobile": True}) == [0, 2]
    assert oracle.calls == 2


def test_what_is_being_answered_is_not_true_meanwhile() -> None:
    seen: list[bool] = []

    def answer(ask: Ask) -> Truths:
        seen.append(ask("told"))
        seen.append(ask("around"))
        return {"told": True}

    index = ATree(CATALOG)
    index.answer_slots(["told"], answer)
    index.define("around", "mobile and @told")
    index.insert(1, "@told")
    assert index.match({"mobile": True}) == [1]
    assert seen == [False, False]
    assert index.why_not({"mobile": True}, [1]) == {1: []}


def test_two_functions_may_ask_for_each_other() -> None:
    index = ATree(CATALOG)
    index.answer_slots(["first"], lambda ask: {"first": ask("second")})
    index.answer_slots(["second"], lambda ask: {"second": not ask("first")})
    index.insert_many([1, 2], ["@first", "@second"])
    assert index.match({}) == [1, 2]


def test_whatever_a_function_raises_reaches_the_caller_and_nothing_else() -> None:
    def fail(ask: Ask) -> Truths:
        ask("nothing")
        return {}

    index = ATree(CATALOG)
    index.answer_slots(["told"], fail)
    index.insert_many([1, 2], ["mobile and @told", "age = 1"])
    with pytest.raises(UnknownDefinitionError, match="@nothing"):
        index.match({"mobile": True})
    assert index.match({"age": 1, "mobile": False}) == [2]
    with pytest.raises(UnknownDefinitionError, match="@nothing"):
        index.freeze().match_batch(pa.RecordBatch.from_pydict({"mobile": [True, False]}))


def test_refuses_answers_that_are_no_truths_and_names_that_are_taken() -> None:
    index = ATree(CATALOG)
    index.answer_slots(["told"], Oracle(told="yes"))  # type: ignore[arg-type]
    index.insert(1, "@told")
    with pytest.raises(TypeError, match="True, False or None"):
        index.match({})
    with pytest.raises(ValueError, match="answered by code"):
        index.define("told", "true")
    with pytest.raises(ValueError, match="has an answer already"):
        index.answer_slots(["told"], Oracle())
    with pytest.raises(TypeError):
        index.answer_slots(["other"], None)  # type: ignore[arg-type]


def test_batches_are_answered_row_by_row() -> None:
    snapshot = make_index({1: "@grown_up", 2: "@child", 3: "mobile"}).freeze()
    batch = pa.RecordBatch.from_pydict({"age": [17, 18, None] * 100})
    offsets, ids = snapshot.match_batch(batch)
    assert ids[: offsets[3]].tolist() == [2, 1, 2]
    assert snapshot.count_batch(batch).tolist() == [100, 200, 0]


def test_a_saved_snapshot_keeps_no_code_until_it_is_given_some(tmp_path: Path) -> None:
    make_index({1: "@grown_up", 2: "@child", 3: "age = 18"}).freeze().save(tmp_path / "index")
    opened = Snapshot.open(tmp_path / "index")
    assert opened.match({"age": 18}) == [3]
    answered = opened.answer_slots(["grown_up", "child"], is_grown_up)
    assert answered.match({"age": 18}) == [1, 3]
    assert answered.match({"age": 1}) == [2]
    assert opened.match({"age": 18}) == [3]
    answered.save(tmp_path / "again")
    assert len(Snapshot.open(tmp_path / "again")) == 3


def test_an_index_with_few_changes_asks_once_for_both_parts() -> None:
    oracle = Oracle(told=True)
    index = ATree(CATALOG, patch_from=0)
    index.answer_slots(["told"], oracle)
    index.insert(1, "@told")
    index.freeze()
    index.insert(2, "@told and mobile")
    assert index.match({"mobile": True}) == [1, 2]
    assert oracle.calls == 1


def test_a_live_index_asks_once_and_through_the_newest_meanings(tmp_path: Path) -> None:
    calls: list[bool] = []

    def answer(ask: Ask) -> Truths:
        calls.append(ask("adult"))
        return {"grown_up": calls[-1], "child": not calls[-1]}

    index = make_index({1: "@grown_up", 2: "not @grown_up and mobile"})
    index.freeze().save(tmp_path / "index")
    live = LiveIndex(Snapshot.open(tmp_path / "index"))
    assert live.match({"age": 20, "mobile": True}) == [2]
    live.answer_slots(["grown_up", "child"], answer, asks=["adult"])
    live.insert(3, "@child")
    assert live.match({"age": 20, "mobile": True}) == [1]
    assert live.match({"age": 1, "mobile": True}) == [2, 3]
    assert calls == [True, False]
    live.define("adult", "age >= 21")
    assert live.match({"age": 20, "mobile": True}) == [2, 3]
    assert calls == [True, False, False]
    live.define("outer", "@child and mobile")
    live.insert(4, "not @outer")
    assert live.match({"age": 30, "mobile": True}) == [1, 4]
    with pytest.raises(ValueError, match="answered by code"):
        live.define("child", "true")
    live.swap(make_index({5: "@child"}).freeze())
    assert live.match({"age": 1}) == [5]


def test_a_replaced_definition_may_refer_to_one_that_code_answers() -> None:
    index = make_index({})
    index.define("part", "mobile")
    index.insert_many([1, 2, 3], ["@part", "not @part", "mobile and @part"])
    live = LiveIndex(index.freeze())
    live.define("part", "mobile and @grown_up")
    assert live.match({"age": 18, "mobile": True}) == [1, 3]
    assert live.match({"age": 17, "mobile": True}) == [2]


def test_many_threads_are_answered_each_for_its_own_visit() -> None:
    live = LiveIndex(make_index({1: "@grown_up", 2: "@child"}).freeze())
    live.insert(3, "@child and mobile")
    odd: list[tuple[int, list[int]]] = []

    def read(age: int) -> None:
        expected = [1] if age >= 18 else [2, 3]
        for _ in range(300):
            found = live.match({"age": age, "mobile": True})
            if found != expected:
                odd.append((age, found))

    threads = [threading.Thread(target=read, args=(age,)) for age in range(14, 22)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert odd == []

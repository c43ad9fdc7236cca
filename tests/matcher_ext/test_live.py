"""A snapshot with changes beside it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from matcher_ext import (
    ATree,
    DefinitionCycleError,
    DuplicateIdError,
    ExpressionError,
    LiveIndex,
    RefusedExpressionsError,
    Snapshot,
    UnknownDefinitionError,
    UnknownIdError,
)
from matcher_ext.index import Overlay
from tests.matcher_ext.expressions import CATALOG


def freeze(entries: dict[int, str], **definitions: str) -> Snapshot:
    index = ATree(CATALOG)
    for name, text in definitions.items():
        index.define(name, text)
    index.insert_many(entries, entries.values())
    return index.freeze()


def test_a_changed_entry_dies_in_the_snapshot() -> None:
    live = LiveIndex(freeze({1: "age = 1", 2: "age = 1"}))
    live.delete(1)
    live.insert(1, "age = 2")
    assert live.match({"age": 1}) == [2]
    assert live.match({"age": 2}) == [1]
    assert live.stats() == {
        "entries": 2,
        "snapshot": 2,
        "beside": 1,
        "dead": 1,
        "replaced definitions": 0,
    }


def test_a_replaced_definition_holds_for_old_and_new_entries_both_ways() -> None:
    live = LiveIndex(freeze({1: "@edge", 2: "not @edge", 3: "age = 1"}, edge="age = 1"))
    live.insert(4, "@edge and mobile")
    live.define("edge", "age = 2")
    assert live.match({"age": 2, "mobile": True}) == [1, 4]
    assert live.match({"age": 1}) == [2, 3]
    assert live.match({}) == []


def test_a_replaced_definition_reaches_through_others() -> None:
    live = LiveIndex(freeze({1: "@outer"}, inner="age = 1", outer="@inner or mobile"))
    live.define("inner", "age = 7")
    assert live.match({"age": 7}) == [1]
    assert live.match({"age": 1}) == []


def test_an_entry_with_the_same_text_as_a_replaced_definition_keeps_its_meaning() -> None:
    text = " or ".join(f"age = {i} and country = 'US'" for i in range(40))
    snapshot = freeze({1: f"mobile and ({text})", 2: f"mobile and @edge and ({text})"}, edge=text)
    live = LiveIndex(snapshot)
    live.define("edge", "false")
    assert live.match({"age": 7, "country": "US", "mobile": True}) == [1]


def test_ids_are_refused_as_in_any_index() -> None:
    live = LiveIndex(freeze({1: "true"}))
    with pytest.raises(DuplicateIdError):
        live.insert(1, "true")
    with pytest.raises(UnknownIdError):
        live.delete(2)
    with pytest.raises(UnknownDefinitionError):
        live.insert(2, "@nothing")
    live.delete(1)
    with pytest.raises(UnknownIdError):
        live.delete(1)
    assert len(live) == 0
    assert 1 not in live


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nonsense = 1", ExpressionError),
        ("@nothing or age = 2", UnknownDefinitionError),
        ("not @outer", DefinitionCycleError),
        ("@edge", DefinitionCycleError),
    ],
)
def test_a_refused_meaning_leaves_the_old_one(text: str, error: type[Exception]) -> None:
    definitions = {"edge": "age = 1", "outer": "@edge or mobile"}
    live = LiveIndex(freeze({1: "@edge", 2: "not @edge", 3: "@outer"}, **definitions))
    with pytest.raises(error):
        live.define("edge", text)
    live.insert(4, "@edge")
    assert live.match({"age": 1, "mobile": False}) == [1, 3, 4]
    assert live.match({"age": 2, "mobile": False}) == [2]
    live.define("edge", "age = 2")
    assert live.match({"age": 2, "mobile": False}) == [1, 3, 4]


def test_readers_see_one_state_or_the_next_while_writers_change_it() -> None:
    live = LiveIndex(freeze({1: "age = 1"}))
    odd: list[list[int]] = []
    finished = threading.Event()

    def read() -> None:
        while not finished.is_set():
            found = live.match({"age": 1})
            if found not in ([1], [1, 2]):
                odd.append(found)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        live.insert(2, "age = 1")
        live.delete(2)
        live.swap(freeze({1: "age = 1"}))
    finished.set()
    for thread in threads:
        thread.join()
    assert odd == []


def test_eight_readers_see_whole_generations_while_another_swaps() -> None:
    """Gives each generation ids, a definition and an entry beside the snapshot of its own, all of
    which a visit meets: whoever saw parts of two would find a set that never was."""
    live = LiveIndex(make_generation(0))
    live.apply(entries={900: "@edge"})
    known = {frozenset(live.match({"age": 1}))}
    seen: list[set[frozenset[int]]] = [set() for _ in range(8)]
    finished = threading.Event()

    def read(found: set[frozenset[int]]) -> None:
        while not finished.is_set():
            found.add(frozenset(live.match({"age": 1})))

    threads = [threading.Thread(target=read, args=(found,)) for found in seen]
    for thread in threads:
        thread.start()
    for number in range(1, 2000):
        known.add(frozenset(range(number * 1000, number * 1000 + 100)))
        live.swap(make_generation(number))
        known.add(frozenset([*range(number * 1000, number * 1000 + 50), number * 1000 + 900]))
        live.apply(
            definitions=[("edge", "age = 1"), ("other", "age = 2")],
            entries={number * 1000 + 900: "@edge"},
        )
        if number > 50 and all(len(found) > 2 for found in seen):
            break
    finished.set()
    for thread in threads:
        thread.join()
    assert set().union(*seen) <= known
    assert all(len(found) > 2 for found in seen), "each of them has read while it was swapped"


def make_generation(number: int) -> Snapshot:
    first = number * 1000
    entries = {first + place: "@edge" if place < 50 else "@other" for place in range(100)}
    return freeze(entries, edge="age = 1", other="age = 1")


def test_what_lies_over_one_snapshot_is_refused_by_another() -> None:
    snapshot, other = freeze({1: "@edge"}, edge="true"), freeze({1: "@edge"}, edge="true")
    overlay = Overlay(snapshot, [1], freeze({}, edge="false"), ["edge"])
    assert snapshot.match({}, overlay) == []
    with pytest.raises(ValueError, match="nothing of another"):
        other.match({}, overlay)
    with pytest.raises(UnknownIdError):
        Overlay(snapshot, [2], freeze({}), [])
    with pytest.raises(UnknownDefinitionError, match="@edge has no new meaning"):
        Overlay(snapshot, [], freeze({}), ["edge"])


def test_many_changes_are_published_as_one() -> None:
    live = LiveIndex(freeze({1: "@edge", 2: "age = 1", 3: "age = 1"}, edge="age = 1"))
    before = live.state
    after = live.apply(
        definitions=[("edge", "age = 2"), ("new", "mobile")],
        dead=[2, 99],
        entries={3: "@edge and @new", 4: "@edge"},
    )
    assert sorted(after.match_ids({"age": 2, "mobile": True})) == [1, 3, 4]
    assert sorted(before.match_ids({"age": 1})) == [1, 2, 3]
    assert (len(before), len(after), live.state) == (3, 3, after)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"dead": [2], "entries": {1: "nonsense = 1", 4: "true"}}, RefusedExpressionsError),
        ({"dead": [2, 3], "entries": {5: "@nothing"}}, UnknownDefinitionError),
        ({"definitions": [("edge", "true"), ("edge", "age =")]}, ExpressionError),
        ({"definitions": [("new", "true"), ("edge", "@new and @new.er")]}, UnknownDefinitionError),
        ({"definitions": [("edge", "true"), ("late", "@late")]}, UnknownDefinitionError),
        ({"definitions": [("edge", "true"), ("beside", "@later")]}, DefinitionCycleError),
        ({"lent": [("lent", "true")], "dead": [1, 3], "entries": {3: ""}}, RefusedExpressionsError),
    ],
)
def test_a_refused_change_leaves_nothing_behind(
    change: dict[str, Any], error: type[Exception]
) -> None:
    """Shows that nothing comes even with the next change, which may be the same again."""
    live = LiveIndex(freeze({1: "@edge", 2: "age = 2"}, edge="age = 1"))
    live.apply(
        definitions=[("beside", "age = 3"), ("later", "@beside or mobile")],
        entries={3: "@edge and mobile", 6: "@later"},
    )
    live.define("beside", "age = 3 or age = 2")
    stats = live.stats()
    for _ in range(2):
        with pytest.raises(error):
            live.apply(**change)
        live.insert(9, "age = 9")
        live.delete(9)
        assert live.stats() == stats
        assert live.match({"age": 1, "mobile": True}) == [1, 3, 6]
        assert live.match({"age": 2, "mobile": False}) == [2, 6]
    live.insert(4, "not @edge")
    live.define("edge", "age = 2")
    assert live.match({"age": 1, "mobile": True}) == [4, 6]
    assert live.match({"age": 2, "mobile": True}) == [1, 2, 3, 6]


def test_code_takes_the_place_of_a_new_meaning_and_stays_after_a_refusal() -> None:
    live = LiveIndex(freeze({1: "@told", 2: "not @told"}, told="age = 1"))
    live.define("told", "age = 2")
    live.answer_slots(["told"], lambda _ask: {"told": True})
    live.insert(3, "@told and mobile")
    with pytest.raises(ExpressionError):
        live.apply(definitions=[("new", "true"), ("newer", "age =")])
    with pytest.raises(ValueError, match="answered by code"):
        live.define("told", "age = 3")
    assert live.match({"mobile": True}) == [1, 3]
    live.delete(3)
    assert live.match({"age": 1, "mobile": True}) == [1]

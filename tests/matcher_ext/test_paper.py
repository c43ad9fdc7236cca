"""The paper's tree with every switch, against the plain evaluator."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext.engines import PaperTree
from matcher_ext.values import DuplicateIdError, UnknownDefinitionError, UnknownIdError
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits

SWITCHES = st.fixed_dictionaries(
    {
        name: st.booleans()
        for name in (
            "sharing",
            "binary",
            "zero_suppression",
            "on_demand",
            "reorganise",
            "self_adjust",
        )
    }
)
PARTS = ("age = 1", "mobile", "country = 'US'", "score > 0.4", "publisher = 'US'")


@given(SWITCHES, st.lists(texts(), max_size=8), st.data(), st.lists(visits(), max_size=3))
@settings(deadline=None)
def test_matches_with_any_switches_and_after_deletes(
    switches: dict[str, bool], expressions: list[str], data: st.DataObject, seen: list[Any]
) -> None:
    tree = PaperTree(CATALOG, **switches)
    entries = dict(enumerate(expressions))
    for entry, text in entries.items():
        tree.insert(entry, text)
    for entry in data.draw(st.sets(st.sampled_from(range(len(expressions))))) if entries else ():
        tree.delete(entry)
        del entries[entry]
    for visit in seen:
        assert tree.match(visit) == judge(entries, {}, visit)


@given(
    st.lists(
        st.tuples(st.sampled_from((" and ", " or ")), st.sets(st.sampled_from(PARTS), min_size=1)),
        max_size=12,
    ),
    st.data(),
)
@settings(deadline=None)
def test_reorganised_subsets_survive_any_order_of_changes(
    drawn: list[tuple[str, set[str]]], data: st.DataObject
) -> None:
    tree = PaperTree(CATALOG, reorganise=True, self_adjust=True)
    entries = {i: operator.join(sorted(parts)) for i, (operator, parts) in enumerate(drawn)}
    for entry, text in entries.items():
        tree.insert(entry, text)
    visit = {"age": 1, "mobile": True, "country": "US", "score": data.draw(st.sampled_from((0, 1)))}
    for entry in data.draw(st.permutations(list(entries))):
        assert tree.match(visit) == judge(entries, {}, visit)
        tree.delete(entry)
        del entries[entry]
    assert tree.stats()["nodes"] == 0


def test_reorganisation_uses_what_is_there_already() -> None:
    plain, reorganised = PaperTree(CATALOG), PaperTree(CATALOG, reorganise=True)
    for tree in (plain, reorganised):
        tree.insert(1, "age = 1 or mobile or country = 'US'")
        tree.insert(2, "age = 1 or mobile or country = 'US' or score > 0.4")
    assert plain.stats()["edges"] == 7
    assert reorganised.stats()["edges"] == 5


def test_self_adjustment_makes_the_order_of_arrival_irrelevant() -> None:
    sizes = set()
    for order in itertools.permutations((2, 3, 4, 5)):
        tree = PaperTree(CATALOG, reorganise=True, self_adjust=True)
        for count in order:
            tree.insert(count, " and ".join(PARTS[:count]))
        sizes.add(tree.stats()["edges"])
    assert sizes == {8}


def test_refuses_what_an_index_refuses() -> None:
    tree = PaperTree(CATALOG)
    tree.insert(1, "true")
    with pytest.raises(DuplicateIdError):
        tree.insert(1, "true")
    with pytest.raises(UnknownIdError):
        tree.delete(2)
    with pytest.raises(UnknownDefinitionError):
        tree.insert(2, "@edge")

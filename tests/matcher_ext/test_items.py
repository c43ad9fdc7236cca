"""Answers put together from ready texts, beside the plain way: match, sort, join."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, LiveIndex, Snapshot
from matcher_ext.serving import Items
from matcher_ext.serving.answer_texts import answer_visit
from targeting import Catalog

CATALOG = Catalog.of(**{"geo.country": "string", "user.age": "integer"})
TEXTS = [
    "true",
    "geo.country = 'USA' or user.age = 7",
    "geo.country = 'USA'",
    "geo.country = 'DEU'",
    "user.age > 30",
    "user.age <= 30",
]
VISITS: list[dict[str, Any]] = [
    {},
    {"geo.country": "USA"},
    {"geo.country": "DEU", "user.age": 31},
    {"user.age": 7},
    {"user.age": "old", "geo.country": "USA"},
]


def freeze(entries: dict[int, str]) -> Snapshot:
    index = ATree(CATALOG)
    for entry_id, text in entries.items():
        index.insert(entry_id, text)
    return index.freeze()


def text_of(entry_id: int) -> bytes:
    return b"<%d>" % entry_id


def make_items(snapshot: Snapshot, ranks: dict[int, float]) -> Items:
    ids = snapshot.ids
    texts = [text_of(entry_id) for entry_id in ids.tolist()]
    offsets = numpy.zeros(len(texts) + 1, numpy.int64)
    numpy.cumsum([len(text) for text in texts], out=offsets[1:])
    places = numpy.array([ranks[entry_id] for entry_id in ids.tolist()], numpy.float64)
    return Items(snapshot, ids, places, offsets, b"".join(texts), **columns(len(texts)))


def columns(count: int) -> dict[str, Any]:
    """Puts campaigns in the opposite order, with no path in any text."""
    return {
        "campaigns": numpy.arange(count, 0, -1),
        "path_at": numpy.zeros(count, numpy.int32),
        "reaches": numpy.zeros(count, numpy.int64),
        "prices": numpy.zeros(count),
    }


entries = st.dictionaries(st.integers(1, 10**12), st.sampled_from(TEXTS), max_size=30)


@settings(max_examples=60, deadline=None)
@given(entries, st.randoms(use_true_random=False), st.integers(1, 40))
def test_answers_are_match_sort_and_join(held: dict[int, str], random: Any, limit: int) -> None:
    ranks = dict(zip(held, random.sample(range(100), len(held)), strict=True))
    snapshot = freeze(held)
    items = make_items(snapshot, ranks)
    assert len(items) == len(held)
    for visit in VISITS:
        expected = snapshot.match(visit)
        best = sorted(expected, key=lambda entry_id: ranks[entry_id])[:limit]
        text, count = answer_visit(snapshot, items, None, None, visit, limit=limit)
        assert text == b",".join(map(text_of, best))
        assert count == len(expected)
        by_campaign = answer_visit(snapshot, items, None, None, visit, by_campaign=True)
        assert by_campaign == (b",".join(map(text_of, expected[::-1])), count)


@settings(max_examples=60, deadline=None)
@given(entries, entries, st.sets(st.integers(0, 29)), st.integers(1, 40))
def test_changed_entries_take_their_place_among_the_others(
    held: dict[int, str], changed: dict[int, str], gone: set[int], limit: int
) -> None:
    live = LiveIndex(freeze(held))
    below = make_items(live.snapshot, {entry_id: float(entry_id) for entry_id in held})
    dead = [entry_id for place, entry_id in enumerate(held) if place in gone]
    state = live.apply(dead=dead, entries=changed)
    beside = make_items(state.beside, {entry_id: entry_id + 0.5 for entry_id in changed})
    now = {key: text for key, text in held.items() if key not in dead} | changed
    for visit in VISITS:
        expected = freeze(now).match(visit)
        text, count = answer_visit(state.snapshot, below, beside, state.overlay, visit, limit=limit)
        assert count == len(expected)
        places = {key: key + 0.5 * (key in changed) for key in expected}
        best = sorted(expected, key=places.__getitem__)[:limit]
        assert text == b",".join(map(text_of, best))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=70), st.integers(1, 80))
def test_equal_ranks_are_ordered_by_id(campaigns: list[int], limit: int) -> None:
    """Shows it for few, which are ordered by counting, and for many and equal ones, which are
    compared."""
    ids = range(1, len(campaigns) + 1)
    snapshot = freeze(dict.fromkeys(ids, "true"))
    offsets = numpy.cumsum([0, *(len(text_of(entry_id)) for entry_id in ids)])
    drawn = {**columns(len(campaigns)), "campaigns": numpy.array(campaigns)}
    content = b"".join(map(text_of, ids))
    items = Items(snapshot, snapshot.ids, numpy.zeros(len(campaigns)), offsets, content, **drawn)
    best = sorted(ids, key=lambda entry_id: (campaigns[entry_id - 1], entry_id))[:limit]
    text, count = answer_visit(snapshot, items, None, None, {}, by_campaign=True, limit=limit)
    assert text == b",".join(map(text_of, best))
    assert count == len(campaigns)


def test_campaigns_that_are_not_wanted_are_left_out() -> None:
    snapshot = freeze({7: "true", 8: "true", 9: "true"})
    items = make_items(snapshot, {7: 0.0, 8: 1.0, 9: 2.0})
    answered = answer_visit(snapshot, items, None, None, {}, campaigns=[3, 1, 99], limit=1)
    assert answered == (b"<7>", 2)
    assert answer_visit(snapshot, items, None, None, {}, campaigns=[]) == (b"", 0)


def test_texts_of_other_entries_are_refused() -> None:
    snapshot = freeze({1: "true", 2: "true"})
    with pytest.raises(ValueError, match="not those of the snapshot"):
        answer_visit(snapshot, make_items(freeze({1: "true"}), {1: 0.0}), None, None, {})
    ids, ranks = numpy.array([1, 2]), numpy.array([0.0, 1.0])
    offsets = numpy.array([0, 1, 2])
    with pytest.raises(ValueError, match="not those of the snapshot"):
        Items(snapshot, numpy.array([1, 3]), ranks, offsets, b"ab", **columns(2))
    with pytest.raises(ValueError, match="one rank and one text"):
        Items(snapshot, ids, ranks, offsets[:2], b"ab", **columns(2))
    for wrong in ([0, 1, 3], [-1, 1, 2], [0, 2, 1]):
        with pytest.raises(ValueError, match="not where it is said"):
            Items(snapshot, ids, ranks, numpy.array(wrong), b"ab", **columns(2))

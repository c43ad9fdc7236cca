"""Intervals by class of width: few, some and very many of a class, tested and excluded ones."""

from __future__ import annotations

import random

import pytest

from matcher_ext import ATree
from targeting import Catalog

CATALOG = Catalog.of(kind="string", value="integer")
VALUES = 3_000


@pytest.mark.parametrize("count", [50, 700, 4_000])
@pytest.mark.parametrize("is_pushed", [True, False])
def test_intervals_hold_what_lies_between_their_bounds(count: int, *, is_pushed: bool) -> None:
    """Puts a rare kind beside the interval, which makes it one that is tested instead of pushed."""
    chosen = random.Random(count)
    index = ATree(CATALOG)
    rows = []
    for number in range(count):
        low = chosen.randrange(VALUES)
        high = low + int(chosen.random() ** 3 * 400)
        rows.append((low, high, number % 3 == 0))
        text = f"value between {low} and {high}"
        text = f"not ({text})" if number % 3 == 0 else text
        index.insert(number, text if is_pushed else f"kind = 'k{number % 2}' and ({text})")
    snapshot = index.freeze()
    for value in [*chosen.sample(range(VALUES), 60), -1, VALUES + 500, rows[0][0], rows[1][1]]:
        expected = [
            number
            for number, (low, high, is_negated) in enumerate(rows)
            if (low <= value <= high) != is_negated and (is_pushed or number % 2)
        ]
        assert snapshot.match({"value": value, "kind": "k1"}) == expected


@pytest.mark.parametrize("kinds", [2, 150])
def test_intervals_that_few_visits_ask_for_hold_the_same_values(kinds: int) -> None:
    """Uses many kinds, so that a visit asks for few of the intervals: those are tested by
    themselves."""
    chosen = random.Random(kinds)
    index = ATree(CATALOG)
    rows = []
    for number in range(3_000):
        low = chosen.randrange(VALUES)
        rows.append((low, low + chosen.randrange(400), number % 3 == 0))
        text = f"value {'not ' * rows[-1][2]}between {low} and {rows[-1][1]}"
        index.insert(number, f"kind = 'k{number % kinds}' and {text}")
    snapshot = index.freeze()
    for value in [*chosen.sample(range(VALUES), 60), -1, VALUES + 500, rows[0][0], rows[1][1]]:
        expected = [
            number
            for number, (low, high, is_negated) in enumerate(rows)
            if (low <= value <= high) != is_negated and number % kinds == 1
        ]
        assert snapshot.match({"value": value, "kind": "k1"}) == expected
        assert snapshot.match({"kind": "k1"}) == []

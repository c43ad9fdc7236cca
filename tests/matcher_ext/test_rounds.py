"""Programs run in rounds answer what the plain evaluator answers, on every kind of machine."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from matcher_ext import ATree
from matcher_ext.match.rounds import step_by_eights
from targeting import parse
from tests.matcher_ext.test_matching import CATALOG, condition, draw_visit, tree


@pytest.fixture(params=["eight lanes at once", "one by one"])
def lanes(request: pytest.FixtureRequest) -> Iterator[str]:
    """Restores what this machine does by itself."""
    can = step_by_eights(True)
    if request.param == "one by one":
        assert step_by_eights(False)
    elif not can:
        pytest.skip("THIS PROCESSOR HAS NO AVX2: eight lanes at once are not tested")
    yield request.param
    step_by_eights(True)


def check(entries: dict[int, str], visits: int, seed: int) -> None:
    index = ATree(CATALOG)
    index.insert_many(entries, entries.values())
    parsed = {entry: parse(text, CATALOG) for entry, text in entries.items()}
    chosen = random.Random(seed)
    for visit in [draw_visit(chosen) for _ in range(visits)]:
        expected = [entry for entry, e in parsed.items() if e.evaluate(visit) is True]
        assert index.match(visit) == expected


@pytest.mark.parametrize("records", [1, 7, 8, 9, 63, 64, 255, 256, 257, 520, 1100])
def test_any_number_of_records_may_wait(lanes: str, records: int) -> None:
    """Lets all of them be found by the same leaf, so that they wait together."""
    chosen = random.Random(records)
    entries = {
        number: f"mobile and {tree(chosen, chosen.randrange(3))} and score != {number}"
        for number in range(records)
    }
    check(entries, 12, records)


def test_programs_of_all_lengths_wait_side_by_side(lanes: str) -> None:
    """Tries lengths from none to more than a narrow jump can pass over."""
    chosen = random.Random(5)
    entries = {
        number: " and ".join(
            ["mobile", *(f"({condition(chosen)} or score > {k})" for k in range(number % 150))]
        )
        for number in range(600)
    }
    check(entries, 12, 5)


def test_tests_without_a_bit_are_answered_between_others(lanes: str) -> None:
    """Globs are asked one by one, at most once, and their lanes go on with the rest."""
    chosen = random.Random(6)
    entries = {
        number: (
            f"mobile and (domain like '*{number % 40}*' or age > {chosen.randrange(60)})"
            f" and (not domain like '*{number % 7}*' or {condition(chosen)})"
        )
        for number in range(700)
    }
    check(entries, 30, 6)

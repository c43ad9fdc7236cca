"""Roots that are alternatives: thousands of them at once, with ids near and far from each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from matcher_ext import ATree, LiveIndex, Snapshot
from targeting import Catalog

CATALOG = Catalog.of(age="integer", score="integer")
VISIT = {"age": 3, "score": 5}
ENTRIES = 5000


def give_near_ids(number: int) -> int:
    return number - 100


def give_distant_ids(number: int) -> int:
    return number * 1000


def give_extreme_ids(number: int) -> int:
    return number - 2**63 if number % 2 else 2**63 - 1 - number


SPREADS = (give_near_ids, give_distant_ids, give_extreme_ids)


def insert_alternatives(
    give_id: Callable[[int], int], entries: int = ENTRIES
) -> tuple[ATree, list[int]]:
    """Makes every third one of several entries with the same text; returns the ids that match."""
    chosen = random.Random(7)
    index = ATree(CATALOG)
    expected = []
    for number in range(entries):
        shown = number - number % 9 if number % 3 == 0 else number
        is_true = chosen.random() < (0.9 if 1000 < number < 1400 else 0.1)
        age = 3 if is_true and number % 3 else 4 + shown
        index.insert(give_id(number), f"age = {age} or score = {10 + shown}")
        if age == 3:
            expected.append(give_id(number))
    for number in range(entries, entries + 70):
        index.insert(give_id(number), "age = 3 or score = 9")
        expected.append(give_id(number))
    return index, sorted(expected)


@pytest.mark.parametrize("give_id", SPREADS)
def test_finds_all_alternatives_whatever_their_ids(
    give_id: Callable[[int], int], tmp_path: Path
) -> None:
    index, expected = insert_alternatives(give_id)
    snapshot = index.freeze()
    assert snapshot.match(VISIT) == expected
    assert snapshot.match({"age": -1, "score": -1}) == []
    assert sorted(snapshot.match_ids(VISIT).tolist()) == expected
    snapshot.save(tmp_path / "index.atree")
    opened = Snapshot.open(tmp_path / "index.atree")
    assert opened.match(VISIT) == expected
    assert opened.ids.tolist() == sorted(give_id(number) for number in range(ENTRIES + 70))


@pytest.mark.parametrize("give_id", SPREADS)
def test_batches_find_and_count_the_same(give_id: Callable[[int], int]) -> None:
    index, expected = insert_alternatives(give_id)
    snapshot = index.freeze()
    batch = pa.RecordBatch.from_pydict({"age": [3, 0, 3], "score": [5, 5, 9]})
    offsets, ids = snapshot.match_batch(batch)
    assert sorted(ids[: offsets[1]].tolist()) == expected
    assert offsets[1] == offsets[2]
    counts = dict(zip(snapshot.ids.tolist(), snapshot.count_batch(batch).tolist(), strict=True))
    assert all(counts[entry_id] == 2 for entry_id in expected)
    assert sum(counts.values()) == len(ids)


@pytest.mark.parametrize("give_id", SPREADS)
def test_deleted_alternatives_are_left_out(give_id: Callable[[int], int]) -> None:
    index, expected = insert_alternatives(give_id)
    live = LiveIndex(index.freeze())
    for entry_id in expected[::2]:
        live.delete(entry_id)
    assert live.match(VISIT) == expected[1::2]
    assert live.match({"age": -1, "score": -1}) == []


def test_explains_an_alternative_by_its_id() -> None:
    index, expected = insert_alternatives(give_distant_ids)
    snapshot = index.freeze()
    assert snapshot.why_not(VISIT, expected[:1]) == {expected[0]: []}
    absent = next(entry_id for entry_id in snapshot.ids.tolist() if entry_id not in expected)
    reasons = snapshot.why_not(VISIT, [absent])[absent]
    assert [condition.split(" ")[0] for _, condition, _ in reasons] == ["age", "score"]

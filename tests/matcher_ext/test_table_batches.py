"""A batch with bookings on any path is counted by a table or visit by visit: the same counts."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from tests.matcher_ext.test_batch import to_batch
from tests.matcher_ext.test_visit_table import BOOKINGS, draw_many, route

# Has no stub: nobody else is to use what it holds.
batch_calls = import_module("matcher_ext.index.batch_calls")
ROWS = 2_100  # a batch of fewer is never prepared
CODES = np.arange(ROWS) * 7 % 5 - 1  # -1 leaves a row out


@pytest.mark.parametrize("by_table", [True, False])
def test_both_ways_count_like_single_matches(
    by_table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_calls, "is_worth_a_table", lambda *_: by_table)
    seen = [visit | {"mobile": n % 2 == 0} for n, visit in enumerate(draw_many(ROWS))]
    snapshot, batch = route(BOOKINGS), to_batch(seen)
    matched = [snapshot.match(visit) for visit in seen]
    truths = np.array([[entry in ids for ids in matched] for entry in BOOKINGS])
    assert snapshot.count_batch(batch).tolist() == truths.sum(axis=1).tolist()
    grouped = snapshot.count_batch(batch, CODES, group_count=6)
    expected = [(truths & (code == CODES)).sum(axis=1).tolist() for code in range(6)]
    assert grouped.tolist() == expected
    assert truths.any(axis=1).sum() >= 3
    with pytest.raises(ValueError, match="fewer group codes"):
        snapshot.count_batch(batch, CODES[:-1])


def test_a_batch_is_prepared_only_where_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = []
    monkeypatch.setattr(
        batch_calls, "count_by_table", lambda _snapshot, batch, *_: prepared.append(batch.num_rows)
    )
    snapshot = route(BOOKINGS)
    few, many = to_batch(draw_many(300)), to_batch(draw_many(ROWS))
    snapshot.count_batch(few)  # too few rows
    snapshot.count_batch(many, working_bytes=1 << 16)  # no room for a table
    snapshot.count_batch(many, CODES, group_count=10**6, working_bytes=1 << 26)  # nor for groups
    route({1: "age > 3"}).count_batch(many)  # no path to walk: blocks
    assert prepared == []

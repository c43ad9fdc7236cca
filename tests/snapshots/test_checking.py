"""The check before going live refuses a snapshot that says anything else than the evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest

from exchange.serving.bookings import write_bookings
from exchange.serving.directory import BOOKINGS_FILE, INDEX_FILE
from exchange.snapshots.building import Built
from exchange.snapshots.checking import SnapshotWrongError, check_snapshot
from exchange.snapshots.composing import Composer
from matcher_ext import ATree
from tests.snapshots.test_composing import campaign, market

EXPRESSIONS = [
    "geo.country = 'USA' and age >= 18",
    "geo.country in ('USA', 'DEU') or age < 10",
    "not (geo.country = 'FRA') and age between 20 and 40",
    "geo.country is missing or age > 65",
    "age = 18 xor geo.country = 'DEU'",
]


def build(folder: Path, *, replaced: dict[int, str] | None = None, missing: int = 0) -> Built:
    """Builds a snapshot in which some entries are not what they should be."""
    composer = Composer(market(*[campaign(text) for text in EXPRESSIONS]))
    entries = list(composer.entries())
    index = ATree(composer.market.catalog)
    for name, expression in composer.definitions():
        index.define(name, expression)
    for entry in entries[missing:]:
        booking_id = entry.row.booking_id
        index.insert(booking_id, (replaced or {}).get(booking_id, entry.text))
    index.freeze().save(folder / INDEX_FILE)
    write_bookings(folder / BOOKINGS_FILE, [entry.row for entry in entries])
    return Built(composer, entries, index.stats(), 0)


def test_right_snapshot_passes(tmp_path: Path) -> None:
    check_snapshot(built=build(tmp_path), folder=tmp_path)


def test_missing_booking_is_noticed(tmp_path: Path) -> None:
    built = build(tmp_path, missing=1)
    with pytest.raises(SnapshotWrongError, match="5 bookings were built, but the index holds 4"):
        check_snapshot(built=built, folder=tmp_path)


WRONG = [
    "publisher.id = 'the \\'herald\\''",
    "true",
    "false",
    "publisher.id = 'the \\'herald\\'' and @edge.17 and @edge.42 and geo.country = 'USA'",
    "publisher.id = 'the \\'herald\\'' and time >= '2026-01-01T00:00:00Z' and @edge.17"
    " and geo.country = 'USA' and age >= 19",
]


@pytest.mark.parametrize("text", WRONG)
def test_entry_that_means_something_else_is_noticed(tmp_path: Path, text: str) -> None:
    built = build(tmp_path, replaced={200: text})
    with pytest.raises(SnapshotWrongError, match="booking 200"):
        check_snapshot(built=built, folder=tmp_path)

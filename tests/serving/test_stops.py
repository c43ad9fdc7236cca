"""What was stopped, by number: more is stopped with every record, never less."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from exchange.serving import stops as module
from exchange.serving.directory import DirectoryError, Manifest, SnapshotDirectory
from exchange.serving.stops import (
    MOST_GROUPS,
    MOST_TEXT,
    STOPS_FILE,
    KeptSnapshot,
    Stops,
    read_stops,
    write_stops,
)
from tests.serving.history import flip_a_bit

NOW = datetime(2026, 11, 17, tzinfo=UTC)
MANIFEST = Manifest(snapshot_id="0" * 32, read_at=NOW, activated_at=NOW)
NOTHING = Stops(number=0, position="", manifest=MANIFEST)


def kept(snapshot_id: str, floor: int) -> KeptSnapshot:
    return KeptSnapshot(snapshot_id, NOW, floor)


def test_what_came_after_a_number_is_stopped() -> None:
    stops = NOTHING.with_touched(1, [7, 5, 7], {"edge.1": "false"}).with_touched(2, [9], {})
    stops = stops.with_touched(3, [5], {"edge.1": "true", "edge.2": "false"})
    assert stops.bookings_after(0) == [5, 7, 9]
    assert stops.bookings_after(1) == [5, 9]
    assert stops.bookings_after(3) == []
    assert stops.definitions_after(0) == {"edge.1": "true", "edge.2": "false"}
    assert stops.definitions_after(1) == stops.definitions_after(2) == stops.definitions_after(0)
    assert stops.definitions_after(3) == {}


def test_long_texts_are_not_kept_and_their_edges_closed() -> None:
    long = "x" * (MOST_TEXT + 1)
    stops = NOTHING.with_touched(1, [], {"edge.1": long, "list.5.in.geo.city": long})
    assert stops.definitions_after(0) == {"edge.1": "false"}


@given(
    st.lists(st.lists(st.integers(1, 2**62), max_size=5), min_size=1, max_size=40),
    st.sets(st.integers(0, 40), max_size=4),
)
def test_fewer_groups_stop_never_less_and_the_same_for_whole_snapshots(
    groups: list[list[int]], floors: set[int]
) -> None:
    stops = replace(NOTHING, snapshots=tuple(kept(f"{floor:032}", floor) for floor in floors))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_GROUPS", 8)
        few = many = stops
        for number, ids in enumerate(groups, start=1):
            few = replace(few.with_touched(number, ids, {}), snapshots=stops.snapshots)
            patch.setattr(module, "MOST_GROUPS", MOST_GROUPS)
            many = replace(many.with_touched(number, ids, {}), snapshots=stops.snapshots)
            patch.setattr(module, "MOST_GROUPS", 8)
    assert len(few.touched) <= 8 + len(floors) + 1
    for number in range(len(groups) + 1):
        exact = {key for ids in groups[number:] for key in ids}
        assert set(many.bookings_after(number)) == exact
        assert set(few.bookings_after(number)) >= exact
        if number in floors:
            assert set(few.bookings_after(number)) == exact


def test_what_only_removed_snapshots_needed_goes_with_them() -> None:
    stops = replace(NOTHING, snapshots=(kept("a", 1), kept("b", 3)))
    for number in (2, 3, 4):
        stops = replace(
            stops.with_touched(number, [number], {f"edge.{number}": "false"}),
            snapshots=stops.snapshots,
        )
    pruned = stops.keeping(["b", "c"])
    assert pruned.snapshots == (kept("b", 3),)
    assert pruned.bookings_after(0) == [4]
    assert pruned.definitions_after(0) == {"edge.4": "false"}


def test_a_snapshot_that_cannot_tell_the_number_is_forgotten() -> None:
    """Forgets a snapshot whose activation died, so that its number is used again."""
    stops = replace(NOTHING, snapshots=(kept("a", 3), kept("b", 7)))
    assert stops.with_touched(7, [1], {}).snapshots == (kept("a", 3),)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    directory = SnapshotDirectory(tmp_path)
    assert read_stops(directory) is None
    stops = NOTHING.with_touched(1, [1, 2**40], {"edge.1": "false"})
    write_stops(directory, stops)
    assert read_stops(directory) == stops
    flip_a_bit(tmp_path / STOPS_FILE)
    with pytest.raises(DirectoryError, match="checksum"):
        read_stops(directory)

"""Bookings beside a snapshot stand among its own as if they had been built together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from exchange.serving.bookings import BookingRow, Bookings, write_bookings
from exchange.serving.changed_bookings import Beside, ChangedBookings
from tests.serving import published

# Few values, so that net CPM and campaign are often the same.
Terms = tuple[float, int]
terms = st.tuples(st.sampled_from([0.5, 1.0, 1.0001]), st.integers(1, 3))


def row(booking_id: int, of: Terms) -> BookingRow:
    net_cpm, campaign_id = of
    return replace(published.row(booking_id, net_cpm=net_cpm), campaign_id=campaign_id)


def order(row: BookingRow) -> tuple[float, int, int]:
    return -row.net_cpm, row.campaign_id, row.booking_id


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    below=st.lists(terms, max_size=12),
    changed=st.dictionaries(st.integers(1, 20), terms, min_size=1, max_size=12),
)
def test_changed_bookings_stand_where_a_build_would_put_them(
    tmp_path: Path, below: list[Terms], changed: dict[int, Terms]
) -> None:
    built = [row(number, of) for number, of in enumerate(below, 1)]
    write_bookings(tmp_path / "bookings.arrow", built)
    file = Bookings(tmp_path / "bookings.arrow")
    beside = Beside.of(file, [row(number, of) for number, of in changed.items()])
    view = ChangedBookings(file, beside)
    now = {each.booking_id: each for each in built} | {
        number: each.row for number, each in beside.items()
    }
    expected = sorted(now.values(), key=order)
    rows = view.best_rows(np.array(sorted(now), np.int64), None)
    assert [bytes(item) for item in view.fragments(rows)] == [
        each.fragment()[0] for each in expected
    ]

"""The bookings file: fragments in the order of answers, straight from the mapped file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from exchange.serving.bookings import BookingRow, Bookings, write_bookings
from exchange.serving.directory import DirectoryError
from tests.serving import published


def row(booking_id: int, campaign_id: int, net_cpm: float) -> BookingRow:
    return replace(
        published.row(booking_id, net_cpm=net_cpm),
        campaign_id=campaign_id,
        campaign=f'Spring "{campaign_id}" · thé',
    )


ROWS = [row(3, 30, 1.5), row(5, 10, 2.25), row(8, 20, 1.5), row(13, 40, 0.1)]


@pytest.fixture
def bookings(tmp_path: Path) -> Bookings:
    write_bookings(tmp_path / "bookings.arrow", ROWS)
    return Bookings(tmp_path / "bookings.arrow")


def ids_of(fragments: Sequence[bytes | memoryview]) -> list[int]:
    return [json.loads(bytes(fragment))["booking_id"] for fragment in fragments]


def best(bookings: Bookings, ids: list[int], limit: int | None = None) -> list[int]:
    return ids_of(bookings.fragments(bookings.best_rows(np.array(ids, np.int64), limit)))


def test_best_price_comes_first_then_the_lower_campaign_id(bookings: Bookings) -> None:
    assert len(bookings) == 4
    assert best(bookings, [13, 3, 8, 5]) == [5, 8, 3, 13]


def test_limit_keeps_the_best(bookings: Bookings) -> None:
    assert best(bookings, [3, 8, 13], 2) == [8, 3]


def test_order_of_campaign_ids_is_ascending(bookings: Bookings) -> None:
    rows = bookings.rows_by_campaign(np.array([3, 5, 8, 13]), 3)
    assert ids_of(bookings.fragments(rows)) == [5, 8, 3]


def test_campaigns_that_are_not_named_are_left_out(bookings: Bookings) -> None:
    kept = bookings.keep_campaigns(np.array([3, 5, 8, 13]), [40, 30, 99])
    assert kept.tolist() == [3, 13]
    assert bookings.keep_campaigns(np.array([3, 5]), []).tolist() == []


def test_no_match_gives_no_fragment(bookings: Bookings) -> None:
    assert best(bookings, []) == []
    assert bookings.pathless_fragments([]) == []


def test_fragment_is_the_item_of_an_answer(bookings: Bookings) -> None:
    (fragment,) = bookings.fragments([1])
    item = {
        "campaign_id": 10,
        "campaign": 'Spring "10" · thé',
        "advertiser": "Globex",
        "booking_id": 5,
        "net_cpm": 2.25,
        "fee_percent": 12.5,
    }
    assert json.loads(bytes(fragment)) == {**item, "path": ["herald", "adnet", "globex"]}
    assert [json.loads(each) for each in bookings.pathless_fragments([1])] == [item]


def test_file_without_bookings_is_a_file(tmp_path: Path) -> None:
    write_bookings(tmp_path / "bookings.arrow", [])
    assert len(Bookings(tmp_path / "bookings.arrow")) == 0


def test_spark_reads_campaign_and_publisher_of_each_booking(tmp_path: Path) -> None:
    write_bookings(tmp_path / "bookings.arrow", ROWS)
    table = pa.ipc.open_file(pa.memory_map(str(tmp_path / "bookings.arrow"))).read_all()
    assert table["booking_id"].to_pylist() == [3, 5, 8, 13]
    assert table["campaign_id"].to_pylist() == [30, 10, 20, 40]
    assert set(table["publisher"].to_pylist()) == {"herald"}


def test_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "bookings.arrow"
    write_bookings(path, ROWS)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DirectoryError, match=r"bookings\.arrow"):
        Bookings(path)


def test_file_with_other_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bookings.arrow"
    table = pa.table({"booking_id": [1]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DirectoryError, match="shape"):
        Bookings(path)


def test_ids_out_of_order_are_refused(tmp_path: Path) -> None:
    write_bookings(tmp_path / "bookings.arrow", [ROWS[1], ROWS[0]])
    with pytest.raises(DirectoryError, match="ascending"):
        Bookings(tmp_path / "bookings.arrow")

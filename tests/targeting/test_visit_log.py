"""The visit log's folders and rows, as whoever reads it finds them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from exchange.reading.passing import read_visits
from targeting.visit_log import (
    USER,
    WEIGHT,
    WRONG_VALUES,
    LogColumns,
    RowMaker,
    Salts,
    find_newest_part,
    list_days,
)

COLUMNS = LogColumns.of([("device.ip", "ip"), ("user.id", "string"), ("seen", "timestamp")])
SALTS = Salts(b"s" * 32)


def leave(path: Path, size: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    return path


def test_days_are_there_before_they_are_compacted(tmp_path: Path) -> None:
    leave(tmp_path / "dt=2026-11-14" / "part-00000.parquet")
    leave(tmp_path / "dt=2026-11-15" / "part-00000.parquet")
    leave(tmp_path / "_incoming" / "dt=2026-11-15" / "0512-a.parquet")
    leave(tmp_path / "_incoming" / "dt=2026-11-16" / "0512-a.parquet")
    leave(tmp_path / "_claimed" / "dt=2026-11-17" / "0512-a.parquet")
    logged = [date(2026, 11, day) for day in (14, 15, 16)]
    assert list_days(tmp_path) == list_days(f"file://{tmp_path}") == logged
    assert list_days(tmp_path / "nowhere") == []


def test_the_newest_part_is_the_largest_of_the_newest_day_that_has_one(tmp_path: Path) -> None:
    assert find_newest_part(tmp_path) is None
    leave(tmp_path / "dt=2026-11-14" / "part-00000.parquet", 500)
    whole = leave(tmp_path / "dt=2026-11-15" / "part-served-a.parquet", 200)
    leave(tmp_path / "dt=2026-11-15" / "part-served-late.parquet", 10)
    leave(tmp_path / "dt=2026-11-16" / ".part-unfinished.parquet", 900)
    leave(tmp_path / "_incoming" / "dt=2026-11-17" / "0512-a.parquet", 900)
    assert find_newest_part(tmp_path) == whole


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("203.0.113.9", "203.0.113.0"),
        ("2001:db8:1:2::3", "2001:db8:1::"),
        ("::ffff:203.0.113.9", "203.0.113.0"),
        ("fe80::1%eth0", None),
        (7, None),
    ],
)
def test_addresses_are_shortened(sent: object, kept: str | None) -> None:
    row = RowMaker(COLUMNS, SALTS, 1).make("a", {"device.ip": sent, "time": 0})
    assert row.get("device.ip") == kept
    assert row[WRONG_VALUES] == ([] if kept else ["device.ip"])


def test_moments_that_no_reader_could_read_are_wrong_values() -> None:
    maker = RowMaker(COLUMNS, SALTS, 1)
    rows = [maker.make("a", {"time": 0, "seen": moment}) for moment in (2**62, -(2**62), 5)]
    assert [row[WRONG_VALUES] for row in rows] == [["seen"], ["seen"], []]
    assert maker.make_batch(rows).to_pylist()[2]["seen"].year == 1970


def test_a_user_that_is_a_number_is_never_kept() -> None:
    columns = LogColumns.of([("user.id", "integer")])
    assert USER not in RowMaker(columns, SALTS, 1).make("a", {"user.id": 17, "time": 0})


def test_the_logs_own_columns_are_not_an_attributes_to_say() -> None:
    columns = LogColumns.of([(WEIGHT, "string"), ("visit_id", "integer")])
    row = RowMaker(columns, SALTS, 3).make("a", {WEIGHT: "9", "visit_id": 5, "time": 0})
    assert (row["visit_id"], row[WEIGHT]) == ("a", 3)


def test_a_publisher_is_found_in_a_day_that_is_sorted_by_it(tmp_path: Path) -> None:
    """Looks behind the rows that are looked at where nothing is known of their order."""
    rows = 400_000
    sellers = ["first"] * rows + ["last"] * 3
    place = pa.array([{"lat": 1.0, "lon": 2.0}] * (rows + 3))
    table = pa.table({"geo.location": place, "publisher.id": sellers})
    parquet.write_table(table, tmp_path / "part.parquet", row_group_size=20_000)
    assert len(list(read_visits(tmp_path / "part.parquet", "last"))) == 3
    assert len(list(read_visits(tmp_path / "part.parquet", "first"))) == 200
    assert list(read_visits(tmp_path / "part.parquet", "nobody")) == []

"""What the night's table of conditions says of edges, and what is said without one."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from exchange.reports.edge_counts import NOT_COUNTED, EdgeCount, read_edge_counts
from tests.reports.nights import nights, write_night

__all__ = ["nights"]

DAY, LATER = date(2026, 11, 16), date(2026, 11, 17)


def test_reads_edges_of_the_newest_night(nights: Path) -> None:
    write_night(nights, DAY, [("edge", "7", 1, 1, 1)])
    write_night(
        nights, LATER, [("predicate", "geo.country = 'USA'", 5, 5, 0), ("edge", "7", 60, 30, 10)]
    )
    counts = read_edge_counts()
    assert counts.day == LATER
    assert counts.by_edge == {7: EdgeCount(100, 60, 10)}
    assert counts.by_edge[7].lost == 40
    assert counts.sum([7, 8]) == EdgeCount(100, 60, 10)


def test_without_a_night_nothing_is_counted_yet(nights: Path) -> None:
    assert read_edge_counts() is NOT_COUNTED


def test_a_night_that_was_never_committed_is_passed_over(nights: Path) -> None:
    write_night(nights, DAY, [("edge", "7", 60, 30, 10)])
    (nights / "truth_rates" / f"dt={LATER}" / "run-2").mkdir(parents=True)
    assert read_edge_counts().day == DAY


def test_a_torn_table_is_told_as_not_counted(nights: Path) -> None:
    write_night(nights, DAY, [("edge", "7", 60, 30, 10)])
    (nights / "truth_rates" / f"dt={DAY}" / "run-1" / "a.parquet").write_bytes(b"torn")
    assert read_edge_counts() is NOT_COUNTED

"""The filtered rows as CSV, streamed: the length of the answer never matters to memory.

Names come from people, so a cell that a spreadsheet would run as a formula is made plain text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, Subquery

from exchange.reports.models import DailyVisits
from exchange.reports.queries import Selection, read_snapshot_ids

COLUMNS = {
    "day": "day",
    "campaign_id": "campaign_id",
    "campaign": "campaign__name",
    "advertiser": "campaign__advertiser__name",
    "publisher": "publisher__seller_id",
    "publisher_name": "publisher__name",
    "eligible_visits": "eligible_visits",
    "visits": "visits",
    "snapshot_id": "run__snapshot_id",
}
VISITS = Subquery(
    DailyVisits.objects.filter(day=OuterRef("day"), publisher=OuterRef("publisher")).values(
        "visits"
    )
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
ROWS_PER_FETCH = 2000


class Line:
    """What `csv.writer` writes to: gives each line back instead of keeping it."""

    def write(self, text: str) -> str:
        return text


def stream_csv(selection: Selection) -> Iterator[str]:
    writer = csv.writer(Line())
    for line in describe(selection):
        yield writer.writerow([line])
    yield writer.writerow(COLUMNS)
    rows = selection.eligible().order_by("day", "campaign_id", "publisher_id")
    cells = rows.annotate(visits=VISITS).values_list(*COLUMNS.values())
    for row in cells.iterator(chunk_size=ROWS_PER_FETCH):
        yield writer.writerow([plain(cell) for cell in row])


def describe(selection: Selection) -> Iterator[str]:
    """Comment lines: what the rows are, so that a file found later still explains itself."""
    snapshots = ", ".join(read_snapshot_ids(selection)) or "none"
    yield f"# Eligible visits from {selection.first_day} to {selection.last_day} (UTC days)"
    yield f"# Counted with snapshot {snapshots}"


def plain(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return cell

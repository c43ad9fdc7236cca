"""The filtered rows as CSV, streamed: the length of the answer never matters to memory.

A header and rows, nothing else, so that every program reads it; the mark at its beginning tells
spreadsheets that it is UTF-8. Names come from people, so a cell that a spreadsheet would run as a
formula is made plain text. The page of the report says what the columns are.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, Subquery

from exchange.reports.models import DailyVisits
from exchange.reports.queries import Selection

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
# For the page: a file has room for rows only.
MEANINGS = {
    "day": "the UTC day of the visits",
    "campaign_id": "the campaign's number",
    "campaign": "its name of today",
    "advertiser": "its advertiser",
    "publisher": "the publisher's seller id, as ad servers name it",
    "publisher_name": "the publisher's name of today",
    "eligible_visits": "how many of the day's visits there the campaign was eligible for; "
    "without one there is no row",
    "visits": "how many visits the log has of that publisher and day",
    "snapshot_id": "the snapshot that they were counted with",
}
VISITS = Subquery(
    DailyVisits.objects.filter(day=OuterRef("day"), publisher=OuterRef("publisher")).values(
        "visits"
    )
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
ROWS_PER_FETCH = 2000
UTF8_MARK = "\ufeff"


class Line:
    """What `csv.writer` writes to: gives each line back instead of keeping it."""

    def write(self, text: str) -> str:
        return text


def stream_csv(selection: Selection) -> Iterator[str]:
    writer = csv.writer(Line())
    yield UTF8_MARK
    yield writer.writerow(COLUMNS)
    rows = selection.eligible().order_by("day", "campaign_id", "publisher_id")
    cells = rows.annotate(visits=VISITS).values_list(*COLUMNS.values())
    for row in cells.iterator(chunk_size=ROWS_PER_FETCH):
        yield writer.writerow([plain(cell) for cell in row])


def plain(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS):
        return f"'{cell}"
    return cell

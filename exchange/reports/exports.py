"""Streams the filtered rows as CSV: the length of the answer never matters to memory, nor to
Postgres, which is asked for the next rows when they are taken. A day that is counted anew meanwhile
goes on with its new rows; every row names its snapshot.

A header and rows, nothing else, so that every program reads it; the mark at its beginning tells
spreadsheets that it is UTF-8. Names come from people, so a cell that a spreadsheet would run as a
formula is made plain text. The page of the report says what the columns are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from django.db.models import Q, QuerySet

from exchange.market.models import Party
from exchange.reports.models import DailyVisits, DaySnapshot, EligibleVisits, ReportRun
from exchange.reports.queries import Selection, TooManyNamedError

# What the columns mean, in their order; for the page, since a file has room for rows only.
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
UTF8_MARK = "\ufeff"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
ROWS_PER_PIECE = 4_000
# Rows of so many campaigns are found through them, those of more by looking at all rows.
MOST_LOOKED_UP = 20_000
# A row: campaign, publisher, eligible visits, run.
Counted = tuple[int, int, int, int]


def stream_csv(selection: Selection) -> Iterator[str]:
    """Yields pieces of many lines: all there is, also where a page asks for more letters."""
    yield UTF8_MARK + write_lines([list(MEANINGS)])
    try:
        rows = selection.eligible(most_named=MOST_LOOKED_UP)
    except TooManyNamedError:
        rows = selection.counted()
    labels = Labels(selection)
    for day in selection.days():
        visits = dict(DailyVisits.objects.filter(day=day).values_list("publisher", "visits"))
        for piece in read_pieces(rows.filter(day=day)):
            yield write_lines(labels.put_on(day, piece, visits))


def read_pieces(rows: QuerySet[EligibleVisits]) -> Iterator[list[Counted]]:
    """Reads query by query, each going on behind the last row: a cursor would have Postgres put
    together all that anybody may ever take, which for a large exchange is longer than a page may
    wait."""
    ordered = rows.order_by("campaign_id", "publisher_id")
    columns = ordered.values_list("campaign_id", "publisher_id", "eligible_visits", "run_id")
    beyond = Q()
    while piece := list(columns.filter(beyond)[:ROWS_PER_PIECE]):
        yield piece
        campaign, publisher, *_ = piece[-1]
        is_next = Q(campaign_id__gt=campaign) | Q(publisher_id__gt=publisher)
        beyond = Q(campaign_id__gte=campaign) & is_next


class Labels:
    """Says in words what the rows of one download say in ids: looked up piece by piece, or once,
    which takes a third of what joins for every row did."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._publishers: dict[int, tuple[str, str]] = {}
        self._snapshots: dict[tuple[date, int], str] = {}

    def put_on(
        self, day: date, piece: Sequence[Counted], visits: Mapping[int, int]
    ) -> Iterator[Sequence[Any]]:
        """Puts names on rows; leaves out campaigns that are not meant."""
        campaigns = self._selection.name_some({row[0] for row in piece})
        for campaign, publisher, eligible, run in piece:
            if campaign in campaigns:
                names = (*campaigns[campaign], *self._find_publisher(publisher))
                numbers = (eligible, visits.get(publisher), self._find_snapshot(day, run))
                yield (day, campaign, *map(plain, names), *numbers)

    def _find_publisher(self, pk: int) -> tuple[str, str]:
        if pk not in self._publishers:
            self._publishers[pk] = Party.objects.values_list("seller_id", "name").get(pk=pk)
        return self._publishers[pk]

    def _find_snapshot(self, day: date, run: int) -> str:
        """Finds what a day was counted with; where that was not noted, the run's."""
        if (day, run) not in self._snapshots:
            noted = DaySnapshot.objects.filter(day=day).values_list("snapshot_id", flat=True)
            runs = ReportRun.objects.filter(pk=run).values_list("snapshot_id", flat=True)
            self._snapshots[day, run] = noted.first() or runs.get()
        return self._snapshots[day, run]


def write_lines(rows: Iterable[Sequence[Any]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue()


def plain(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell

"""Measures the pages of reports where each of 1,000,000 campaigns has a row on each of 28 days.

The exchange of `large_market`, its campaigns repeated until there are a million: 28,000,000 rows of
eligible visits come by COPY, a day at a time, and the tables of a night lie beside them. Times are
those of `pages`. `--folder` names where the exchange is kept for the next run.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.large_market import (
    LARGE,
    REPORTED_DAYS,
    MarketSize,
    fill_nights,
    large_market,
    load_market,
    repeat_campaigns,
    tell_progress,
)
from bench.pages import measure, tell

SIZE = replace(LARGE, campaigns=25_000, waves=40, repeats_bookings=False)
COPY = """
    COPY reports_eligiblevisits (day, campaign_id, publisher_id, eligible_visits, run_id)
    FROM STDIN (FORMAT csv)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kept = Path(tempfile.gettempdir()) / "treeline-large-reports"
    parser.add_argument("--folder", type=Path, default=kept)
    parser.add_argument("--only", default="report", help="names of pages that begin like this")
    options = parser.parse_args()
    steps = (load_market, repeat_campaigns, copy_reports, fill_nights)
    with large_market(options.folder, SIZE, steps):
        tell(measure(options.only))


def copy_reports(_: MarketSize) -> None:
    """Copies figures as if one run had counted every day, each campaign eligible at one
    publisher on each."""
    from django.db import connection, transaction
    from django.utils import timezone

    from exchange.market.bulk import build_indexes_last
    from exchange.market.models import Campaign, Party
    from exchange.reports.models import DailyVisits, ReportRun

    last = timezone.now().date() - timedelta(days=1)
    days = [last - timedelta(days=back) for back in range(REPORTED_DAYS)][::-1]
    run = ReportRun.objects.create(first_day=days[0], last_day=last, status="done")
    publishers = list(Party.objects.publishers().values_list("pk", flat=True))
    DailyVisits.objects.bulk_create(
        DailyVisits(day=day, publisher_id=pk, visits=100_000, run=run)
        for day in days
        for pk in publishers
    )
    campaigns = np.array(Campaign.objects.order_by("pk").values_list("pk", flat=True))
    with transaction.atomic(), build_indexes_last(["reports_eligiblevisits"], tell_progress):
        for number, day in enumerate(days, 1):
            with connection.cursor() as cursor:
                cursor.copy_expert(COPY, write_day(day, campaigns, publishers, run.pk))
            tell_progress("days", number, len(days))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def write_day(day: date, campaigns: Any, publishers: Sequence[int], run: int) -> io.BytesIO:
    """Writes in the order of campaigns, as a night's load comes."""
    step = day.toordinal()
    rows = pa.table(
        {
            "day": pa.repeat(str(day), len(campaigns)),
            "campaign_id": campaigns,
            "publisher_id": np.array(publishers)[campaigns % len(publishers)],
            "eligible_visits": 1 + (campaigns * 31 + step * 7) % 997,
            "run_id": np.full(len(campaigns), run),
        }
    )
    out = io.BytesIO()
    pa_csv.write_csv(rows, out, pa_csv.WriteOptions(include_header=False))
    out.seek(0)
    return out


if __name__ == "__main__":
    main()

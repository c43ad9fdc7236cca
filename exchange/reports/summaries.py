"""Loads the job's tables into Postgres, replacing the days that they hold: never adds to a day."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun

CREATE_LOADED = """
    create temporary table loaded_eligible_visits
        (day date, campaign_id bigint, publisher text, eligible_visits bigint);
    create temporary table loaded_daily_visits (day date, publisher text, visits bigint)
"""
DROP_LOADED = "drop table loaded_eligible_visits, loaded_daily_visits"
# The job knows publishers by seller id, and a campaign of an old snapshot might be gone: the joins
# find the ones that we know, whatever their number.
INSERT_ELIGIBLE = """
    insert into reports_eligiblevisits (day, campaign_id, publisher_id, eligible_visits, run_id)
    select loaded.day, campaign.id, publisher.id, loaded.eligible_visits, %s
    from loaded_eligible_visits loaded
    join market_campaign campaign on campaign.id = loaded.campaign_id
    join market_party publisher on publisher.seller_id = loaded.publisher
"""
INSERT_DAILY = """
    insert into reports_dailyvisits (day, publisher_id, visits, run_id)
    select loaded.day, publisher.id, loaded.visits, %s
    from loaded_daily_visits loaded
    join market_party publisher on publisher.seller_id = loaded.publisher
"""
UNKNOWN_VISITS = """
    select coalesce(sum(loaded.visits), 0)
    from loaded_daily_visits loaded
    left join market_party publisher on publisher.seller_id = loaded.publisher
    where publisher.id is null
"""


@transaction.atomic
def replace_days(*, run: ReportRun, days: Sequence[date], folder: Path) -> int:
    """Gives back the number of visits at publishers that the exchange does not know."""
    EligibleVisits.objects.filter(day__in=days).delete()
    DailyVisits.objects.filter(day__in=days).delete()
    with connection.cursor() as cursor:
        cursor.execute(CREATE_LOADED)
        for day in days:
            copy_day(cursor, folder / "eligible_visits", day)
            copy_day(cursor, folder / "daily_visits", day)
        cursor.execute(INSERT_ELIGIBLE, [run.pk])
        cursor.execute(INSERT_DAILY, [run.pk])
        cursor.execute(UNKNOWN_VISITS)
        (unknown,) = cursor.fetchone()
        cursor.execute(DROP_LOADED)
    return int(unknown)


LOADED_COLUMNS = {
    "eligible_visits": ["campaign_id", "publisher", "eligible_visits"],
    "daily_visits": ["publisher", "visits"],
}


def copy_day(cursor: CursorWrapper, table: Path, day: date) -> None:
    columns = LOADED_COLUMNS[table.name]
    rows = pa.parquet.read_table(table / f"dt={day}", columns=columns, partitioning=None)
    days = pa.array([day] * rows.num_rows, pa.date32())
    text = io.BytesIO()
    pa.csv.write_csv(
        rows.add_column(0, "day", days), text, pa.csv.WriteOptions(include_header=False)
    )
    text.seek(0)
    names = ", ".join(["day", *columns])
    cursor.copy_expert(f"copy loaded_{table.name} ({names}) from stdin (format csv)", text)

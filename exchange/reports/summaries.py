"""Loads the job's tables into Postgres, replacing the days that they hold: never adds to a day."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from targeting.report_tables import read_table

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


JOB = "eligibility"
# For each target, the table of the job, and which of its columns.
LOADED = {
    "loaded_eligible_visits": ("by_publisher", ["campaign_id", "publisher", "eligible_visits"]),
    "loaded_daily_visits": ("daily_visits", ["publisher", "visits"]),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many rows were loaded, and what the tables say beside: visits at publishers that the
    exchange does not know, and values that were of a wrong type."""

    rows: int
    unknown_visits: int
    wrong_values: int


@transaction.atomic
def replace_days(*, run: ReportRun, days: Sequence[date], out: str) -> Loaded:
    """Replaces days; `out` is the folder of the reports: a path or a URL."""
    EligibleVisits.objects.filter(day__in=days).delete()
    DailyVisits.objects.filter(day__in=days).delete()
    with connection.cursor() as cursor:
        cursor.execute(CREATE_LOADED)
        for day in days:
            for target in LOADED:
                copy_day(cursor, out, target, day)
        cursor.execute(INSERT_ELIGIBLE, [run.pk])
        rows = cursor.rowcount
        cursor.execute(INSERT_DAILY, [run.pk])
        cursor.execute(UNKNOWN_VISITS)
        (unknown,) = cursor.fetchone()
        cursor.execute(DROP_LOADED)
    return Loaded(rows, int(unknown), sum(count_wrong_values(out, day) for day in days))


def copy_day(cursor: CursorWrapper, out: str, target: str, day: date) -> None:
    table, columns = LOADED[target]
    rows = read_day(out, table, day, columns)
    if "eligible_visits" in columns:  # zeros of live bookings stay where they are
        rows = rows.filter(pc.greater(rows["eligible_visits"], 0))
    days = pa.array([day] * rows.num_rows, pa.date32())
    text = io.BytesIO()
    pa.csv.write_csv(
        rows.add_column(0, "day", days), text, pa.csv.WriteOptions(include_header=False)
    )
    text.seek(0)
    names = ", ".join(["day", *columns])
    cursor.copy_expert(f"copy {target} ({names}) from stdin (format csv)", text)


def read_day(out: str, table: str, day: date, columns: Sequence[str]) -> pa.Table:
    rows = read_table(out, JOB, table, day, columns)
    if rows is None:
        raise FileNotFoundError(f"{out} has no counts of {day}")
    return rows


def count_wrong_values(out: str, day: date) -> int:
    """Reads the day's number, which every row says."""
    found = pc.max(read_day(out, "daily_visits", day, ["wrong_values"])["wrong_values"])
    return found.as_py() or 0

"""Reports for tests: two days in November at two publishers, as the job would have written them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pytest_django import Settings

from exchange.accounts.models import Organisation
from exchange.market.models import Booking, Campaign, Party
from exchange.reports.job import DayDone
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from tests.market.places import found

FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)
SNAPSHOT_ID = "5" * 32


@pytest.fixture
def gazette(operator: Organisation) -> Party:
    return found(Party.Kind.PUBLISHER, "Evening Gazette", operator)


@pytest.fixture
def report_folder(tmp_path: Path, settings: Settings) -> Path:
    settings.REPORT_DIR = tmp_path / "reports"
    return tmp_path / "reports"


@pytest.fixture
def visit_log(tmp_path: Path, settings: Settings) -> Path:
    settings.VISIT_LOG_DIR = tmp_path / "visits"
    return tmp_path / "visits"


@pytest.fixture
def summer_report(campaign: Campaign, herald: Party, gazette: Party) -> ReportRun:
    """Summer was eligible for 30 of the Herald's 100 visits on the first day, 45 of 150 on the
    second, and for none at the Gazette, where it is booked too."""
    run = make_run(status="done", snapshot_id=SNAPSHOT_ID, visits_counted=350)
    for publisher in (herald, gazette):
        Booking.objects.create(campaign=campaign, publisher=publisher)
    for day, visits, eligible in ((FIRST, 100, 30), (SECOND, 150, 45)):
        DailyVisits.objects.create(day=day, publisher=herald, visits=visits, run=run)
        DailyVisits.objects.create(day=day, publisher=gazette, visits=50, run=run)
        EligibleVisits.objects.create(
            day=day, campaign=campaign, publisher=herald, eligible_visits=eligible, run=run
        )
    return run


def make_run(**fields: object) -> ReportRun:
    days = {"first_day": FIRST, "last_day": SECOND}
    return ReportRun.objects.create(**(days | fields))


def day_done(day: date, **fields: object) -> DayDone:
    numbers: dict[str, object] = {
        "status": "done",
        "snapshot_id": SNAPSHOT_ID,
        "visits": 0,
        "malformed": 0,
        "duplicates": 0,
        "late": 0,
        "wrong_values": 0,
        "seconds": 1.0,
    }
    return DayDone(day=day, **(numbers | fields))  # type: ignore[arg-type]


def write_day(
    folder: Path,
    day: date,
    *,
    eligible: Sequence[tuple[int, str, int]],
    visits: Mapping[str | None, int],
) -> None:
    """The job's two tables of a day."""
    campaigns, publishers, counts = zip(*eligible, strict=True) if eligible else ((), (), ())
    write_table(
        folder / "eligible_visits" / f"dt={day}",
        campaign_id=pa.array(campaigns, pa.int64()),
        publisher=pa.array(publishers, pa.string()),
        eligible_visits=pa.array(counts, pa.int64()),
    )
    write_table(
        folder / "daily_visits" / f"dt={day}",
        publisher=pa.array(list(visits), pa.string()),
        visits=pa.array(list(visits.values()), pa.int64()),
        malformed=pa.array([0] * len(visits), pa.int64()),
    )


def write_table(folder: Path, **columns: pa.Array) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.table(columns), folder / "part-00000.parquet")

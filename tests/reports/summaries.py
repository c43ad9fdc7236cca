"""Reports for tests: two days in November at two publishers, as the job would have written them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pytest_django import Settings

from exchange.accounts.models import Organisation
from exchange.market.models import Booking, Campaign, Party
from exchange.reports.job import JobDone
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
    """Reports that Summer was eligible for 30 of the Herald's 100 visits on the first day, 45 of
    150 on the second, and for none at the Gazette, where it is booked too."""
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


def day_done(day: date, *, status: str = "done", **rows: int) -> JobDone:
    """Says that a day is done, as `eligibility` does."""
    counted = {"visits": 0, "malformed": 0, "duplicates": 0, "late": 0} | rows
    return JobDone("eligibility", day, status, SNAPSHOT_ID, 1.0, input=counted)


def write_day(
    folder: Path,
    day: date,
    *,
    eligible: Sequence[tuple[int, str, int]],
    visits: Mapping[str | None, int],
    wrong_values: int = 0,
) -> None:
    """Writes the tables of `eligibility` that are loaded, committed."""
    campaigns, publishers, counts = zip(*eligible, strict=True) if eligible else ((), (), ())
    tables = {
        "by_publisher": {
            "campaign_id": pa.array(campaigns, pa.int64()),
            "publisher": pa.array(publishers, pa.string()),
            "eligible_visits": pa.array(counts, pa.int64()),
        },
        "daily_visits": {
            "publisher": pa.array(list(visits), pa.string()),
            "visits": pa.array(list(visits.values()), pa.int64()),
            "wrong_values": pa.array([wrong_values] * len(visits), pa.int64()),
        },
    }
    day_folder = folder / "eligibility" / f"dt={day}"
    for name, columns in tables.items():
        (day_folder / "run" / name).mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(pa.table(columns), day_folder / f"run/{name}/part.parquet")
    files = {name: {"files": [f"run/{name}/part.parquet"]} for name in tables}
    (day_folder / "manifest.json").write_text(json.dumps({"format": 1, "tables": files}))

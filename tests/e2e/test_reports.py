"""An analyst at a real browser: what was counted, what has nothing to count, and the download."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Party
from exchange.reports.models import ReportRun
from tests.e2e.conftest import Visitor
from tests.e2e.test_trust import check_widths
from tests.market.places import campaign, herald, soda
from tests.reports.summaries import FIRST, SECOND, gazette, summer_report

__all__ = ["campaign", "gazette", "herald", "soda", "summer_report"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

REPORT = f"/reports/eligible-visits/?first_day={FIRST}&last_day={SECOND}"
REASONS = {
    "Too new": "Did not exist yet when these days were counted",
    "Wanted nobody": "Not one visit was eligible",
    "Asleep": "Was not live on these days",
}


def book(advertiser: Party, publisher: Party, name: str, status: str = "live") -> Campaign:
    starts = datetime(2026, 1, 1, tzinfo=UTC)
    made = Campaign.objects.create(
        advertiser=advertiser, name=name, status=status, starts_at=starts, expression="true"
    )
    Booking.objects.create(campaign=made, publisher=publisher)
    return made


@pytest.fixture
def resting(transactional_db: None, soda: Party, herald: Party) -> None:
    """Before the days are counted."""
    book(soda, herald, "Asleep", "draft")
    book(soda, herald, "Wanted nobody")


@pytest.mark.usefixtures("resting", "summer_report")
def test_campaigns_with_zero_are_listed_each_with_its_reason(
    visitor: Visitor, carol: User, soda: Party, herald: Party
) -> None:
    page = visitor.page
    book(soda, herald, "Too new")
    visitor.enter(carol)
    visitor.go(REPORT)
    rows = page.locator("#without tbody tr")
    expect(rows).to_have_count(len(REASONS))
    for row, (name, reason) in zip(rows.all(), REASONS.items(), strict=True):
        expect(row.locator("td").first).to_have_text(name)
        expect(row).to_contain_text(reason)
    check_widths(visitor)
    for name, reason in REASONS.items():
        visitor.go(REPORT)
        page.click(f"#without >> text={name}")
        expect(page.locator("#report")).to_contain_text(f"{reason}.")
        is_worth_a_try = name == "Wanted nobody"
        expect(page.locator("#report >> text=Try a visit")).to_have_count(int(is_worth_a_try))


def test_the_download_is_for_a_spreadsheet(
    visitor: Visitor, carol: User, summer_report: ReportRun, tmp_path: Path
) -> None:
    page, path = visitor.page, tmp_path / "report.csv"
    visitor.enter(carol)
    visitor.go(REPORT)
    with page.expect_download() as download:
        page.click("text=Download CSV")
    download.value.save_as(path)
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    header, *rows = raw.decode("utf-8-sig").splitlines()
    assert header.startswith("day,")
    assert sorted(row.split(",")[0] for row in rows) == [str(FIRST), str(SECOND)]

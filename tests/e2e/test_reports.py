"""An analyst at a real browser: what was counted, what has nothing to count, and the download."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Campaign, Party
from exchange.reports.models import ReportRun
from tests.e2e.building import check_accessible
from tests.e2e.conftest import Visitor
from tests.e2e.test_trust import check_widths
from tests.market.places import campaign, herald, soda
from tests.reports.night.written import write_funnel
from tests.reports.summaries import FIRST, SECOND, gazette, summer_report
from tests.trading import Exchange, exchange

__all__ = ["campaign", "exchange", "gazette", "herald", "soda", "summer_report"]

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
    """Books campaigns before the days are counted."""
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


@pytest.fixture
def own_nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives the reports' folder of the server that is started after it."""
    monkeypatch.setenv("TREELINE_REPORT_DIR", str(tmp_path / "reports"))
    return tmp_path / "reports"


def test_a_publisher_sees_what_is_sold_through_each_of_its_edges(
    own_nights: Path, visitor: Visitor, exchange: Exchange
) -> None:
    """Goes from its home to the edge, at both widths; nothing there is a serious obstacle."""
    page = visitor.page
    Booking.objects.create(campaign=exchange.rival_campaign, publisher=exchange.herald.party)
    write_funnel(own_nights, exchange)
    visitor.enter(exchange.herald.people[Role.ANALYST])
    visitor.go("/")
    page.click("nav >> text=Reports")
    page.click("h3 >> text=Sold through edges")
    expect(page.locator("h2").first).to_have_text("470 eligible visits")
    row = page.locator("#rows tbody tr")
    expect(row).to_have_count(1)
    expect(row.locator("[data-label=Eligible]")).to_have_text("470")
    expect(page.locator("svg.wide .bar title").first).to_contain_text("to Northgate")
    check_widths(visitor)
    check_accessible(page)
    visitor.go("/reports/")
    expect(page.locator(".entry .bars.small").first).to_be_visible()
    check_widths(visitor)
    check_accessible(page)
    page.click("h3 >> text=Funnel")
    expect(page.locator("#rows")).to_contain_text("Herald → Northgate")
    check_widths(visitor)
    check_accessible(page)
    # Why something is not sold: the verdict, and not what the campaign asks for.
    visitor.go("/")
    page.locator("tr", has_text="Winter").get_by_role("link", name="Why?").click()
    expect(page.locator("h1")).to_have_text("Why not: Winter")
    expect(page.locator("#verdict")).to_contain_text("Nothing can serve at Herald")
    expect(page.locator("main")).not_to_contain_text("CAN")
    check_widths(visitor)
    check_accessible(page)

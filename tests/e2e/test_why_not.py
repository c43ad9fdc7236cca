"""Two stories: an operator sees what narrowing an edge would stop before saving it; a manager finds
on Today that a campaign fell, and reads why."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from exchange.accounts.models import Organisation, User
from exchange.findings.changed import check_night
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services import save_edge
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from tests.e2e.building import Builder, check_accessible, write_traffic
from tests.e2e.conftest import Visitor
from tests.market.places import found
from tests.reports.samples import draw_visits, write_sample

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

VISITS = draw_visits(900, publishers=("daily-herald", "gazette"))


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server that is started finds its nights."""
    write_traffic(tmp_path, monkeypatch)
    monkeypatch.setenv("TREELINE_REPORT_DIR", str(tmp_path / "reports"))
    return tmp_path / "reports"


@pytest.fixture
def edge(transactional_db: None, operator: Organisation, reports: Path) -> Edge:
    """Of Northgate, over which the Herald's visits come to two campaigns of Soda."""
    herald = found(Party.Kind.PUBLISHER, "Daily Herald", operator)
    northgate = found(Party.Kind.INTERMEDIARY, "Northgate", operator)
    soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    Edge.objects.create(seller=herald, buyer=northgate, fee_percent="5")
    edge = Edge.objects.create(seller=northgate, buyer=soda, fee_percent="5")
    for name, text in (("Summer", "user.age >= 18"), ("North", "geo.country = 'CAN'")):
        campaign = Campaign.objects.create(
            advertiser=soda, name=name, expression=text, status="live"
        )
        Booking.objects.create(campaign=campaign, publisher=herald)
    write_sample(reports, VISITS)
    return edge


def a_day(*countries: str | None, least_age: int = 0) -> str:
    met = [
        visit["sample_weight"]
        for visit in VISITS
        if visit["publisher.id"] == "daily-herald"
        and visit["geo.country"] in countries
        and visit["user.age"] >= least_age
    ]
    return f"{sum(met) / 3:,.0f}"


def fits(page: Page) -> None:
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_operator_sees_what_a_save_would_stop_and_takes_it_back(
    visitor: Visitor, bob: User, edge: Edge
) -> None:
    page = visitor.page
    north = Campaign.objects.get(name="North")
    visitor.enter(bob)
    visitor.go(reverse("edge-edit", args=[edge.pk]))
    area = page.locator("#rehearsal")
    expect(area).to_contain_text("Nothing that decides about visits is changed yet")
    Builder(page).write("geo.country = 'USA'")
    expect(area).to_contain_text("Saving this would stop 1 of the 2 bookings")
    row = area.locator("tr", has_text="North")
    expect(row).to_contain_text(f"{a_day('CAN')}")
    expect(row).to_contain_text("excludes every visit that it wants")
    expect(area.locator("tr", has_text="Summer")).to_contain_text(a_day("USA", least_age=18))
    save = page.get_by_role("button", name="Save and stop 1 booking")
    check_accessible(page)
    fits(page)
    save.click()  # the browser asks for the tick
    expect(page.locator("#stops_confirmed:invalid")).to_be_visible()
    page.check("#stops_confirmed")
    save.click()
    expect(page.locator("#messages")).to_contain_text("is saved")

    check_night()
    visitor.go(reverse("campaign-detail", args=[north.pk]))
    expect(page.locator("header.head")).to_contain_text("Blocked")
    expect(page.locator("header.head")).to_contain_text("contradiction on its path")
    page.get_by_role("link", name="Why not").click()
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("Nothing can serve at Daily Herald")
    expect(verdict).to_contain_text("Northgate → Solberg Soda lets only")
    visitor.go(reverse("edge-history", args=[edge.pk]))
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Go back to this").click()
    expect(page.locator("#messages")).to_contain_text("is back as it was")
    check_night()
    visitor.go(reverse("campaign-detail", args=[north.pk]))
    expect(page.locator("header.head")).to_contain_text("Serving")


def count_nights(campaign: Campaign, publisher: Party) -> None:
    """Summer had 300 a day, and 100 since yesterday."""
    today = timezone.now().date()
    run = ReportRun.objects.create(first_day=today, last_day=today, status="done")
    for back in range(1, 20):
        day, visits = today - timedelta(days=back), {"publisher": publisher, "run": run}
        DailyVisits.objects.create(day=day, visits=500, **visits)
        EligibleVisits.objects.create(
            day=day, campaign=campaign, eligible_visits=300 if back > 1 else 100, **visits
        )


def test_a_manager_reads_why_a_campaign_fell_and_tries_without_a_condition(
    visitor: Visitor, alice: User, bob: User, edge: Edge
) -> None:
    summer = Campaign.objects.get(name="Summer")
    edge.expression = "geo.country = 'USA'"
    save_edge(edge=edge, by=bob)
    count_nights(summer, Party.objects.get(name="Daily Herald"))
    check_night()
    page = visitor.page
    visitor.enter(alice)
    visitor.go("/")
    row = page.locator(".causes > li", has_text="1 campaign fell by half")
    row.get_by_role("link", name="Summer").click()
    expect(page.locator("h1")).to_have_text("Summer")
    verdict = page.locator(".why-verdict")
    expect(verdict).to_contain_text(f"About {a_day('USA', least_age=18)} of")
    expect(verdict).to_contain_text("change of Northgate → Solberg Soda")
    would_be = a_day("USA", "CAN", None, least_age=18)
    expect(verdict).to_contain_text(f"With the version before, {would_be} visits a day")
    mark = page.locator(".changes-made li.is-cause")
    expect(mark).to_contain_text("Northgate → Solberg Soda")
    mark.get_by_text("Difference").click()
    expect(mark).to_contain_text(re.compile("geo.country", re.IGNORECASE))
    expect(page.locator(".funnel .worst, .funnel tr", has_text="Northgate").first).to_be_visible()
    check_accessible(page)
    fits(page)

    alone = page.locator(".blockers").first.locator("li", has_text="age")
    alone.get_by_role("link", name="20 visits").click()
    expect(page.locator("#why-visits table tbody tr")).to_have_count(20)
    alone.get_by_role("link", name="Try without").click()
    tried = page.locator(".tried")
    expect(tried).to_contain_text(f"{a_day('USA', least_age=18)} → {a_day('USA')} visits a day")
    tried.get_by_role("link", name="Edit it so").click()
    assert Builder(page).text() == "#- user.age >= 18\ntrue"

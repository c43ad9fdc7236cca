"""The live impact beside the builder: figures move with the conditions, one can be tried without,
and before the first night the panel says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Booking, Campaign, Edge, Party
from tests.e2e.building import Builder, check_accessible, write_traffic
from tests.e2e.conftest import Visitor
from tests.market.places import found
from tests.reports.samples import draw_visits, write_sample

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

VISITS = draw_visits(900, publishers=("daily-herald", "gazette"))


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Says where the server that is started finds its nights."""
    write_traffic(tmp_path, monkeypatch)
    monkeypatch.setenv("TREELINE_REPORT_DIR", str(tmp_path / "reports"))
    return tmp_path / "reports"


@pytest.fixture
def campaign(transactional_db: None, operator: Organisation) -> Campaign:
    """Makes a campaign that is live at the Herald, which sells visits on CTV only."""
    herald = found(Party.Kind.PUBLISHER, "Daily Herald", operator)
    soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    Edge.objects.create(
        seller=herald, buyer=soda, expression="device.type = 'ctv'", fee_percent="5"
    )
    campaign = Campaign.objects.create(
        advertiser=soda,
        name="Summer",
        expression="geo.country = 'USA' and user.age >= 60",
        status="live",
    )
    Booking.objects.create(campaign=campaign, publisher=herald)
    return campaign


def panel_of(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Impact")


def tell_visits(least_age: int) -> str:
    """Writes what the panel should say of people in the USA from that age on."""
    met = sum(
        visit["sample_weight"]
        for visit in VISITS
        if visit["publisher.id"] == "daily-herald"
        and visit["geo.country"] == "USA"
        and visit["device.type"] == "ctv"
        and visit["user.age"] >= least_age
    )
    return f"{round(met / 3):,} visits a day"


def test_figures_move_and_a_condition_can_be_tried_without(
    visitor: Visitor, alice: User, campaign: Campaign, reports: Path
) -> None:
    write_sample(reports, VISITS)
    visitor.enter(alice)
    visitor.go(f"/campaigns/{campaign.pk}/edit/")
    builder = Builder(visitor.page)
    panel = panel_of(visitor.page)
    figure = panel.locator(".figure")
    expect(figure).to_have_text(tell_visits(60))
    expect(panel).to_contain_text("As many as the live version")
    expect(panel).to_contain_text("sample of 900 visits of 3 days, 14 Nov to 16 Nov")
    expect(panel.locator("dt")).to_have_text(
        ["Targeting", "At booked publishers", "Eligible, after edges"]
    )
    expect(builder.row("user.age").locator(".share")).to_have_text(re.compile(r"^\d+ %$"))
    check_accessible(visitor.page)

    builder.write("geo.country = 'USA' and user.age >= 30")
    expect(figure).to_have_text(tell_visits(30))
    expect(panel).to_contain_text(re.compile(r"\+ \d+ % against the live version"))

    panel.get_by_role("button", name="Try without user.age >= 30").click()
    expect(figure).to_have_text(tell_visits(0))
    assert builder.text() == "#- user.age >= 30\ngeo.country = 'USA'"
    visitor.page.click("[data-undo]")
    expect(figure).to_have_text(tell_visits(30))
    assert builder.text() == "geo.country = 'USA' and user.age >= 30"
    headline = visitor.page.locator("[data-headline]")
    expect(headline).to_be_hidden()
    visitor.page.set_viewport_size({"width": 390, "height": 900})  # the panel is far below there
    expect(headline).to_have_text(tell_visits(30))
    expect(headline).to_be_visible()


def test_the_tab_tries_without_a_condition_and_goes_on_in_the_editor(
    visitor: Visitor, alice: User, campaign: Campaign, reports: Path
) -> None:
    write_sample(reports, VISITS)
    visitor.enter(alice)
    visitor.go(f"/campaigns/{campaign.pk}/")
    page = visitor.page
    page.click(".tabs >> text=Impact")
    figure = page.locator(".figure")
    expect(figure).to_have_text(tell_visits(60))
    page.get_by_role("link", name=re.compile("Try without.* is at least 60")).click()
    expect(figure).to_have_text(tell_visits(0))
    gained = re.compile(r"\+ [\d,]+ % against the live version")
    expect(page.locator("main")).to_contain_text(gained)
    check_accessible(page)
    page.click("text=Edit without it")
    builder = Builder(page)
    assert builder.text() == "#- user.age >= 60\ngeo.country = 'USA'"
    expect(panel_of(page).locator(".figure")).to_have_text(tell_visits(0))
    campaign.refresh_from_db()
    assert campaign.expression == "geo.country = 'USA' and user.age >= 60"


def test_before_the_first_night_the_panel_says_what_to_do(
    visitor: Visitor, alice: User, campaign: Campaign
) -> None:
    visitor.enter(alice)
    visitor.go(f"/campaigns/{campaign.pk}/edit/")
    Builder(visitor.page)
    panel = panel_of(visitor.page)
    expect(panel).to_contain_text("No night has been counted yet")
    expect(panel.get_by_role("link", name="Reports")).to_be_visible()
    expect(panel.locator(".figure")).to_have_count(0)
    check_accessible(visitor.page)


def test_a_failure_is_said_and_can_be_tried_again(
    visitor: Visitor, alice: User, campaign: Campaign, reports: Path
) -> None:
    write_sample(reports, VISITS)
    visitor.enter(alice)
    visitor.go(f"/campaigns/{campaign.pk}/edit/")
    builder = Builder(visitor.page)
    panel = panel_of(visitor.page)
    expect(panel.locator(".figure")).to_have_text(tell_visits(60))
    visitor.page.route("**/expressions:impact", lambda route: route.abort())
    builder.write("geo.country = 'USA' and user.age >= 30")
    expect(panel).to_contain_text("The figures cannot be counted just now")
    visitor.page.unroute("**/expressions:impact")
    panel.get_by_role("button", name="Count again").click()
    expect(panel.locator(".figure")).to_have_text(tell_visits(30))
    assert [each for each in visitor.complaints if "expressions:impact" not in each] == []
    visitor.complaints.clear()

"""A campaign manager at a real browser: finds campaigns, keeps a view, clones, and books offers."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.snapshots.deltas import write_changes
from tests.e2e.conftest import Visitor
from tests.e2e.test_trust import check_widths
from tests.market.places import found
from tests.people import hire
from tests.snapshots.steps import build
from tests.snapshots.story import run_campaign, tell

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture
def fleet(operator: Organisation) -> Party:
    soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    for number, city in enumerate(["Berlin", "Bonn", "Berlin", "Bern"]):
        Campaign.objects.create(
            advertiser=soda,
            name=f"Wave {number}",
            expression=f"device.type = 'phone' and geo.city = '{city}'",
            bid_cpm=10 - number,
        )
    return soda


@pytest.mark.usefixtures("fleet")
def test_a_manager_finds_sorts_keeps_the_view_downloads_and_clones(
    visitor: Visitor, alice: User
) -> None:
    page, rows = visitor.page, visitor.page.locator("#list tbody tr")
    visitor.enter(alice)
    visitor.go("/campaigns/")
    expect(rows).to_have_count(4)
    page.fill("[name=targeting]", "phone berl")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(
        f"{visitor.url}/campaigns/?q=&targeting=phone%20berl&status=&advertiser=&label="
    )
    page.click("th >> text=Bid CPM")
    page.click("th >> text=Bid CPM")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Bid CPM")
    expect(rows.locator(".lead > a")).to_have_text(["Wave 2", "Wave 0"])
    rows.first.locator("summary").click()
    expect(rows.first.locator("code")).to_be_visible()
    check_widths(visitor)
    page.click("text=Save this view")
    page.fill("#view-name", "Berlin by bid")
    page.click("text=Save view")
    visitor.go("/campaigns/")
    expect(rows).to_have_count(4)
    page.click(".views >> text=Berlin by bid")
    expect(rows.locator(".lead > a")).to_have_text(["Wave 2", "Wave 0"])
    expect(page.locator(".views [aria-current]")).to_have_text("Berlin by bid")
    with page.expect_download() as download:
        page.click("text=Download these as CSV")
    text = Path(download.value.path()).read_text(encoding="utf-8-sig")
    names = [row["campaign"] for row in csv.DictReader(io.StringIO(text))]
    assert names == ["Wave 2", "Wave 0"]
    rows.first.locator("text=Clone").click()
    expect(page.locator("[name=name]")).to_have_value("Wave 2 (copy)")
    page.click("text=Save campaign")
    expect(page.locator("h1")).to_have_text("Wave 2 (copy)")
    assert Campaign.objects.get(name="Wave 2 (copy)").expression.endswith("geo.city = 'Berlin'")


def test_a_manager_books_several_from_the_offers_and_sees_them_answered(
    visitor: Visitor, transactional_db: None
) -> None:
    story, page = tell(), visitor.page
    northgate = Party.objects.get(name="Northgate")
    for name, rule in (("Gazette", "true"), ("Ledger", "true"), ("Frankly", "geo.country = 'FRA'")):
        seller = found(Party.Kind.PUBLISHER, name, story.soda.organisation)
        Edge.objects.create(seller=seller, buyer=northgate, expression=rule)
    campaign = run_campaign(story.soda, "Winter", "geo.country = 'USA'")
    build()
    visitor.enter(hire("alice", Role.CAMPAIGN_MANAGER, story.soda.organisation))
    visitor.go(f"/campaigns/{campaign.pk}/")
    expect(page.locator("main")).to_contain_text("Not booked yet")
    page.click(".tabs >> text=Bookings")
    offers = page.locator("#offers tbody tr")
    expect(offers.filter(has_text="Frankly")).to_contain_text("lets only visits from FRA through")
    expect(offers.filter(has_text="Gazette")).to_contain_text("Gazette → Northgate")
    expect(page.locator("[data-choose-button]")).to_be_disabled()
    check_widths(visitor)
    page.check("[aria-label='Book Gazette']")
    page.focus("[aria-label='Book Ledger']")
    page.keyboard.press("Space")
    page.click("text=Book 2")
    expect(page.locator("#messages")).to_contain_text("Winter is booked with Gazette, Ledger.")
    expect(page.locator("#served")).to_contain_text("On its way to ad servers")
    write_changes()
    expect(page.locator("#served")).to_contain_text("Answered by ad servers")
    expect(page.locator(".rows article")).to_have_count(2)
    check_widths(visitor)
    assert Booking.objects.filter(campaign=campaign).count() == 2
    for tab in ("Targeting", "Impact", "Tests", "History", "API"):
        page.click(f".tabs >> text={tab}")
        expect(page.locator(".tabs [aria-current]")).to_have_text(tab)
        check_widths(visitor)


@pytest.mark.usefixtures("fleet")
def test_a_manager_goes_anywhere_by_ctrl_k_and_the_keyboard(visitor: Visitor, alice: User) -> None:
    page = visitor.page
    visitor.enter(alice)
    visitor.go("/attributes/")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Name or number")
    expect(box).to_be_focused()
    box.fill("wave 2")
    chosen = page.locator("#jump [aria-selected=true]")
    expect(chosen).to_contain_text("Wave 2")
    expect(box).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Wave 2")
    page.keyboard.press("Control+k")
    box.fill("solberg")
    expect(page.locator("#jump [role=option]").last).to_contain_text("Solberg Soda")
    page.keyboard.press("ArrowUp")
    expect(chosen).to_contain_text("Solberg Soda")
    page.keyboard.press("Escape")
    expect(page.locator("#jump")).to_be_hidden()
    check_widths(visitor)


def test_a_name_is_chosen_from_a_combobox_by_the_keyboard(
    visitor: Visitor, alice: User, fleet: Party
) -> None:
    """Has thirteen names, which are more than a menu should have."""
    for number in range(12):
        found(Party.Kind.ADVERTISER, f"Advertiser {number:02}", fleet.organisation)
    page = visitor.page
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    box = page.get_by_role("combobox", name="Advertiser")
    box.focus()
    options = page.locator("#id_advertiser_options [role=option]")
    expect(options).to_have_count(12)
    expect(box).to_have_attribute("aria-expanded", "true")
    page.keyboard.type("solb")
    expect(options).to_have_text(["Solberg Soda"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).to_have_value("Solberg Soda")
    expect(box).to_have_attribute("aria-expanded", "false")
    page.fill("[name=name]", "Winter")
    visitor.write("true")
    page.click("text=Save campaign")
    expect(page.locator("h1")).to_have_text("Winter")
    assert Campaign.objects.get(name="Winter").advertiser == fleet

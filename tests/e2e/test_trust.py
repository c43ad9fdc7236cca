"""What people rely on, at a real browser: stopping works, times count, a status means something."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from exchange.accounts.models import Organisation, User
from exchange.findings.changed import check_night
from exchange.market.models import Audience, Booking, Campaign, Edge, Party, TestVisit, ValueList
from exchange.market.services import save_value_list
from tests.e2e.conftest import Visitor
from tests.market.places import found

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

EVENING = "local_time during '17:00-23:00'"


@pytest.fixture
def booking(transactional_db: None, operator: Organisation) -> Booking:
    """Books Evening, of Solberg Soda, at the Daily Herald, over Northgate."""
    herald = found(Party.Kind.PUBLISHER, "Daily Herald", operator)
    northgate = found(Party.Kind.INTERMEDIARY, "Northgate", operator)
    soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    Edge.objects.create(seller=herald, buyer=northgate, expression="true")
    Edge.objects.create(seller=northgate, buyer=soda, expression="true")
    campaign = Campaign.objects.create(
        advertiser=soda,
        name="Evening",
        expression=EVENING,
        status="live",
        starts_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Booking.objects.create(campaign=campaign, publisher=herald)


def check_widths(visitor: Visitor) -> None:
    for width in (390, 1280):
        visitor.page.set_viewport_size({"width": width, "height": 900})
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_manager_pauses_over_a_failing_test_and_goes_back_over_it(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    campaign, page = booking.campaign, visitor.page
    noon = {"time": "2026-11-17T12:00:00Z", "geo.utc_offset": 0}
    TestVisit.objects.create(campaign=campaign, name="At noon", visit=noon)
    visitor.enter(alice)
    visitor.go(f"/campaigns/{campaign.pk}/tests/")
    expect(page.get_by_text("Fails")).to_be_visible()
    page.click("text=Pause")
    expect(page.get_by_text("Evening is now paused.")).to_be_visible()
    page.click("text=Go live")
    expect(page.get_by_text("Not saved: “At noon” is not eligible")).to_be_visible()
    visitor.go(f"/campaigns/{campaign.pk}/history/")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("text=Go back to this")
    expect(page.get_by_text("“At noon” is not eligible, but should be eligible")).to_be_visible()
    check_widths(visitor)
    page.check("text=Go back although these test visits fail")
    page.click("text=Go back to version 1")
    expect(page.get_by_text("Evening is back as it was in version 1.")).to_be_visible()


def test_a_daypart_is_tried_at_any_hour_and_a_bid_request_imp_by_imp(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    page = visitor.page
    visitor.enter(alice)
    visitor.go(f"/visits/?campaign={booking.campaign_id}")
    for hour, said in (("03", "Evening is not eligible"), ("18", "Evening is eligible")):
        visit = {"time": f"2026-11-17T{hour}:30:00Z", "geo": {"utc_offset": 0}, "shoe_size": 43}
        page.fill("#id_visit", json.dumps(visit))
        page.click("text=What is eligible?")
        expect(page.locator("#moment")).to_contain_text(f"Tue 2026-11-17 {hour}:30")
        expect(page.locator("#explanation h2")).to_have_text(said)
        expect(page.locator("#warnings")).to_contain_text("shoe_size: no such attribute")
    request = {"imp": [{"id": "top", "banner": {}}, {"id": "side", "video": {}}]}
    page.fill("#id_visit", json.dumps(request))
    page.click("text=What is eligible?")
    expect(page.locator("#imps")).to_contain_text("with 2 imps; below is the answer for imp top")
    page.click("text=imp side")
    expect(page.locator("#imps")).to_contain_text("for imp side")
    check_widths(visitor)
    # As an ad server asks, taken from a log.
    page.fill("#id_visit", json.dumps({"publisher": "elsewhere", "visit": {"shoe_size": 43}}))
    page.click("text=What is eligible?")
    expect(page.locator("#warnings li")).to_have_text(
        [
            "shoe_size: no such attribute in the catalogue, so it is ignored.",
            "publisher.id: the publisher chosen above counts, so it is ignored.",
        ]
    )
    page.fill("#id_visit", json.dumps({"publisher": "elsewhere", "bid_request": request}))
    page.click("text=What is eligible?")
    expect(page.locator("#imps")).to_contain_text("with 2 imps")


def test_a_test_visit_keeps_its_time_and_may_be_a_bid_request(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    page = visitor.page
    visitor.enter(alice)

    def save(name: str, visit: object) -> None:
        visitor.go(f"/campaigns/{booking.campaign_id}/tests/new/")
        page.fill("[name=name]", name)
        page.fill("[name=visit]", json.dumps(visit))
        page.click("text=Save test visit")

    save("Dinner", {"time": "2026-11-17T19:30:00Z", "geo": {"utc_offset": 0}})
    row = page.locator("tr", has_text="Dinner")
    expect(row).to_contain_text("Tue 2026-11-17 19:30")
    expect(row).to_contain_text("Passes")
    imps = [{"id": "top", "banner": {}}, {"id": "side", "video": {}}]
    night = {"time": "2026-11-17T03:30:00Z", "device": {"geo": {"utcoffset": 0}}}
    save("Night", {"imp": imps, **night})
    expect(page.locator("main .errors")).to_contain_text("has 2 imps (top, side)")
    save("Night", {"imp": imps[:1], **night})
    row = page.locator("tr", has_text="Night")
    expect(row).to_contain_text("Tue 2026-11-17 03:30")
    expect(row).to_contain_text("Fails")
    page.click("main table >> text=Night")
    expect(page.locator("[name=visit]")).to_have_value(re.compile("banner"))
    check_widths(visitor)


def test_what_cannot_serve_is_nowhere_green(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    page = visitor.page
    visitor.enter(alice)
    visitor.go("/findings/")
    expect(page.get_by_role("heading", name="Not checked yet")).to_be_visible()
    gazette = found(Party.Kind.PUBLISHER, "Gazette", booking.publisher.organisation)
    northgate = Party.objects.get(name="Northgate")
    Edge.objects.create(seller=gazette, buyer=northgate, expression="true")
    Booking.objects.create(campaign=booking.campaign, publisher=gazette)
    Edge.objects.filter(seller=northgate).update(is_active=False)
    check_night()
    for address in ("/campaigns/", f"/campaigns/{booking.campaign_id}/", "/bookings/"):
        visitor.go(address)
        expect(page.locator("main .badge.bad", has_text="Blocked").first).to_be_visible()
        expect(page.locator("main .badge.good")).to_have_count(0)
        check_widths(visitor)
    visitor.go("/")
    page.click(".strip >> text=Blocked")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    visitor.go("/findings/")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.locator("#list")).to_contain_text("Nothing passes while Northgate → Solberg Soda")
    expect(page.locator("#checked")).to_contain_text("Bookings checked")
    page.click("text=2 bookings")
    expect(page.locator("#list tbody tr")).to_have_count(2)
    page.click("#list a >> nth=0")
    expect(page.locator("main header .badge.bad")).to_have_text("Blocked")
    expect(page.locator("#checked")).to_contain_text("Bookings checked")
    check_widths(visitor)


def test_what_rests_says_so_wherever_it_is_listed(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    page, now, day = visitor.page, timezone.now(), timedelta(days=1)
    cases: dict[str, dict[str, Any]] = {
        "Draft": {"status": "draft"},
        "Paused": {"status": "paused"},
        "Scheduled": {"starts_at": now + day},
        "Ended": {"starts_at": now - 2 * day, "ends_at": now - day},
    }
    check_night()
    visitor.enter(alice)
    for word, fields in cases.items():
        Campaign.objects.update(**({"status": "live", "ends_at": None} | fields))
        for address in ("/campaigns/", f"/campaigns/{booking.campaign_id}/", "/bookings/"):
            visitor.go(address)
            expect(page.locator("main .badge", has_text=word).first).to_be_visible()
            expect(page.locator("main .badge.good")).to_have_count(0)
            expect(page.locator("main .badge", has_text="Live")).to_have_count(0)


def test_most_hops_are_kept_to_on_the_pages_of_booking_and_edge(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    page = visitor.page
    direct = Edge.objects.create(
        seller=booking.publisher,
        buyer=booking.campaign.advertiser,
        expression="true",
        fee_percent="50",
    )
    visitor.enter(alice)
    visitor.go(f"/bookings/{booking.pk}/")
    expect(page.locator(".path .hop")).to_have_count(2)
    visitor.go(f"/edges/{direct.pk}/")
    expect(page.locator("dt:has-text('On the path of') + dd")).to_have_text("no active booking")
    visitor.go(f"/bookings/{booking.pk}/edit/")
    page.fill("[name=hop_limit]", "1")
    page.click("text=Save booking")
    expect(page.locator(".path .hop")).to_have_count(1)
    visitor.go(f"/bookings/{booking.pk}/")
    expect(page.locator("main")).to_contain_text("the cheapest path, of at most 1 hop")
    visitor.go(f"/edges/{direct.pk}/")
    expect(page.locator("dt:has-text('On the path of') + dd")).to_contain_text("1 active booking")
    Edge.objects.filter(pk=direct.pk).update(is_active=False)
    visitor.go(f"/bookings/{booking.pk}/")
    expect(page.locator("main .message.warning")).to_contain_text("in at most 1 hop,")
    check_widths(visitor)


def test_the_editor_knows_own_names_and_tells_what_is_odd(
    visitor: Visitor, alice: User, booking: Booking, operator: Organisation
) -> None:
    page = visitor.page
    Audience.objects.create(organisation=operator, name="adults", expression="user.age >= 18")
    visitor.enter(alice)
    visitor.go(f"/campaigns/{booking.campaign_id}/edit/")
    page.click("[data-set-mode=text]")
    text, verdict = page.locator("[name=expression]"), page.locator(".verdict")
    text.fill("@adults and geo.country = 'Germany'")
    expect(verdict).to_have_text("Valid, with 1 thing to look at")
    expect(page.locator(".paper mark")).to_have_text("'Germany'")
    page.click(".hints >> text=Apply")
    expect(text).to_have_value("@adults and geo.country = 'DEU'")
    expect(verdict).to_have_text("✓ Valid")
    expect(page.locator(".sentence")).to_have_text("Visits in audience adults, from DEU.")
    text.fill("@adults and user.age < 10 and site.cat none of ('finance')")
    expect(page.locator(".hints li")).to_have_count(2)
    expect(page.locator(".hints")).to_contain_text("are never true together")
    # With its share where some test before has left a log of visits to count.
    excluded = re.compile("do not say site.cat (and )?are excluded")
    expect(page.locator(".hints")).to_contain_text(excluded)
    check_widths(visitor)
    text.fill("not (site.cat one of ('finance'))")
    expect(page.locator(".hints code").last).to_have_text(
        "(site.cat one of ('finance') and site.cat is present)"
    )
    cities = ValueList(name="cities", organisation=operator)
    save_value_list(value_list=cities, values=["Bern"], by=alice)
    text.fill("geo.city in $cities")
    expect(page.locator(".sentence")).to_have_text("Visits from the list cities.")
    text.fill("@children")
    expect(page.locator(".problems").first).to_contain_text("Unknown name @children.")

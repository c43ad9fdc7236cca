"""Stopping at a real browser: always possible, also what no longer compiles, or after a while."""

from __future__ import annotations

import pytest
from django.conf import settings
from playwright.sync_api import expect

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Edge, TestVisit
from exchange.snapshots.models import Quarantined
from tests.e2e.conftest import Visitor
from tests.e2e.test_trust import booking, check_widths

__all__ = ["booking"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

BROKEN = "shoe_size = 43"


def test_a_campaign_that_no_longer_compiles_is_paused_and_retired(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    campaign, page = booking.campaign, visitor.page
    TestVisit.objects.create(campaign=campaign, name="At noon", visit={})
    Campaign.objects.update(expression=BROKEN)
    page.on("dialog", lambda dialog: dialog.accept())
    visitor.enter(alice)
    visitor.go(f"/campaigns/{campaign.pk}/")
    alert = page.locator("main .message.error")
    expect(alert).to_contain_text("no longer compiles: line 1, column 1: unknown attribute")
    expect(alert.locator("code")).to_have_text("shoe_size")
    check_widths(visitor)
    page.click("text=Pause")
    expect(page.locator("#messages")).to_contain_text("Evening is now paused.")
    page.click("text=Go live")
    expect(page.locator("#messages")).to_contain_text("Not saved: the targeting no longer compiles")
    page.click("main >> text=Retire")
    expect(page.locator("#messages")).to_contain_text("Evening is retired.")
    expect(page.locator("main .badge").first).to_have_text("Ended")


def test_an_edge_that_no_longer_compiles_is_closed_and_leaves_quarantine(
    visitor: Visitor, bob: User, booking: Booking
) -> None:
    edge, page = Edge.objects.get(seller=booking.publisher), visitor.page
    Edge.objects.filter(pk=edge.pk).update(expression=BROKEN)
    Quarantined.objects.create(
        kind="edge", object_id=edge.pk, reason="unknown attribute `shoe_size`", has_good_form=True
    )
    visitor.enter(bob)
    visitor.go("/snapshots/")
    page.click("text=Daily Herald → Northgate")
    expect(page.locator("main .message.error")).to_contain_text("The rule no longer compiles")
    check_widths(visitor)
    page.click("main >> text=Edit")
    page.uncheck("[name=is_active]")
    page.click("text=Save edge")
    expect(page.locator("#messages")).to_contain_text("is saved")
    expect(page.locator("main .badge")).to_have_text("Switched off")
    visitor.go("/snapshots/")
    expect(page.locator("text=its last good form is served")).to_have_count(0)


def test_who_logs_in_again_to_stop_something_is_back_on_its_page(
    visitor: Visitor, alice: User, booking: Booking
) -> None:
    page, address = visitor.page, f"/campaigns/{booking.campaign_id}/"
    alice.set_password("a-long-evening")
    alice.save()
    visitor.enter(alice)
    visitor.go(address)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.click("text=Pause")
    page.fill("[name=username]", "alice")
    page.fill("[name=password]", "a-long-evening")
    page.click("main button[type=submit]")
    page.wait_for_url(f"{visitor.url}{address}")
    page.click("text=Pause")
    expect(page.locator("#messages")).to_contain_text("Evening is now paused.")

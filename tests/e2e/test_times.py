"""Moments in the time zone of whoever reads them, in a real browser."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Campaign, Party
from tests.conftest import TreelineServer
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_flight_is_read_in_ones_own_time_zone_and_set_in_utc(
    treeline_server: TreelineServer, chromium: Browser, alice: User, operator: Organisation
) -> None:
    soda = Party.objects.create(
        kind="advertiser", name="Soda", seller_id="soda", organisation=operator
    )
    campaign = Campaign.objects.create(
        advertiser=soda,
        name="Summer",
        expression="true",
        starts_at=datetime(2026, 7, 1, 2, 30, tzinfo=UTC),
    )
    for zone, own in (("America/New_York", "2026-06-30 22:30"), ("UTC", "2026-07-01 02:30")):
        context = chromium.new_context(timezone_id=zone)
        visitor = Visitor(context.new_page(), treeline_server.url)
        visitor.enter(alice)
        page = visitor.page
        visitor.go(f"/campaigns/{campaign.pk}/")
        starts = page.locator("dt:has-text('Starts') + dd time")
        expect(starts).to_have_text(own)
        expect(starts).to_have_attribute("title", "2026-07-01 02:30:00 UTC")
        visitor.go("/campaigns/")
        expect(page.locator("td[data-label=Flight] time").first).to_have_text(own[:10])
        visitor.go(f"/campaigns/{campaign.pk}/edit/")
        expect(page.locator("[name=starts_at]")).to_have_value("2026-07-01T02:30")
        hint = "" if zone == "UTC" else f"{own} in your time zone"
        expect(page.locator("[name=starts_at] + .help")).to_have_text(hint)
        assert visitor.complaints == []
        context.close()


def test_without_a_script_moments_are_in_utc(
    treeline_server: TreelineServer, chromium: Browser, alice: User, operator: Organisation
) -> None:
    soda = Party.objects.create(
        kind="advertiser", name="Soda", seller_id="soda", organisation=operator
    )
    campaign = Campaign.objects.create(
        advertiser=soda,
        name="Summer",
        expression="true",
        starts_at=datetime(2026, 7, 1, 2, 30, tzinfo=UTC),
    )
    context = chromium.new_context(timezone_id="America/New_York", java_script_enabled=False)
    visitor = Visitor(context.new_page(), treeline_server.url)
    visitor.enter(alice)
    visitor.go(f"/campaigns/{campaign.pk}/")
    starts = visitor.page.locator("dt:has-text('Starts') + dd time")
    expect(starts).to_have_text("2026-07-01 02:30 UTC")
    context.close()

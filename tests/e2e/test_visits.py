"""Try a visit at a real browser: what is saved and what is served, side by side."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import User
from exchange.market.models import Booking
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.services import run_build
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.usefixtures("demo")
def test_a_change_that_is_not_live_is_said_in_every_window(visitor: Visitor) -> None:
    assert run_build(build_id=request_build().pk)
    booking = Booking.objects.active().filter(campaign__status="live").latest("pk")
    booking.campaign.expression = "true"
    booking.campaign.save()
    visitor.enter(User.objects.get(username="admin"))
    visitor.go(f"/visits/?campaign={booking.campaign_id}")
    page = visitor.page
    page.fill("#id_visit", json.dumps({"geo": {"country": "USA"}, "device": {"type": "phone"}}))
    page.click("#visit-form button[type=submit]")
    goes_live = re.compile(r"live with change \d+")
    expect(page.locator("#waiting")).to_contain_text(goes_live)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 850})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#waiting >> text=See what is waiting")
    expect(page.locator("#waiting")).to_contain_text(goes_live)

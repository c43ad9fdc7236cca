"""Every page in a real browser: quiet console, policy kept, nothing wider than the window."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Booking, Campaign, Edge, Party
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

WIDTHS = [1280, 390]


def addresses() -> list[str]:
    party, edge = Party.objects.latest("pk"), Edge.objects.latest("pk")
    campaign, booking = Campaign.objects.latest("pk"), Booking.objects.latest("pk")
    return [
        "/",
        "/parties/",
        f"/parties/{party.pk}/",
        f"/parties/{party.pk}/edit/",
        "/edges/",
        f"/edges/{edge.pk}/",
        f"/edges/{edge.pk}/edit/",
        "/campaigns/",
        f"/campaigns/{campaign.pk}/",
        f"/campaigns/{campaign.pk}/bookings/",
        f"/campaigns/{campaign.pk}/tests/",
        f"/campaigns/{campaign.pk}/history/",
        f"/campaigns/{campaign.pk}/api/",
        f"/campaigns/{campaign.pk}/edit/",
        "/bookings/",
        f"/bookings/{booking.pk}/",
        "/bookings/new/",
        f"/visits/?campaign={campaign.pk}",
        "/snapshots/",
        "/reports/",
        "/reports/eligible-visits/",
        "/reports/runs/",
        "/reports/why-figures-differ/",
        "/graph/",
        "/graph/groups/",
        f"/graph/parties/{party.pk}/",
    ]


@pytest.mark.usefixtures("demo")
def test_every_page_is_quiet_and_fits_the_window(visitor: Visitor) -> None:
    visitor.enter(User.objects.get(username="admin"))
    for address in addresses():
        for width in WIDTHS:
            visitor.page.set_viewport_size({"width": width, "height": 850})
            visitor.go(address)
            found = visitor.page.evaluate("document.documentElement.scrollWidth")
            assert found <= width, f"{address} is {found} px wide in a window of {width}"
    assert visitor.complaints == []


def test_menu_and_search_work_in_a_narrow_window(
    visitor: Visitor, dave: User, operator: Organisation
) -> None:
    for name in ("Daily Herald", "Trail Magazine"):
        seller_id = name.lower().replace(" ", "-")
        Party.objects.create(
            kind="publisher", name=name, seller_id=seller_id, organisation=operator
        )
    page = visitor.page
    page.set_viewport_size({"width": 390, "height": 850})
    visitor.enter(dave)
    visitor.go("/")
    assert not page.is_visible("nav >> text=Parties")
    page.click("text=Menu")
    page.click("nav >> text=Parties")
    expect(page.locator("#list tbody tr")).to_have_count(2)
    page.fill("[name=q]", "trail")
    expect(page.locator("#list tbody tr")).to_have_text([re.compile("Trail Magazine")])
    expect(page).to_have_url(f"{visitor.url}/parties/?q=trail&kind=")
    page.go_back()
    expect(page.locator("#list tbody tr")).to_have_count(2)


def test_a_double_click_sends_a_form_once(
    visitor: Visitor, alice: User, operator: Organisation
) -> None:
    soda = Party.objects.create(
        kind="advertiser", name="Solberg Soda", seller_id="soda", organisation=operator
    )
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    visitor.page.fill("[name=name]", "Winter")
    visitor.page.select_option("[name=advertiser]", str(soda.pk))
    visitor.write("true")
    sent: list[str] = []
    visitor.page.on("request", lambda asked: sent.append(f"{asked.method} {asked.url}"))
    visitor.page.dblclick("form[data-guard] button[type=submit]")
    expect(visitor.page.get_by_text("Winter is saved.")).to_be_visible()
    assert sent.count(f"POST {visitor.url}/campaigns/new/") == 1
    assert visitor.complaints == []

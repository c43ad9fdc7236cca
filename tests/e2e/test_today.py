"""Today in a real browser: somebody closes an edge, others read what it costs, and it is undone."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from exchange.findings.models import BookingFinding
from exchange.findings.services import check_all
from exchange.market.models import Booking, Campaign, Edge, Party
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def book_over(edge: Edge) -> Booking:
    """Books at the demo's first publisher, whose only path leads over the edge."""
    campaign = Campaign.objects.create(
        advertiser=edge.buyer, name="Snow boots", expression="true", status="live"
    )
    publisher = Party.objects.publishers().order_by("pk")[0]
    first = Edge.objects.create(seller=publisher, buyer=edge.seller)
    return Booking.objects.create(
        campaign=campaign,
        publisher=publisher,
        policy="pinned",
        pinned_edges=[first.pk, edge.pk],
    )


@pytest.mark.usefixtures("demo")
def test_an_operator_reads_what_a_closed_edge_stops_and_goes_back(visitor: Visitor) -> None:
    edge = Edge.objects.active().with_parties().filter(buyer__kind="advertiser").latest("pk")
    booking = book_over(edge)
    page = visitor.page
    visitor.log_in("operator")
    visitor.go(reverse("edge-edit", args=[edge.pk]))
    page.uncheck("[name=is_active]")
    page.click("main form button[type=submit] >> nth=0")
    expect(page.locator("#messages")).to_contain_text("is saved")
    check_all()
    visitor.go("/")
    row = page.locator(".causes > li", has_text=f"stopped by {edge}")
    expect(row).to_contain_text("switched off")
    expect(row).to_contain_text("Operator")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.once("dialog", lambda dialog: dialog.accept())
    row.locator("button", has_text="Revert").click()
    expect(page.locator("#messages")).to_contain_text("is back as it was in version 1")
    check_all()
    assert not BookingFinding.objects.filter(booking=booking, kind="broken_path").exists()
    visitor.go("/")
    expect(page.locator("h1")).to_have_text("Today")
    expect(page.locator(".causes", has_text=f"stopped by {edge}")).to_have_count(0)

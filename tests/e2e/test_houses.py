"""People who trade, and people who keep a list, at a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import User
from exchange.market.models import ValueList
from exchange.market.services import save_value_list
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.usefixtures("demo")
def test_a_publisher_and_an_advertiser_find_their_own_side(visitor: Visitor) -> None:
    page = visitor.page
    visitor.log_in("publisher")
    expect(page.locator("h2", has_text="What your edges let pass")).to_be_visible()
    expect(page.locator("#menu a", has_text="Campaigns")).to_have_count(0)
    expect(page.locator("text=Create the first campaign")).to_have_count(0)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 850})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 850})
    visitor.log_out()
    visitor.log_in("advertiser")
    expect(page.locator("h2", has_text="Your campaigns")).to_be_visible()
    page.click("main table a >> nth=0")
    expect(page.locator("h2", has_text="Targeting")).to_be_visible()
    # The total of a path over others' edges would tell their fees.
    expect(page.locator("text=net CPM")).to_have_count(0)


def test_a_list_is_kept_without_pasting_it_again(visitor: Visitor, alice: User) -> None:
    cities = ValueList(name="cities", organisation=alice.organisation)
    save_value_list(value_list=cities, values=["Bern", "Oslo", "Rome"], by=alice)
    visitor.enter(alice)
    page = visitor.page
    visitor.go(f"/lists/{cities.pk}/")
    page.fill("#change-values textarea", "Paris\nOslo, Lyon")
    page.click("#change-values [value=add]")
    expect(page.locator("#messages")).to_contain_text("2 added, 0 removed, 1 duplicate")
    page.fill("#values-q", "o")
    page.click("form[role=search] button")
    expect(page.locator(".chips li")).to_have_count(3)
    page.click("[aria-label='Remove Oslo']")
    expect(page.locator("#messages")).to_contain_text("0 added, 1 removed")
    expect(page.locator(".chips li")).to_have_count(2)
    visitor.go(f"/lists/{cities.pk}/history/")
    expect(page.locator(".past li").first).to_contain_text("Removed Oslo")

"""People who trade, and people who keep a list, at a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import ValueList
from exchange.market.services import save_value_list
from tests.e2e.conftest import Visitor
from tests.people import hire

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
    page.click(".tabs >> text=Bookings")
    # The total of a path over others' edges would tell their fees.
    expect(page.locator("article", has_text="net CPM")).to_have_count(0)
    page.click("article h3 a >> nth=0")
    expect(page.locator(".path .arrow").first).to_have_text("fee not shown")
    expect(page.locator("dt:has-text('Bid') + dd")).to_contain_text("is not shown")
    visitor.go("/visits/")
    expect(page.locator("[name=publisher] option")).not_to_have_count(1)


def test_a_shared_list_does_not_name_the_people_of_the_exchange(
    visitor: Visitor, alice: User
) -> None:
    cities = ValueList(name="cities", organisation=alice.organisation)
    save_value_list(value_list=cities, values=["Bern"], by=alice)
    save_value_list(value_list=cities, values=["Oslo"], by=alice)
    others = Organisation.objects.create(name="Solberg")
    visitor.enter(hire("sally", Role.CAMPAIGN_MANAGER, others))
    for address in ("", "history/"):
        visitor.go(f"/lists/{cities.pk}/{address}")
        main = visitor.page.locator("main")
        expect(main).to_contain_text("someone of another organisation")
        expect(main).not_to_contain_text("alice")


def test_a_list_is_kept_without_pasting_it_again(visitor: Visitor, alice: User) -> None:
    cities = ValueList(name="cities", organisation=alice.organisation)
    save_value_list(value_list=cities, values=["Bern", "Oslo", "Rome"], by=alice)
    visitor.enter(alice)
    page = visitor.page
    visitor.go(f"/lists/{cities.pk}/")
    page.fill("#change-values textarea", "Paris\nOslo, Lyon")
    page.click("#change-values [value=add]")
    expect(page.locator("#messages")).to_have_text("$cities: 2 added, 0 removed, 1 duplicate.")
    expect(page.locator("#change-values textarea")).to_have_value("")
    page.fill("#change-values textarea", '"Lima')
    page.click("#change-values [value=add]")
    expect(page.locator("#change-values .errors")).to_contain_text("a quote that does not end it")
    page.fill("#values-q", "o")
    page.click("form[role=search] button")
    expect(page.locator(".chips li")).to_have_count(3)
    page.click("[aria-label='Remove Oslo']")
    expect(page.locator("#messages")).to_contain_text("0 added, 1 removed")
    expect(page.locator(".chips li")).to_have_count(2)
    visitor.go(f"/lists/{cities.pk}/history/")
    expect(page.locator(".past li").first).to_contain_text("Removed Oslo")
    visitor.go(f"/lists/{cities.pk}/edit/")
    page.fill("textarea[name=text]", "Bern\nLyon\nOslo\nRome")
    page.click("text=What would change?")
    difference = page.locator(".message.info", has_text="removed")
    expect(difference).to_contain_text("1 added, 1 removed.")
    expect(difference).to_contain_text("New: Oslo")
    expect(difference).to_contain_text("Gone: Paris")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 850})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.usefixtures("demo")
def test_a_list_that_was_imported_says_so(visitor: Visitor) -> None:
    visitor.log_in("manager")
    cities = ValueList.objects.get(name="large_cities")
    visitor.go(f"/lists/{cities.pk}/")
    expect(visitor.page.locator("td[data-label=By]")).to_have_text("import")
    visitor.go(f"/lists/{cities.pk}/history/")
    expect(visitor.page.locator(".past li").last).to_contain_text("ago · import")

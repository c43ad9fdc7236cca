"""People who come to the exchange, and people who forgot their password, at a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import Organisation, Role, User
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

# What the browser notes about a link that has ended.
NOT_FOUND = "status of 404"


def log_out(visitor: Visitor) -> None:
    visitor.page.context.clear_cookies()


def read_link(visitor: Visitor) -> str:
    return visitor.page.get_by_label("Link", exact=True).input_value()


def choose(visitor: Visitor, link: str, password: str) -> None:
    visitor.page.goto(link)
    visitor.page.get_by_label("Password", exact=True).fill(password)
    visitor.page.get_by_label("The same again").fill(password)
    visitor.page.get_by_role("button", name="Set the password").click()


def log_in(visitor: Visitor, name: str, password: str) -> None:
    visitor.page.get_by_label("Login name").fill(name)
    visitor.page.get_by_label("Password").fill(password)
    visitor.page.get_by_role("button", name="Log in").click()


def test_an_operator_adds_an_organisation_and_its_administrator_comes_in(
    visitor: Visitor, erin: User
) -> None:
    page = visitor.page
    visitor.enter(erin)
    visitor.go("/people/")
    page.get_by_role("link", name="Organisations").click()
    page.get_by_role("link", name="New organisation").click()
    page.get_by_label("Name", exact=True).fill("Gazette Group")
    page.get_by_role("button", name="Add organisation").click()
    chosen = page.get_by_label("Organisation").locator("option:checked")
    expect(chosen).to_have_text("Gazette Group")
    page.get_by_label("Login name").fill("greta")
    page.get_by_label("Role").select_option("admin")
    page.get_by_role("button", name="Make the link").click()
    link = read_link(visitor)
    log_out(visitor)
    choose(visitor, link, "short")
    expect(page.get_by_text("too short")).to_be_visible()
    choose(visitor, link, "quiet-otter-39")
    expect(page.get_by_text("Log in as greta")).to_be_visible()
    log_in(visitor, "greta", "quiet-otter-39")
    expect(page.get_by_role("link", name="People")).to_be_visible()
    greta = User.objects.get(username="greta")
    assert greta.organisation == Organisation.objects.get(name="Gazette Group")
    assert greta.role == Role.ADMIN
    visitor.go("/organisations/")
    expect(page.get_by_text("Your role may not change organisations")).to_be_visible()
    visitor.complaints = [each for each in visitor.complaints if "status of 403" not in each]


def test_a_link_for_another_password_ends_the_old_one_and_works_once(
    visitor: Visitor, erin: User, dave: User
) -> None:
    dave.set_password("the-old-one-39")
    dave.save()
    page = visitor.page
    visitor.enter(erin)
    visitor.go("/people/")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="New password for dave").click()
    link = read_link(visitor)
    log_out(visitor)
    visitor.go("/login/")
    log_in(visitor, "dave", "the-old-one-39")
    expect(page.get_by_role("alert")).to_be_visible()
    choose(visitor, link, "quiet-otter-39")
    log_in(visitor, "dave", "quiet-otter-39")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    log_out(visitor)
    page.goto(link)
    expect(page.get_by_text("This link leads nowhere")).to_be_visible()
    visitor.complaints = [each for each in visitor.complaints if NOT_FOUND not in each]


def test_the_pages_fit_a_narrow_window(visitor: Visitor, erin: User) -> None:
    visitor.enter(erin)
    for width in (1280, 390):
        visitor.page.set_viewport_size({"width": width, "height": 850})
        for address in ("/organisations/", "/organisations/new/", "/people/new/"):
            visitor.go(address)
            found = visitor.page.evaluate("document.documentElement.scrollWidth")
            assert found <= width, f"{address} is {found} px wide in a window of {width}"

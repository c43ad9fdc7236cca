"""The expression editor in a real browser: marks at their place, nothing lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Party
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture
def editor(visitor: Visitor, alice: User, operator: Organisation) -> Page:
    """Opens the form of a new campaign as Alice."""
    Party.objects.create(
        kind="advertiser", name="Solberg Soda", seller_id="soda", organisation=operator
    )
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    visitor.page.click("[data-set-mode=text]")
    return visitor.page


def test_shows_problems_at_their_words_and_how_it_reads_the_text(editor: Page) -> None:
    text, mark = editor.locator("[name=expression]"), editor.locator(".paper mark")
    text.fill("site.page contains '🦊' and geo.contry = 'USA'")
    expect(mark).to_have_text("geo.contry")
    text.press("Home")
    editor.keyboard.type("user.consent && ")
    expect(mark).to_have_text("geo.contry")
    editor.click("text=Apply")
    expect(text).to_have_value("user.consent && site.page contains '🦊' and geo.country = 'USA'")
    expect(editor.locator(".verdict")).to_have_text("✓ Valid")
    editor.click("text=How the exchange reads it")
    expect(editor.locator(".canonical code")).to_contain_text("user.consent\nand site.page")
    text.press("Control+z")
    expect(mark).to_have_text("geo.contry")
    check_that_lines_break_alike(editor)


def check_that_lines_break_alike(editor: Page) -> None:
    """Checks that lines break alike, or the marks would sit beside their words."""
    values = ", ".join(f"'value-{number}'" for number in range(400))
    editor.fill("[name=expression]", f"user.segments one of ({values})\n\n  and true\n")
    heights = editor.evaluate(
        "['.editor textarea', '.paper'].map(it => document.querySelector(it).scrollHeight)"
    )
    assert heights[0] == heights[1]
    editor.evaluate("document.querySelector('.editor textarea').scrollTop = 200")
    expect(editor.locator(".paper")).to_have_js_property("scrollTop", 200)


def test_what_was_typed_survives_the_end_of_a_session(
    editor: Page, visitor: Visitor, alice: User
) -> None:
    editor.fill("[name=name]", "Long work")
    editor.select_option("[name=advertiser]", label="Solberg Soda")
    editor.fill("[name=expression]", "geo.country = 'USA'")
    expect(editor.locator(".verdict")).to_have_text("✓ Valid")
    editor.context.clear_cookies(name="sessionid")
    editor.click("text=Save campaign")
    editor.wait_for_url("**/login/?next=/campaigns/new/")
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    expect(editor.locator("[name=name]")).to_have_value("Long work")
    expect(editor.locator("[name=expression]")).to_have_value("geo.country = 'USA'")
    expect(editor.locator("[name=advertiser] option:checked")).to_have_text("Solberg Soda")
    editor.click("text=Save campaign")
    expect(editor.locator("h1")).to_have_text("Long work")
    visitor.go("/campaigns/new/")
    expect(editor.locator("[name=name]")).to_have_value("")


def test_errors_have_their_place_without_a_script(
    editor: Page, visitor: Visitor, chromium: Browser
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    context.add_cookies(editor.context.cookies())  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{visitor.url}/campaigns/new/")
    page.fill("[name=name]", "Plain")
    page.select_option("[name=advertiser]", label="Solberg Soda")
    page.fill("[name=expression]", "geo.contry = 'USA'")
    page.click("text=Save campaign")
    expect(page.locator(".problems li")).to_contain_text("1:1")
    expect(page.locator("[name=expression]")).to_have_value("geo.contry = 'USA'")
    context.close()

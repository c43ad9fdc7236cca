"""The builder in a real browser: what can be done to rows; the same form without loss in text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Audience, Campaign, Edge, Party
from tests.e2e.building import (
    Builder,
    check_accessible,
    write_traffic,
)
from tests.e2e.conftest import Visitor
from tests.market.places import found

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PAGE_BYTES = 300_000  # uncompressed, the vocabulary included
ROWS = (
    "device.type in ('phone') and geo.city in ('Berlin')"
    " and (user.consent or regs.gdpr = false) and imp.floor <= 2"
)


@pytest.fixture(autouse=True)
def _traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_traffic(tmp_path, monkeypatch)


@pytest.fixture
def soda(transactional_db: None, operator: Organisation) -> Party:
    return found(Party.Kind.ADVERTISER, "Solberg Soda", operator)


@pytest.fixture
def builder(visitor: Visitor, alice: User, soda: Party) -> Builder:
    """Opens the form of a new campaign as Alice."""
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    visitor.page.fill("[name=name]", "Autumn")
    visitor.page.select_option("[name=advertiser]", label="Solberg Soda")
    return Builder(visitor.page)


def press(builder: Builder, name: str, key: str) -> Locator:
    builder.row(name).locator(".handle").first.focus()
    builder.page.keyboard.press(key)
    return builder.said


def test_rows_are_moved_wrapped_disabled_and_brought_back(builder: Builder) -> None:
    phone, city, group, floor = (
        "device.type in ('phone')",
        "geo.city in ('Berlin')",
        "(user.consent or regs.gdpr = false)",
        "imp.floor <= 2",
    )
    builder.write(ROWS)
    expect(press(builder, "geo.city", "Alt+ArrowDown")).to_have_text("Moved into Any of, 1 of 3")
    assert builder.text() == f"{phone}\nand ({city} or {group[1:]}\nand {floor}"
    expect(press(builder, "geo.city", "Alt+ArrowLeft")).to_have_text("Lifted into All of, 3 of 4")
    expect(press(builder, "geo.city", "Alt+ArrowUp")).to_have_text("Moved into Any of, 3 of 3")
    builder.page.keyboard.press("Control+z")
    expect(builder.said).to_have_text("Undone: Moved into Any of, 3 of 3")
    expect(press(builder, "imp.floor", "Control+d")).to_have_text(re.compile("^Duplicated"))
    assert builder.text().count("imp.floor") == 2
    builder.page.keyboard.press("Delete")
    assert builder.text().count("imp.floor") == 1
    expect(press(builder, "geo.city", "Control+/")).to_have_text("Disabled")
    assert f"#- {city}\nand {floor}" in builder.text()
    check_accessible(builder.page)
    builder.page.get_by_role("button", name="Enable").click()
    expect(builder.row("geo.city")).to_be_visible()
    assert builder.text().replace("\n", " ") == f"{phone} and {group} and {city} and {floor}"
    builder.row("geo.city").locator(".handle").drag_to(
        builder.row("device.type"), target_position={"x": 60, "y": 3}
    )
    assert builder.text().replace("\n", " ") == f"{city} and {phone} and {group} and {floor}"


def test_the_menu_negates_comments_collapses_and_includes_what_is_missing(builder: Builder) -> None:
    page = builder.page
    builder.write("geo.city in ('Berlin') and user.consent")
    row = builder.row("geo.city")
    row.get_by_role("button", name="Actions").click()
    check_accessible(page)
    page.get_by_role("menuitem", name="Negate").click()
    expect(row).to_contain_text("25 % of visits do not say geo.city and are excluded.")
    page.get_by_role("button", name="Include them").click()
    assert builder.text() == "(geo.city not in ('Berlin') or geo.city is missing) and user.consent"
    row.get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Comment").click()
    page.keyboard.type("as agreed")
    page.keyboard.press("Tab")
    assert builder.text().startswith("# as agreed\n(geo.city not in")
    collapse_a_group(builder)


def collapse_a_group(builder: Builder) -> None:
    page = builder.page
    builder.write("user.consent and (geo.city in ('Berlin') or device.type in ('phone'))")
    text, group = builder.text(), page.locator(".group .group")
    group.locator("> .rail > .head-line").get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Collapse").click()
    expect(builder.row("geo.city")).to_be_hidden()
    expect(group).to_contain_text("Any of 2: geo.city, device.type")
    check_accessible(page)
    page.keyboard.press("Enter")  # the focus is on Expand
    expect(builder.row("geo.city")).to_be_visible()
    assert builder.text() == text


def test_findings_stand_at_their_rows_and_are_corrected_there(builder: Builder) -> None:
    builder.write("geo.country in ('DE', 'FRA') and user.age > 30 and user.age < 20")
    for index in range(2):
        row = builder.tree.locator(".row", has_text="never true together").nth(index)
        expect(row.get_by_label("Attribute").first).to_have_value("user.age")
    check_accessible(builder.page)
    builder.page.get_by_role("button", name="Correct 1").click()
    assert builder.text().startswith("geo.country in ('DEU', 'FRA')")
    expect(builder.row("geo.country").locator(".finding")).to_have_count(0)


def test_an_unfinished_row_is_not_saved_without_a_word(builder: Builder) -> None:
    builder.write("user.consent")
    builder.tree.get_by_text("+ Condition").first.click()
    builder.choose("geo.city", "geo.city")
    expect(builder.page.locator("[data-unfinished]")).to_contain_text("1 unfinished condition")
    builder.page.get_by_role("button", name="Save campaign").click()
    expect(builder.said).to_have_text("Not saved: a condition is unfinished. Finish or delete it.")
    expect(builder.page.locator("[data-unfinished]")).to_contain_text("Not saved")
    expect(builder.page.locator(":focus")).to_have_attribute("aria-label", "Add to geo.city")
    assert not Campaign.objects.exists()


def test_while_the_text_is_wrong_the_builder_shows_the_last_valid_version(
    builder: Builder,
) -> None:
    page = builder.page
    builder.write("geo.country in ('DEU')")
    page.click("[data-set-mode=both]")
    page.locator("[name=expression]").fill("geo.country in ('DEU'")
    expect(builder.tree).to_have_class(re.compile("stale"))
    expect(page.locator("[data-stale]")).to_be_visible()
    expect(builder.tree.locator(".row")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(page.locator("[data-stale]")).to_be_hidden()
    assert builder.text() == "geo.country in ('DEU')"


def test_the_page_with_all_its_assets_is_small(visitor: Visitor, alice: User, soda: Party) -> None:
    sizes: list[int] = []
    visitor.enter(alice)
    visitor.page.on("response", lambda response: sizes.append(len(response.body())))
    visitor.go("/campaigns/new/")
    Builder(visitor.page)
    visitor.page.wait_for_load_state("networkidle")
    assert len(sizes) > 30
    assert sum(sizes) < PAGE_BYTES


@pytest.mark.parametrize("kind", ["edge", "audience"])
def test_edges_and_audiences_are_built_alike(
    visitor: Visitor, bob: User, soda: Party, operator: Organisation, kind: str
) -> None:
    seller = found(Party.Kind.PUBLISHER, "Daily Herald", operator)
    thing = (
        Edge.objects.create(seller=seller, buyer=soda, expression="user.consent")
        if kind == "edge"
        else Audience.objects.create(organisation=operator, name="fans", expression="user.consent")
    )
    visitor.enter(bob)
    visitor.go(f"/{kind}s/{thing.pk}/edit/")
    builder = Builder(visitor.page)
    builder.tree.get_by_text("+ Condition").first.click()
    builder.choose("device.type", "device.type")
    builder.row("device.type").get_by_label("phone").check()
    assert builder.text() == "user.consent and device.type in ('phone')"
    visitor.page.get_by_role("button", name=f"Save {kind}").click()
    visitor.page.wait_for_url(f"**/{kind}s/{thing.pk}/")
    thing.refresh_from_db()
    assert thing.expression == "user.consent and device.type in ('phone')"

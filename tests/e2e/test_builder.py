"""The builder in a real browser: a newcomer's targeting, by mouse and by keys alone, undone and
redone; what can be done to rows; the same form without loss in text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Audience, Campaign, Edge, Party
from tests.e2e.building import (
    CITIES,
    Builder,
    check_accessible,
    paste,
    write_traffic,
)
from tests.e2e.conftest import Visitor
from tests.market.places import found

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PAGE_BYTES = 300_000  # uncompressed, the vocabulary included
PASTED = "\n".join(CITIES) + "\n'Berlin'\nParis;Rome"
WANTED = (
    "device.type in ('phone') and (geo.city in ("
    + ", ".join(f"'{city}'" for city in CITIES)
    + ") or geo.location within 25 km of (52.52, 13.405))"
    " and local_time during 'Mon-Fri 17:00-23:00'"
    " and user.segments none of ('pulse:travel', 'loom:parents')"
    " and (site.page_cat one of ('IAB1') or site.page_cat is missing)"
)
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
    """Alice at the form of a new campaign."""
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    visitor.page.fill("[name=name]", "Autumn")
    visitor.page.select_option("[name=advertiser]", label="Solberg Soda")
    return Builder(visitor.page)


def build_by_mouse(builder: Builder) -> None:
    page = builder.page
    top = builder.tree.locator("> .group > .rail > .adders")
    top.get_by_text("+ Condition").click()
    builder.choose("device.ty", "device.type")
    builder.row("device.type").get_by_label("phone").check()
    top.get_by_text("+ Group").click()
    builder.choose("city", "geo.city")
    builder.row("geo.city").get_by_role("combobox", name="Add to").click()
    paste(page, PASTED)
    expect(builder.row("geo.city")).to_contain_text("40 added, 3 duplicates")
    page.locator(".group .group").get_by_text("+ Condition").click()
    builder.choose("location", "geo.location")
    builder.pick(
        builder.row("geo.location").get_by_role("combobox", name="Place"), "Berl", "Berlin"
    )
    top.get_by_text("+ Condition").click()
    builder.choose("local", "local_time")
    builder.row("local_time").get_by_role("button", name="Weekday evenings").click()
    top.get_by_text("+ Condition").click()
    builder.choose("user.seg", "user.segments")
    builder.row("user.segments").get_by_label("Operator").select_option("has none of")
    for name in ("pulse:travel", "loom:parents"):
        builder.pick(
            builder.row("user.segments").get_by_role("combobox", name="Add to"), name, name
        )
    top.get_by_text("+ Condition").click()
    builder.choose("page_cat", "site.page_cat")
    box = builder.row("site.page_cat").get_by_role("combobox", name="Add to")
    box.fill("IAB1")
    box.press("Enter")
    builder.row("site.page_cat").get_by_label("also when missing").check()


def build_by_keys(builder: Builder) -> None:
    keys = builder.page.keyboard
    builder.page.locator("[name=labels]").focus()
    builder.tab_to("add-test")
    keys.press("Enter")
    builder.type_attribute("device.type")
    keys.press("Space")  # the first box is phone
    keys.press("Control+Enter")
    builder.type_attribute("geo.city")
    paste(builder.page, PASTED)
    keys.press("Alt+ArrowRight")
    expect(builder.said).to_have_text("Wrapped in Any of, 1 of 1")
    keys.press("Control+Enter")
    builder.type_attribute("geo.location")
    for part in ("25", "Berlin"):
        keys.type(part)
        keys.press("Tab")
    keys.press("Control+Enter")  # beside it, in the group: then out of it
    builder.type_attribute("local_time")
    keys.press("Alt+ArrowLeft")
    expect(builder.said).to_have_text("Lifted into All of, 3 of 3")
    builder.tab_to("grid")
    paint_evenings(builder.page)
    keys.press("Control+Enter")
    builder.type_attribute("user.segments")
    builder.tab_to("operator", "Shift+Tab")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    builder.tab_to("value")
    for name in ("pulse:travel", "loom:parents"):
        keys.type(name)
        keys.press("Enter")
    keys.press("Control+Enter")
    builder.type_attribute("site.page_cat")
    keys.type("IAB1")
    keys.press("Enter")
    builder.tab_to("missing", "Shift+Tab")
    keys.press("Space")


def paint_evenings(page: Page) -> None:
    """Monday to Friday, from 17 to 23, to and fro with Shift and arrows."""
    for _ in range(17):
        page.keyboard.press("ArrowRight")
    for day in range(5):
        for _ in range(5):
            page.keyboard.press("Shift+ArrowRight" if day % 2 == 0 else "Shift+ArrowLeft")
        if day < 4:
            page.keyboard.press("ArrowDown")


def undo_and_redo_everything(builder: Builder) -> None:
    text, steps = builder.text(), 0
    while builder.page.locator("[data-undo]").is_enabled():
        builder.page.keyboard.press("Control+z")
        steps += 1
    assert builder.text() == ""
    expect(builder.tree.locator(".row")).to_have_count(0)
    for _ in range(steps):
        builder.page.keyboard.press("Control+Shift+Z")
    assert builder.text() == text


@pytest.mark.parametrize("build", [build_by_mouse, build_by_keys])
def test_a_newcomer_builds_a_targeting_without_typing_syntax(
    builder: Builder, build: Callable[[Builder], None]
) -> None:
    build(builder)
    assert " ".join(builder.text().split()).replace("( ", "(").replace(" )", ")") == WANTED
    expect(builder.row("geo.city")).to_contain_text("2 of 40 values of geo.city were never seen")
    expect(builder.page.locator(".sentence")).to_contain_text(
        "Visits on phone, (from Berlin, Hamburg"
    )
    undo_and_redo_everything(builder)
    check_accessible(builder.page)
    builder.page.keyboard.press("Escape")
    builder.page.get_by_role("button", name="Save campaign").click()
    expect(builder.page.locator("h1")).to_have_text("Autumn")
    saved = " ".join(Campaign.objects.get(name="Autumn").expression.split())
    assert saved.replace("( ", "(").replace(" )", ")") == WANTED


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


def test_the_menu_negates_comments_and_includes_what_is_missing(builder: Builder) -> None:
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
    expect(builder.page.locator(":focus")).to_have_attribute("aria-label", "Attribute")
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

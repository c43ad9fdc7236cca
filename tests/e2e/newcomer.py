"""What a newcomer does in the builder, by mouse and by keys alone."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.building import CITIES, Builder, paste

PASTED = "\n".join(CITIES) + "\n'Berlin'\nParis;Rome"
WANTED = (
    "device.type in ('phone') and (geo.city in ("
    + ", ".join(f"'{city}'" for city in CITIES)
    + ") or geo.location within 25 km of (52.52, 13.405))"
    " and local_time during 'Mon-Fri 17:00-23:00'"
    " and user.segments none of ('pulse:travel', 'loom:parents')"
    " and (site.page_cat one of ('IAB1') or site.page_cat is missing)"
)


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
    """Paints Monday to Friday, from 17 to 23, to and fro with Shift and arrows."""
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

"""Each widget of the builder by itself, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Party, ValueList
from tests.e2e.building import CITIES, Builder, check_accessible, paste, write_traffic
from tests.e2e.conftest import Visitor
from tests.market.places import found

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_traffic(tmp_path, monkeypatch)


@pytest.fixture
def builder(
    visitor: Visitor, transactional_db: None, alice: User, operator: Organisation
) -> Builder:
    found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    builder = Builder(visitor.page)
    builder.tree.get_by_text("+ Condition").click()
    return builder


def test_chips_take_what_is_typed_picked_and_pasted(builder: Builder) -> None:
    page = builder.page
    builder.choose("geo.city", "geo.city")
    row = builder.row("geo.city")
    box = row.get_by_role("combobox", name="Add to")
    builder.pick(box, "ber", "Berlin")
    box.fill("Gotham, Bern")
    box.press("Enter")
    assert builder.text() == "geo.city in ('Berlin', 'Gotham', 'Bern')"
    paste(page, "\n".join(CITIES[:10]))
    expect(row).to_contain_text("9 added, 1 duplicate")
    expect(row.locator(".chips > li")).to_have_count(9)
    row.get_by_role("button", name="+4").click()
    expect(row.locator(".chips > li")).to_have_count(13)
    box.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")  # the last chip, before "Fewer"
    assert "'Graz'" in builder.text()
    assert "'Geneva'" not in builder.text()
    page.keyboard.press("Backspace")
    assert "'Zurich'" not in builder.text()
    check_accessible(page)


def test_over_two_hundred_values_are_kept_as_a_list(
    builder: Builder, operator: Organisation
) -> None:
    builder.choose("geo.city", "geo.city")
    row = builder.row("geo.city")
    row.get_by_role("combobox", name="Add to").focus()
    paste(builder.page, "\n".join(f"town {number}" for number in range(201)))
    row.get_by_label("Name of the list").fill("towns")
    row.get_by_role("button", name="Keep as a list").click()
    expect(row.locator(".chips .name")).to_contain_text("$towns")
    assert builder.text() == "geo.city in $towns"
    assert ValueList.objects.get(name="towns").value_count == 201


def test_a_closed_domain_is_boxes_to_tick(builder: Builder) -> None:
    builder.choose("device.type", "device.type")
    row = builder.row("device.type")
    row.get_by_label("ctv").check()
    row.get_by_label("phone").check()
    row.get_by_label("ctv").uncheck()
    row.get_by_label("tablet").check()
    assert builder.text() == "device.type in ('phone', 'tablet')"
    row.get_by_label("Operator").select_option("is not")
    expect(row.get_by_label("Value")).to_contain_text("phone")
    assert builder.text() == "device.type != 'phone'"


def test_numbers_are_between_two_fields(builder: Builder) -> None:
    builder.choose("user.age", "user.age")
    row = builder.row("user.age")
    row.get_by_label("Value").fill("18")
    assert builder.text() == "user.age >= 18"
    row.get_by_label("Operator").select_option("is between")
    assert builder.text() == ""
    row.get_by_label("From", exact=True).fill("18")
    row.get_by_label("To", exact=True).fill("9007199254740993")
    assert builder.text() == "user.age between 18 and 9007199254740993"
    row.get_by_label("To", exact=True).fill("12")
    expect(row.locator(".finding")).to_contain_text("holds nothing")
    row.get_by_label("To", exact=True).fill("many")
    expect(row.get_by_label("To", exact=True)).to_have_attribute("aria-invalid", "true")


def test_a_radius_is_drawn_around_a_city_or_a_pasted_point(builder: Builder) -> None:
    builder.choose("location", "geo.location")
    row = builder.row("geo.location")
    builder.pick(row.get_by_role("combobox", name="Place"), "haMb", "Hamburg")
    assert builder.text() == "geo.location within 25 km of (53.55, 9.99)"
    place = row.get_by_role("combobox", name="Place")
    place.fill("Nowhere")
    place.press("Enter")
    expect(place).to_have_attribute("aria-invalid", "true")
    place.fill("berl")
    place.press("Enter")
    expect(place).to_have_value("Berlin")
    assert builder.text() == "geo.location within 25 km of (52.52, 13.405)"
    row.get_by_label("Radius in km").fill("7.5")
    row.get_by_label("Latitude").focus()
    paste(builder.page, "(52.5, 13.4)")
    assert builder.text() == "geo.location within 7.5 km of (52.5, 13.4)"
    expect(row.get_by_label("Longitude")).to_have_value("13.4")


def test_a_polygon_is_a_list_of_points(builder: Builder) -> None:
    builder.choose("location", "geo.location")
    row = builder.row("geo.location")
    row.get_by_label("Operator").select_option("is inside")
    points = row.get_by_label("Points, one a line")
    points.fill("52.6, 13.2\n52.65, 13.5")
    assert builder.text() == ""
    points.fill("52.6, 13.2\n52.65, 13.5\n52.45 13.6")
    assert builder.text() == (
        "geo.location inside polygon ((52.6, 13.2), (52.65, 13.5), (52.45, 13.6))"
    )
    expect(row.locator(".outline polygon")).to_have_attribute(
        "points", "13.2,-52.6 13.5,-52.65 13.6,-52.45"
    )
    points.fill("52.6, 13.2\nnowhere")
    expect(points).to_have_attribute("aria-invalid", "true")


def test_a_schedule_is_painted_by_keys_and_by_mouse(builder: Builder) -> None:
    page = builder.page
    builder.choose("local", "local_time")
    row = builder.row("local_time")
    builder.tab_to("grid")
    page.keyboard.press("ArrowDown")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    assert builder.text() == "local_time during 'Tue 00:00-04:00'"
    page.keyboard.press("End")
    page.keyboard.press("Space")
    assert builder.text() == "local_time during 'Tue 00:00-04:00, Tue 23:00-24:00'"
    check_accessible(page)
    cells = row.locator("td")
    cells.nth(24).hover()
    page.mouse.down()
    for hour in range(25, 29):
        cells.nth(hour).hover()
    page.mouse.up()
    assert builder.text() == "local_time during 'Tue 23:00-24:00'"
    row.get_by_label("Schedule as text").fill("Sat 22:30-02:00")
    expect(row.locator("td[aria-selected=true]")).to_have_count(3)
    expect(row.locator("td.part")).to_have_count(1)
    row.get_by_role("button", name="All of Sat").click()
    assert builder.text() == "local_time during 'Sat, Sun 00:00-02:00'"


def test_what_has_no_widget_is_a_block_of_text_that_moves(builder: Builder) -> None:
    page = builder.page
    builder.write("user.consent and (user.age > 1 xor regs.gdpr)")
    area = builder.tree.get_by_label("Condition as text")
    expect(area).to_have_value("user.age > 1 xor regs.gdpr")
    builder.tree.locator(".row.code .handle").focus()
    page.keyboard.press("Alt+ArrowUp")
    assert builder.text() == "(user.age > 1 xor regs.gdpr) and user.consent"
    area.fill("user.age > 'x'")
    area.blur()
    expect(builder.tree.locator(".row.code .errors")).to_contain_text("does not fit")
    area.fill("user.age > 7")
    area.blur()
    expect(builder.row("user.age").get_by_label("Value")).to_have_value("7")
    assert builder.text() == "user.age > 7 and user.consent"

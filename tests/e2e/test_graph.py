"""The graph in a real browser: focus, search, drawer, keys, zoom, and the table beside it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from exchange.market.models import Edge, Party
from tests.e2e.conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

LIT = re.compile(r"\blit\b")
PAGE_BYTES = 300_000


@pytest.mark.usefixtures("demo")
def test_an_operator_follows_a_party_through_the_graph(visitor: Visitor) -> None:
    page = visitor.page
    visitor.log_in("operator")
    answer = page.goto(f"{visitor.url}/graph/")
    assert answer is not None
    assert len(answer.body()) < PAGE_BYTES
    drawing, drawer = page.locator("#drawing"), page.locator("#drawer")
    row = page.locator(".node[aria-label^='Premium Row']")
    # A click keeps the focus: what it buys from and sells to stands out, the rest fades.
    row.click()
    expect(drawing).to_have_class(re.compile("has-focus"))
    expect(drawer.locator("h2")).to_have_text("Premium Row")
    edges = Edge.objects.active()
    bought = edges.filter(buyer__name="Premium Row").count()
    expect(drawer).to_contain_text(f"Buys from {bought}")
    sold = edges.filter(seller__name="Premium Row").exclude(buyer__kind="advertiser").count()
    expect(page.locator(".edge.near")).to_have_count(bought + sold)
    expect(page.locator(".node[aria-label^='Agora One']")).not_to_have_class(LIT)
    # From there to one of its edges, whose rule can be edited.
    drawer.locator("[data-show-edge]").first.click()
    expect(drawer.locator("h2")).to_have_text(re.compile("→ Premium Row$"))
    expect(drawer.locator("text=Edit the rule")).to_be_visible()
    expect(page.locator(".node.near")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(drawing).not_to_have_class(re.compile("has-focus"))
    # The cycle is one red arc.
    expect(page.locator(".edge.back")).to_have_count(1)
    expect(page.locator(".cycle-label")).to_have_text("cycle of 3")


@pytest.mark.usefixtures("demo")
def test_arrow_keys_walk_and_enter_opens(visitor: Visitor) -> None:
    page = visitor.page
    visitor.log_in("viewer")
    visitor.go("/graph/")
    expect(page.locator("[data-zoom]")).to_be_visible()
    # One stop for Tab, wherever one was last.
    expect(page.locator(".node[tabindex='0']")).to_have_count(1)
    first = page.locator(".node").first
    first.focus()
    page.keyboard.press("ArrowDown")
    below = page.locator(".node").nth(1)
    expect(below).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".node:focus")).to_have_attribute("data-rank", re.compile("[1-9]"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".node:focus")).to_have_attribute("data-rank", "0")
    page.keyboard.press("Enter")
    expect(page.locator("#drawer")).to_contain_text("Sells to")
    # A viewer is offered nothing to edit.
    page.locator("#drawer [data-show-edge]").first.click()
    expect(page.locator("#drawer")).to_contain_text("Fee")
    expect(page.locator("text=Edit the rule")).to_have_count(0)
    # Keys make the drawing larger, and fit it again.
    page.locator("#drawer [data-close]").click()
    first.focus()
    whole = page.locator("#drawing").get_attribute("viewBox")
    page.keyboard.press("+")
    expect(page.locator("#drawing")).not_to_have_attribute("viewBox", str(whole))
    page.keyboard.press("0")
    expect(page.locator("#drawing")).to_have_attribute("viewBox", str(whole))


@pytest.mark.usefixtures("demo")
def test_a_search_finds_who_is_drawn_and_who_is_folded(visitor: Visitor) -> None:
    page = visitor.page
    visitor.log_in("analyst")
    visitor.go("/graph/")
    page.fill("#find", "cobalt")
    page.locator(".found a", has_text="Cobalt DSP").click()
    expect(page.locator("#drawer h2")).to_have_text(re.compile("^Cobalt DSP"))
    advertiser = Party.objects.filter(kind="advertiser", purchases__is_active=True).first()
    assert advertiser is not None
    page.fill("#find", advertiser.name)
    page.locator(".found a", has_text=advertiser.name).first.click()
    expect(page.locator("h1")).to_have_text(advertiser.name)
    expect(page.locator(".node.here")).to_have_count(1)


@pytest.mark.usefixtures("demo")
def test_the_table_holds_all_edges_and_every_width_fits(visitor: Visitor) -> None:
    page = visitor.page
    visitor.log_in("admin")
    visitor.go("/graph/")
    rows = page.locator("#edges tbody tr")
    expect(rows).to_have_count(50)
    page.click("#edges [rel=next]")
    expect(page.locator("#edges [rel=prev]")).to_be_visible()
    for address in ("/graph/", "/graph/groups/"):
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 850})
            visitor.go(address)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.usefixtures("demo")
def test_a_larger_drawing_is_dragged_without_losing_its_focus(visitor: Visitor) -> None:
    page = visitor.page
    visitor.log_in("operator")
    visitor.go("/graph/")
    drawing = page.locator("#drawing")
    page.locator(".node[aria-label^='Premium Row']").click()
    page.click("[data-zoom-by='1.4']")
    page.click("[data-zoom-by='1.4']")
    before = drawing.get_attribute("viewBox")
    box = drawing.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 60
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 80, y + 10, steps=4)
    page.mouse.up()
    expect(drawing).not_to_have_attribute("viewBox", str(before))
    expect(page.locator("#drawer h2")).to_have_text("Premium Row")


@pytest.mark.usefixtures("demo")
def test_a_publisher_sees_its_own_side_by_name_only(visitor: Visitor) -> None:
    page = visitor.page
    visitor.log_in("publisher")
    page.click("#menu a:has-text('Graph')")
    expect(page.locator("h1")).to_have_text("Graph")
    own = page.locator(".node[data-rank='0']")
    expect(own).to_have_count(1)
    others = page.locator("#edges tbody tr", has_text="not disclosed").first
    expect(others).to_contain_text("not shown")

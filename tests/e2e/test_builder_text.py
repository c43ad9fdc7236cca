"""Text mode in a real browser: completion, format, what is pasted; and text -> builder -> text."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Audience, Party, ValueList
from exchange.market.seed import seeded_catalog
from exchange.market.services import save_value_list
from targeting import parse
from tests.e2e.building import CITIES, Builder, check_accessible, paste, write_traffic
from tests.e2e.conftest import Visitor
from tests.e2e.random_expressions import write_expression
from tests.market.places import found

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

EXPRESSIONS = 200
# Into the builder's elements and out of them: every operator and every field is touched, so that
# what they show is read back from them, and the printed text is taken.
THERE_AND_BACK = """async (documents) => {
  const { editor } = document.querySelector("[data-expression-editor]");
  const script = document.querySelector("script[src*='builder/editor']");
  const { readRoot } = await import(new URL("model.js", script.src).href);
  const all = (selector) => [...editor.view.tree.querySelectorAll(selector)];
  const fire = (element, name) => element.dispatchEvent(new Event(name, { bubbles: true }));
  const touch = () => {
    all(".operator").forEach((_, i) => fire(all(".operator")[i], "change"));
    for (const field of all("[data-key=value]")) {
      if (field.matches("select")) fire(field, "change");
      else if (field.matches(".test textarea, input:not([type=checkbox], [role=combobox])")) {
        if (field.value) fire(field, "input");
      }
    }
  };
  return documents.map((each) => {
    editor.history.restart({ root: readRoot(each), text: "", said: "Read" });
    editor.draw();
    const rows = all(".row").length;
    touch();
    editor.commit(Object.freeze({ ...editor.now.root }), "Printed");
    return { text: editor.now.text, rows, unfinished: editor.written.unfinished.length };
  });
}"""


@pytest.fixture(autouse=True)
def _traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_traffic(tmp_path, monkeypatch)


@pytest.fixture
def page(visitor: Visitor, transactional_db: None, alice: User, operator: Organisation) -> Page:
    """Opens the text of a new campaign as Alice, with audiences and lists to use."""
    found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    for name in ("drivers", "families"):
        Audience.objects.create(organisation=operator, name=name, expression="user.age >= 18")
    for name, values in (("dach", ["DEU", "AUT"]), ("top-cities", ["Berlin"])):
        value_list = ValueList(organisation=operator, name=name)
        save_value_list(value_list=value_list, values=values, by=alice)
    visitor.enter(alice)
    visitor.go("/campaigns/new/")
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    Builder(visitor.page)
    visitor.page.click("[data-set-mode=text]")
    return visitor.page


def take(page: Page, typed: str, option: str) -> None:
    page.keyboard.type(typed)
    chosen = page.locator("#completions:visible [aria-selected=true] .name")
    expect(chosen).to_have_text(option)
    page.keyboard.press("Tab")


def test_completion_offers_attributes_operators_values_audiences_and_lists(page: Page) -> None:
    area = page.locator("[name=expression]")
    area.focus()
    take(page, "geo.ci", "geo.city")
    expect(area).to_have_value("geo.city ")
    take(page, "i", "in")
    expect(area).to_have_value("geo.city in (")
    take(page, "'Ham", "Hamburg")
    page.keyboard.type(") and ")
    take(page, "@dr", "@drivers")
    page.keyboard.type(" and geo.country not in ")
    take(page, "$d", "$dach")
    page.keyboard.type(" or ")
    take(page, "device.ty", "device.type")
    page.keyboard.type("= ")
    take(page, "pho", "phone")
    expect(area).to_have_value(
        "geo.city in ('Hamburg') and @drivers and geo.country not in $dach or device.type = 'phone'"
    )
    page.keyboard.type(" ")
    page.keyboard.press("Control+Space")
    expect(page.locator("#completions .name").first).to_have_text("and")
    check_accessible(page)
    page.keyboard.press("Escape")
    expect(page.locator("#completions")).to_be_hidden()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("geo.city in (", ")"),
        ("geo.city in ", ""),
        ("user.consent and geo.city ", ""),
        ("user.consent and ", ""),
    ],
)
def test_pasted_lines_become_a_list(page: Page, before: str, after: str) -> None:
    area = page.locator("[name=expression]")
    area.fill(before + after)
    area.evaluate("(area, at) => area.setSelectionRange(at, at)", len(before))
    paste(page, "\n".join(CITIES))
    head = before.removesuffix("geo.city in (").removesuffix("geo.city in ")
    cities = ", ".join(f"'{city}'" for city in CITIES)
    expect(area).to_have_value(f"{head.removesuffix('geo.city ')}geo.city in ({cities})")
    expect(page.locator("[data-say]")).to_have_text("40 values pasted as a list")
    expect(page.locator(".verdict")).to_contain_text("Valid")


def test_other_pastes_stay_as_they_are_but_for_curly_quotes(page: Page) -> None:
    area = page.locator("[name=expression]")
    area.focus()
    paste(page, "geo.city = \u201cBerlin\u201d\nand\u00a0user.consent")
    expect(area).to_have_value("geo.city = 'Berlin'\nand user.consent")
    area.fill("")
    paste(page, "geo.city in ('a', 'b')\nand user.consent")
    expect(area).to_have_value("geo.city in ('a', 'b')\nand user.consent")


def test_format_lays_the_text_out_and_undo_brings_it_back(page: Page) -> None:
    area = page.locator("[name=expression]")
    long = "user.segments one of ('pulse:travel','loom:parents')"
    text = f"({long})&&(geo.city=='Berlin'||not {long})  and device.type in ('phone','tablet')"
    area.fill(text)
    expect(page.locator("[data-expression-editor]")).to_have_attribute("data-checked", "yes")
    page.click("[data-format]")
    printed = long.replace("','", "', '")
    expect(area).to_have_value(
        f"{printed}\nand (geo.city = 'Berlin' or not {printed})\n"
        "and device.type in ('phone', 'tablet')"
    )
    area.press("Control+z")
    expect(area).to_have_value(text)
    area.fill("geo.city = 'Berlin'")
    expect(page.locator("[data-expression-editor]")).to_have_attribute("data-checked", "yes")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("[data-copy-json]")
    expect(page.locator("[data-say]")).to_have_text("Copied as JSON")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied == {"attribute": "geo.city", "operator": "=", "values": ["Berlin"]}


def test_text_to_builder_to_text_loses_nothing(page: Page) -> None:
    """Tries notes, disabled parts, xor, names, lists, and every widget's own elements."""
    page.click("[data-set-mode=builder]")
    chance, catalog = random.Random(7), seeded_catalog()
    originals = [parse(write_expression(chance), catalog) for _ in range(EXPRESSIONS)]
    answers: list[dict[str, Any]] = page.evaluate(
        THERE_AND_BACK, [original.to_json() for original in originals]
    )
    for original, answer in zip(originals, answers, strict=True):
        assert parse(answer["text"], catalog).text == original.text, answer["text"]
        assert answer["unfinished"] == 0, original.text
    assert sum(answer["rows"] for answer in answers) > 5 * EXPRESSIONS


def test_what_is_typed_comes_back_the_same_through_server_and_builder(page: Page) -> None:
    area = page.locator("[name=expression]")
    builder = Builder(page)
    for text in (
        "# who\n@drivers\n#- user.age >= 18\nand (user.consent xor regs.gdpr)",
        "geo.city not in $top-cities and (geo.country in $dach or geo.country is missing)",
        "user.age in (9007199254740993, -9223372036854775808) and geo.city = '日本 🎈'",
    ):
        area.fill(text)
        expect(page.locator(".verdict")).to_contain_text("Valid")
        assert builder.text() == text
        page.click("[data-format]")
        assert builder.text() == text

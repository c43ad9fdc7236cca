"""Text mode in a real browser: completion, format, what is pasted; and text -> builder -> text."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from exchange.accounts.models import Organisation, User
from exchange.market.models import Audience, Party, ValueList
from exchange.market.services import save_value_list
from tests.e2e.building import CITIES, Builder, check_accessible, paste, write_traffic
from tests.e2e.conftest import Visitor
from tests.e2e.random_expressions import write_expression
from tests.market.places import found

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

EXPRESSIONS = 300
ROUND_TRIP = """async (texts) => {
  const { editor } = document.querySelector("[data-expression-editor]");
  const tree = document.querySelector("[data-tree]");
  const settled = async () => {
    clearTimeout(editor.timer);
    await editor.check();
  };
  // Every operator and every field is touched: what the elements show is read back from them.
  const touch = () => {
    const all = (selector) => [...tree.querySelectorAll(selector)];
    const fire = (element, name) => element.dispatchEvent(new Event(name, { bubbles: true }));
    all(".operator").forEach((_, i) => fire(all(".operator")[i], "change"));
    for (const field of all("[data-key=value]")) {
      if (field.matches("select")) fire(field, "change");
      else if (field.matches(".test textarea, input:not([type=checkbox], [role=combobox])")) {
        if (field.value) fire(field, "input");
      }
    }
  };
  const answers = [];
  for (const text of texts) {
    editor.text.write(text);
    await settled();
    const before = editor.last;
    if (!before.valid) { answers.push({ text, errors: before.errors }); continue; }
    touch();
    editor.history.push({ ...editor.now, text: "", said: "Erased" });
    const root = editor.now.root;
    editor.commit(Object.freeze({ ...root }), "Printed");
    await settled();
    answers.push({ text, before: before.canonical, written: editor.now.text,
      after: editor.last.canonical, unfinished: editor.written.unfinished.length,
      rows: tree.querySelectorAll(".row").length });
  }
  return answers;
}"""


@pytest.fixture(autouse=True)
def _traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_traffic(tmp_path, monkeypatch)


@pytest.fixture
def page(visitor: Visitor, transactional_db: None, alice: User, operator: Organisation) -> Page:
    """Alice in the text of a new campaign, with audiences and lists to use."""
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
    chosen = page.locator("#completions [aria-selected=true] .name")
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
    take(page, "=", "=")
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


def test_text_to_builder_to_text_loses_nothing(page: Page) -> None:
    """With notes, disabled parts, xor, names, lists, and every widget's own elements."""
    chance = random.Random(7)
    page.click("[data-set-mode=builder]")
    texts = [write_expression(chance) for _ in range(EXPRESSIONS)]
    answers: list[dict[str, Any]] = page.evaluate(ROUND_TRIP, texts)
    wrong = [answer for answer in answers if "errors" in answer]
    assert len(wrong) < EXPRESSIONS / 10, wrong[:3]
    for answer in answers:
        if "errors" not in answer:
            assert answer["after"] == answer["before"], answer
            assert answer["unfinished"] == 0, answer
    assert sum(answer.get("rows", 0) for answer in answers) > 3 * EXPRESSIONS

"""What the tests of the builder share: hands at the page, traffic behind it, and axe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.market.logs import write_log

CITIES = [
    *("Berlin", "Hamburg", "Munich", "Cologne", "Leipzig", "Frankfurt am Main", "Vienna", "Graz"),
    *(
        "Zurich",
        "Geneva",
        "Paris",
        "Lyon",
        "Marseille",
        "Toulouse",
        "Lille",
        "London",
        "Manchester",
    ),
    *("Birmingham", "Glasgow", "Cardiff", "Madrid", "Barcelona", "Valencia", "Rome", "Milan"),
    *("Naples", "Amsterdam", "Brussels", "Antwerp", "Warsaw", "Krakow", "Stockholm", "Oslo"),
    *("Istanbul", "Tokyo", "Osaka", "Seoul", "Toronto", "Berln", "Gotham"),
]
SEEN = [city for city in CITIES if city not in ("Berln", "Gotham")]
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const how = { clipboardData: data, bubbles: true, cancelable: true };
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", how));
}"""


def write_traffic(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes a log in which every fourth visit does not say its city; the last two cities of the
    list are in none."""
    log = folder / "visits"
    monkeypatch.setenv("TREELINE_VISIT_LOG_DIR", str(log))
    write_log(
        log,
        [
            {
                "geo.city": SEEN[number % len(SEEN)] if number % 4 else None,
                "geo.country": ["DEU", "FRA", "GBR"][number % 3],
                "device.type": "phone",
                "user.segments": [["pulse:travel"], ["loom:parents", "pulse:cars"]][number % 2],
                "user.age": 40,
                "geo.utc_offset": 60,
            }
            for number in range(380)
        ],
    )


def paste(page: Page, text: str) -> None:
    """Pastes into what has the focus."""
    page.evaluate(PASTE, text)


def check_accessible(page: Page) -> None:
    results = Axe().run(page)
    found = [
        (violation["id"], [node["html"][:160] for node in violation["nodes"]])
        for violation in results.response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert found == []


class Builder:
    """The builder on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("[data-expression-editor]")
        self.tree = page.locator("[data-tree]")
        self.said = page.locator("[data-say]")
        expect(self.root).to_have_attribute("data-checked", "yes")

    def text(self) -> str:
        """Gives what would be saved, once it is checked."""
        expect(self.root).to_have_attribute("data-checked", "yes")
        return self.page.locator("[name=expression]").input_value()

    def write(self, text: str) -> None:
        """Writes the expression as text, and goes back to the builder."""
        self.page.click("[data-set-mode=text]")
        self.page.fill("[name=expression]", text)
        expect(self.page.locator(".verdict")).to_have_text(re.compile("Valid"))
        self.text()
        self.page.click("[data-set-mode=builder]")

    def row(self, name: str) -> Locator:
        return self.tree.locator(f".row[aria-label*='{name}']")

    def choose(self, typed: str, attribute: str) -> None:
        """Chooses the attribute of the row that has none yet."""
        fresh = self.tree.get_by_role("group", name=re.compile("^Condition .*: not chosen yet"))
        self.pick(fresh.get_by_role("combobox", name="Attribute"), typed, attribute)

    def pick(self, box: Locator, typed: str, option: str) -> None:
        box.fill(typed)
        name = self.page.get_by_text(option, exact=True)
        self.page.locator("[role=option]:visible", has=name).first.click()

    def type_attribute(self, name: str) -> None:
        self.page.keyboard.type(name)
        chosen = self.page.locator("[role=option][aria-selected=true]", has_text=name)
        expect(chosen).to_be_visible()
        self.page.keyboard.press("Enter")

    def tab_to(self, key: str, by: str = "Tab") -> None:
        for _ in range(60):
            self.page.keyboard.press(by)
            if self.page.evaluate("document.activeElement.dataset.key") == key:
                return
        raise AssertionError(f"no way to {key}")

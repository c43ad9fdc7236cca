"""Measures the graph in a browser: how heavy its pages are, and how long a click takes to be seen.

Asks an exchange that runs, with the demo's log-ins, such as that of `make run` or of a large market
with `python -m exchange.pages`: `--url` says where. A click is measured from the event to the
second frame after it, by the page's own clock. `--pictures` names a folder for what was seen.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, Response, sync_playwright

CLICKS = 12
FLAGS = ["--no-sandbox"]  # in a container it has none
CLICK = """
node => new Promise(done => {
  const started = performance.now();
  node.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - started)));
})
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--search", default="a", help="what to search a large graph for")
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(300_000)
        page.goto(f"{options.url}/login/")
        page.click("[data-login=operator]")
        print("# The graph in a browser\n")
        print("| page | boxes | lines | KB with all it needs | a click: median ms | most |")
        print("|---|---|---|---|---|---|")
        for name, address in find_pages(page, options.url, options.search).items():
            tell(page, name, address, options.pictures)


def find_pages(page: Page, url: str, search: str) -> dict[str, str]:
    """Finds what one lands on; of a graph that is searched, also a party, and the groups."""
    found = {"graph": f"{url}/graph/"}
    page.goto(found["graph"])
    if page.locator(".node").count():
        return found
    page.goto(f"{url}/graph/?q={search}")
    link = page.locator("main a[href*='/graph/parties/']").first.get_attribute("href")
    found |= {"search": page.url, "party": f"{url}{link}", "groups": f"{url}/graph/groups/"}
    return found


def tell(page: Page, name: str, address: str, pictures: Path | None) -> None:
    sizes: list[int] = []

    def weigh(response: Response) -> None:
        if response.status == 200:
            sizes.append(len(response.body()))

    page.on("response", weigh)
    page.goto(address, wait_until="networkidle")
    page.remove_listener("response", weigh)
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=pictures / f"graph-{name}.png")
    nodes, lines = page.locator(".node"), page.locator(".edge").count()
    boxes = nodes.count()
    times = [
        nodes.nth(number * boxes // CLICKS).evaluate(CLICK)
        for number in range(CLICKS * bool(boxes))
    ]
    seen = f"{median(times):.0f} | {max(times):.0f}" if times else " | "
    print(f"| {name} | {boxes:,} | {lines:,} | {sum(sizes) / 1_000:.0f} | {seen} |", flush=True)


if __name__ == "__main__":
    main()

"""Takes pictures of every page and state at both widths, light and dark, with axe over all of them.

Looks at an exchange that runs (`make run`), and ends with an error if anything is found: something
wider than the window, a console error, a page above 300 KB, a serious violation. Run with
`--only campaign` for those whose names begin so.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

import django
from playwright.sync_api import Browser, sync_playwright

from tests.look.looking import SCHEMES, WIDTHS, Look, open_look
from tests.look.scenes import LISTS, STATES, Scene, list_pages

PASSWORD = "treeline-demo"
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--folder", type=Path, default=Path("var/look"))
    parser.add_argument("--only", default="", help="names of scenes that begin like this")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")
    os.environ.setdefault("TREELINE_DEBUG", "1")  # for the address of the components' page
    django.setup()
    scenes = [one for one in [*list_pages(), *STATES] if one.name.startswith(options.only)]
    options.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-browser"), args=FLAGS
        )
        problems = [
            problem
            for width in WIDTHS
            for scheme in SCHEMES
            for problem in look_at(browser, options.url, scenes, options.folder, width, scheme)
        ]
    print("\n".join(problems) or "Nothing to mend.")
    sys.exit(bool(problems))


def look_at(
    browser: Browser, url: str, scenes: list[Scene], folder: Path, width: int, scheme: str
) -> list[str]:
    """One log-in after the other."""
    problems: list[str] = []
    for login in dict.fromkeys(scene.login for scene in scenes):
        with open_look(browser, width, scheme) as look:
            if login:
                log_in(look, url, login)
            numbers = find_numbers(look, url) if login else {}
            for scene in scenes:
                if scene.login == login:
                    show(look, url, scene, numbers, folder)
            problems += look.problems
    return problems


def log_in(look: Look, url: str, name: str) -> None:
    look.page.goto(f"{url}/login/")
    look.page.fill("[name=username]", name)
    look.page.fill("[name=password]", PASSWORD)
    look.page.click("form [type=submit]")
    look.page.wait_for_url(f"{url}/")


def find_numbers(look: Look, url: str) -> dict[str, str]:
    """Finds the number of the first thing in each list."""
    numbers: dict[str, str] = {}
    folders = ["campaigns", "parties", "edges", "bookings", "audiences", "lists", "attributes"]
    folders += ["snapshots", *LISTS]
    for folder in folders:
        address = LISTS.get(folder, f"/{folder}/")
        if "{" in address and "campaigns" not in numbers:
            continue
        look.page.goto(url + address.format(**numbers))
        found = re.search(rf'href="/{folder}/(\d+)/', look.page.content())
        if found:
            numbers[folder] = found[1]
    return numbers


def show(look: Look, url: str, scene: Scene, numbers: dict[str, str], folder: Path) -> None:
    """Leaves out what is no page for this person, and what there is none of."""
    try:
        address = scene.address.format(**numbers)
    except KeyError:
        print(f"{scene.name}: there is none to look at")
        return
    try:
        opened = look.open(url + address)
        if opened is None or opened.status == 405 or not look.page.locator("main").count():
            return
        if scene.act is not None:
            scene.act(look.page)
    except Exception as error:
        look.problems.append(f"{scene.name} at {look.width} {look.scheme}: {error}")
        return
    look.check(scene.name, folder)


if __name__ == "__main__":
    main()

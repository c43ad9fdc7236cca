"""Looks at one page: a picture, what axe finds, what the console says, how wide and heavy it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Response

from tests.look.scenes import Scene

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
PAGE_BYTES = 300_000  # with all assets, uncompressed
# What the console notes although all is well: a form that comes back with errors, a page that is
# not there.
EXPECTED = ("status of 422", "status of 404", "status of 403")


@dataclass
class Look:
    """A browser window of one width and colour scheme. `problems` are what nobody should be shown,
    each with the page's name."""

    page: Page
    width: int
    scheme: str
    problems: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def open(self, address: str) -> Response | None:
        """Opens a page with an empty cache, so that all it needs is weighed."""
        self.said.clear()
        self.sizes.clear()
        return self.page.goto(address, wait_until="networkidle")

    def check(self, name: str, folder: Path | None = None) -> None:
        """Notes what is wrong, and takes the picture if there is a folder for it."""
        if folder is not None:
            picture = folder / f"{name}-{self.width}-{self.scheme}.png"
            self.page.screenshot(path=picture, full_page=True)
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        if wide > self.width:
            self.note(name, f"is {wide} px wide")
        for text in self.said:
            self.note(name, f"console: {text}")
        if sum(self.sizes) > PAGE_BYTES:
            self.note(name, f"weighs {sum(self.sizes):,} bytes")
        for found in find_violations(self.page):
            self.note(name, f"axe: {found}")

    def note(self, name: str, problem: str) -> None:
        self.problems.append(f"{name} at {self.width} {self.scheme}: {problem}")

    def hear(self, message: ConsoleMessage) -> None:
        is_expected = any(text in message.text for text in EXPECTED)
        if message.type in ("error", "warning") and not is_expected:
            self.said.append(message.text)

    def weigh(self, response: Response) -> None:
        if response.status == 200 and response.request.resource_type != "other":
            self.sizes.append(len(response.body()))


def find_violations(page: Page) -> Iterator[str]:
    for violation in Axe().run(page).response["violations"]:
        if violation["impact"] in ("serious", "critical"):
            places = [node["html"][:160] for node in violation["nodes"][:3]]
            yield f"{violation['id']} {places}"


def show(
    look: Look, url: str, scene: Scene, numbers: Mapping[str, int], folder: Path | None
) -> None:
    """Opens a scene and looks at it; what is no page for this person is passed over, and so is a
    kind of thing that there is none of."""
    try:
        address = scene.address.format(**numbers)
    except KeyError:
        return
    opened = look.open(url + address)
    if opened is None or opened.status == 405 or not look.page.locator("main").count():
        return
    try:
        if scene.act is not None:
            scene.act(look.page)
    except (Error, AssertionError) as error:  # the others are looked at all the same
        look.note(scene.name, f"cannot be shown: {error}")
    look.check(scene.name, folder)


@contextmanager
def open_look(browser: Browser, width: int, scheme: str) -> Iterator[Look]:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    look = Look(page, width, scheme)
    page.on("console", look.hear)
    page.on("pageerror", lambda error: look.said.append(str(error)))
    page.on("response", look.weigh)
    yield look
    context.close()

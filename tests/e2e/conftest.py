"""People at a real browser, on the real server, the demo exchange behind it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import ConsoleMessage, Page, expect
from pytest_django import Settings

from exchange.accounts.models import User
from tests.conftest import TreelineServer
from tests.people import alice, bob, carol, dave, erin, operator

# For a machine that does other things as well; a page that is right appears at once.
expect.set_options(timeout=60_000)

__all__ = ["alice", "bob", "carol", "dave", "erin", "operator"]

# What the browser's console notes although all is well: a form that comes back with errors.
FORM_WITH_ERRORS = "status of 422"


class Visitor:
    """Someone at a browser. Everything that goes wrong in its console is kept."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and FORM_WITH_ERRORS not in message.text:
            where = message.location.get("url", "")
            self.complaints.append(f"{message.type}: {message.text} {where}")

    def go(self, address: str) -> None:
        self.page.goto(self.url + address)

    def write(self, text: str) -> None:
        """Writes into the expression's editor, as text."""
        self.page.click("[data-set-mode=text]")
        self.page.fill("[name=expression]", text)

    def log_in(self, name: str) -> None:
        """Logs in with the demo's button, as a guest would do it."""
        self.go("/login/")
        self.page.click(f"[data-login={name}]")
        self.page.wait_for_url(f"{self.url}/")

    def enter(self, person: User) -> None:
        """Enters as somebody who is logged in already; for tests that are about something else."""
        client = Client()
        client.force_login(person)
        cookie = client.cookies[django_settings.SESSION_COOKIE_NAME].value
        self.page.context.add_cookies(
            [{"name": django_settings.SESSION_COOKIE_NAME, "value": cookie, "url": self.url}]
        )

    def choose(self, field: str, name: str) -> None:
        """Chooses a name in a field that offers names while one types, once the script has made it
        one."""
        self.page.wait_for_selector(f"{field}[role=combobox]")
        self.page.fill(field, name)
        self.page.locator(".options:visible [role=option]", has_text=name).first.click()

    def log_out(self) -> None:
        self.page.click("text=Log out")
        self.page.wait_for_url(f"{self.url}/login/")


@pytest.fixture(autouse=True)
def _own_snapshots(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test snapshots of its own: neither the next one nor the server that it starts may
    find them."""
    settings.SNAPSHOT_DIR = tmp_path / "snapshots"
    monkeypatch.setenv("TREELINE_SNAPSHOT_DIR", str(settings.SNAPSHOT_DIR))


@pytest.fixture
def visitor(treeline_server: TreelineServer, chromium_page: Page) -> Iterator[Visitor]:
    visitor = Visitor(chromium_page, treeline_server.url)
    yield visitor
    assert visitor.complaints == []


@pytest.fixture
def demo(transactional_db: None) -> None:
    call_command("load_demo", campaigns=40, visits=300, days=2, verbosity=0)

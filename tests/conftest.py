"""Gives every test its fixtures: database, Celery worker, web server, browser. All are real."""

import os
import shutil
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
import redis
from django.conf import settings
from django.db import connection
from playwright.sync_api import Browser, Page, sync_playwright

from exchange.celery import app
from exchange.launcher.processes import Program, Running, start
from exchange.launcher.supervisor import WORKERS
from exchange.launcher.valkey import find_free_port
from exchange.queues import QUEUES

CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NO_BROWSER = (
    "no chromium on PATH: the browser tests did NOT run (on Debian: apt-get install chromium)"
)

# Where the broker keeps messages: those that wait, and those that a worker has taken.
WAITING = tuple(queue.name for queue in QUEUES)
TAKEN = ("unacked", "unacked_index")

PARTS_OF_SOAK = {"faults", "fuzzing", "large", "containers"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Makes sure that each long test is in exactly one part of `make soak`: running all parts then
    runs all of them."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "soak" in marks and len(marks & PARTS_OF_SOAK) != 1:
            raise pytest.UsageError(f"{item.nodeid} is in no part of the soak, or in several")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, services: dict[str, str]
) -> None:
    """Starts the servers: pytest-django asks for this fixture before it makes the database."""


def environment_of_the_tests() -> dict[str, str]:
    """Makes the environment of another process, which then sees the test database too."""
    address = urlsplit(os.environ["DATABASE_URL"])
    test_address = address._replace(path="/" + connection.settings_dict["NAME"])
    return {**os.environ, "DATABASE_URL": urlunsplit(test_address)}


def _program(name: str, *argv: str, **environment: str) -> Program:
    return Program(
        name=name,
        argv=[str(Path(sys.executable).with_name(argv[0])), *argv[1:]],
        environment=environment_of_the_tests() | environment,
        log=settings.VAR_DIR / "log" / f"{name}.log",
        folder=settings.BASE_DIR,
    )


def start_worker() -> Running:
    """Starts a real worker for all queues on the test database; the caller stops it."""
    options = ["--quiet", "-A", "exchange.celery", "worker", "-c", "1"]
    worker = start(_program("celery-worker", "celery", *options))
    _wait(worker, lambda: bool(app.control.ping(timeout=0.5)), seconds=120)
    return worker


def start_workers_of_the_launcher() -> list[Running]:
    """Starts each worker with its own queues, as `make run` does; the caller stops them."""
    workers = [start(_program(each.name, *each.argv())) for each in WORKERS]
    for worker in workers:
        _wait(worker, lambda: len(app.control.ping(timeout=0.5) or ()) == len(WORKERS), seconds=120)
    return workers


def forget_messages() -> None:
    """Removes the messages in the queues, and those that a killed worker had taken."""
    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        broker.delete(*WAITING, *TAKEN)


def wait_until_idle(worker: Running) -> None:
    """Waits until the worker has nothing to do: a task that outlives its test would hit the next
    one."""

    with redis.Redis.from_url(settings.REDIS_URL) as broker:

        def is_idle() -> bool:
            broker.delete(*WAITING)
            return not broker.exists(TAKEN[0])  # a message stays there until its task is done

        # Asks twice: while the worker takes a message, it is in neither place for a moment.
        for _ in range(2):
            _wait(worker, is_idle, seconds=120)
            time.sleep(0.02)


@pytest.fixture(autouse=True)
def _no_messages_of_other_tests(request: pytest.FixtureRequest) -> None:
    """Removes messages that earlier tests sent, because this test's worker would take them."""
    mark = request.node.get_closest_marker("django_db")
    has_processes = mark is not None and mark.kwargs.get("transaction")
    if has_processes or "transactional_db" in request.fixturenames:
        request.getfixturevalue("services")
        forget_messages()


@pytest.fixture
def celery_worker_process(transactional_db: None) -> Iterator[Running]:
    """Starts a worker for one test, which has no transaction: that would hide the test's rows."""
    worker = start_worker()
    try:
        yield worker
    finally:
        worker.stop()
        forget_messages()


class TreelineServer:
    """A running web server and its address."""

    def __init__(self, url: str, running: Running) -> None:
        self.url = url
        self.running = running

    def __str__(self) -> str:
        return self.url


@pytest.fixture
def treeline_server(transactional_db: None) -> Iterator[TreelineServer]:
    """Starts the process that serves people's pages, as `make run` does, on the test database."""
    with running_pages() as server:
        yield server


@contextmanager
def running_pages(**environment: str) -> Iterator[TreelineServer]:
    address = f"127.0.0.1:{find_free_port()}"
    environment["TREELINE_PAGES_ADDRESS"] = address
    web = start(_program("web", "python", "-m", "exchange.pages", **environment))
    try:
        _wait(web, lambda: _answers(f"http://{address}/healthz"), seconds=120)
        yield TreelineServer(f"http://{address}", web)
    finally:
        web.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if not executable:
        if os.environ.get("TREELINE_REQUIRE_BROWSER") == "1":
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    # Playwright's loop would make Django refuse to use the database in this thread.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def chromium_page(chromium: Browser) -> Iterator[Page]:
    """Opens a page in a fresh profile."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)  # milliseconds; the machine may be busy
    yield context.new_page()
    context.close()


def _wait(running: Running, is_ready: Callable[[], bool], *, seconds: float) -> None:
    give_up = time.monotonic() + seconds
    while not is_ready():
        ended = running.exit_status() is not None
        if ended or time.monotonic() > give_up:
            running.stop()
            pytest.fail(f"{running.program.name} does not start:\n{running.last_lines(40)}")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310  (our own server)
            return bool(response.status == 200)
    except OSError:
        return False


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says loudly that the browser is missing: it must not hide in a row of dots."""
    skipped = terminalreporter.getreports("skipped")
    if any(NO_BROWSER in str(report.longrepr) for report in skipped):
        terminalreporter.section("NO BROWSER", sep="!", red=True, bold=True)
        terminalreporter.line(NO_BROWSER, red=True, bold=True)

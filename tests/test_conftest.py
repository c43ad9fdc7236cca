"""The shared fixtures are what they say: other tests rely on it."""

import os

from django.db import connection
from hypothesis import HealthCheck, settings
from playwright.sync_api import Page

from exchange.accounts.models import Organisation
from exchange.celery import app
from exchange.launcher.processes import Running
from exchange.market.models import Attribute


def test_the_worker_is_on_the_test_database(celery_worker_process: Running) -> None:
    url = celery_worker_process.program.environment["DATABASE_URL"]
    assert url.endswith("/" + connection.settings_dict["NAME"])
    assert url != os.environ["DATABASE_URL"]
    while not (answers := app.control.inspect(timeout=1).registered()):
        pass  # a busy machine: it answers in a moment
    assert ["snapshots.build" in tasks for tasks in answers.values()] == [True]


def test_a_test_with_processes_leaves_no_rows_but_the_catalogue(transactional_db: None) -> None:
    assert not Organisation.objects.exists()
    assert Attribute.objects.exists()


def test_the_browser_runs_script(chromium_page: Page) -> None:
    chromium_page.set_content("<p id=p>before</p><script>p.textContent = 'after'</script>")
    assert chromium_page.locator("#p").text_content() == "after"


def test_no_example_is_too_slow_for_hypothesis() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check

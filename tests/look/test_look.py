"""`make look`: takes pictures of every page and state at both widths, light and dark, with axe over
all of them. Fails for what nobody should be shown. The suite looks at one of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Browser
from pytest_django import Settings

from exchange.accounts.models import Organisation, User
from exchange.findings.services import check_bookings
from exchange.keys.models import ApiKey
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Edge,
    Party,
    TestVisit,
    ValueList,
)
from exchange.snapshots.models import SnapshotBuild
from targeting.visit_log import find_newest_part
from tests.conftest import running_pages
from tests.look.looking import SCHEMES, WIDTHS, Look, open_look, show
from tests.look.scenes import STATES, Scene, list_pages
from tests.snapshots.steps import build

pytestmark = [pytest.mark.browser, pytest.mark.timeout(3600)]

PICTURES = Path("var/look")
COMPONENTS = Scene("components", "/components/")


@pytest.fixture
def url(
    transactional_db: None, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Serves the demo with a log, a live snapshot, checked bookings and a night's sample."""
    for name, folder in (("SNAPSHOT", "snapshots"), ("VISIT_LOG", "visits"), ("REPORT", "reports")):
        setattr(settings, f"{name}_DIR", tmp_path / folder)
        monkeypatch.setenv(f"TREELINE_{name}_DIR", str(tmp_path / folder))
    call_command("load_demo", campaigns=60, visits=3_000, days=2, verbosity=0)
    night = keep_night(tmp_path / "visits", tmp_path / "reports")
    keep_quality(tmp_path / "reports", night)
    build()
    check_bookings(booking_ids=list(Booking.objects.values_list("pk", flat=True)))
    with running_pages() as server:
        yield server.url


def keep_night(log: Path, reports: Path) -> date:
    """Takes the newest day's log for the night's sample."""
    part = find_newest_part(log)
    assert part is not None
    night = date.fromisoformat(part.parent.name.removeprefix("dt="))
    visits = pq.read_table(part, partitioning=None)
    visits = visits.append_column("sample_weight", pa.array([7.0] * len(visits)))
    visits = visits.append_column("logged_on", pa.array([night] * len(visits), pa.date32()))
    write_job(reports, "sample", night, visits=visits)
    return night


def keep_quality(reports: Path, night: date) -> None:
    rates = {"visits": 600, "fill_rate": 0.4, "drift": -0.2}
    counts = {"wrong_type": 3, "unknown_values": 0, "distinct_values": 12}
    attributes = pa.Table.from_pylist([{"attribute": "geo.city", **rates, **counts}])
    unmapped = pa.Table.from_pylist([{"key": "user.mood", "rows": 120}])
    write_job(reports, "data_quality", night, attributes=attributes, unmapped=unmapped)


def write_job(reports: Path, job: str, night: date, **tables: pa.Table) -> None:
    folder = reports / job / f"dt={night}"
    folder.mkdir(parents=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    named = {name: {"files": [f"{name}.parquet"]} for name in tables}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "tables": named}))


def find_numbers() -> dict[str, int]:
    """Finds one thing of each kind by the folder of its address."""
    about_nobody = Booking.objects.active().exclude(campaign__expression__contains="user.")
    booking = about_nobody.order_by("pk").first()  # so that its figures are told
    assert booking is not None
    models = {
        "api-keys": ApiKey,
        "parties": Party,
        "edges": Edge,
        "audiences": Audience,
        "lists": ValueList,
        "attributes": Attribute,
        "snapshots": SnapshotBuild,
        "people": User,
        "organisations": Organisation,
    }
    found = {
        folder: model._default_manager.order_by("pk")[0].pk for folder, model in models.items()
    }
    visit = {"time": "2026-11-17T12:00:00Z", "geo.country": "FRA"}
    kept = TestVisit.objects.create(campaign_id=booking.campaign_id, name="A test", visit=visit)
    numbers = {"campaigns": booking.campaign_id, "bookings": booking.pk, "test-visits": kept.pk}
    return found | numbers


def enter(look: Look, url: str, login: str) -> None:
    client = Client()
    client.force_login(User.objects.get(username=login))
    name = django_settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": client.cookies[name].value, "url": url}
    look.page.context.add_cookies([cookie])  # type: ignore[list-item]


def look_at(
    browser: Browser,
    url: str,
    scenes: list[Scene],
    numbers: Mapping[str, int],
    window: tuple[int, str],
    folder: Path | None = None,
) -> list[str]:
    """Looks at the scenes of one log-in after the other."""
    problems: list[str] = []
    for login in dict.fromkeys(scene.login for scene in scenes):
        with open_look(browser, *window) as look:
            if login:
                enter(look, url, login)
            for scene in scenes:
                if scene.login == login:
                    show(look, url, scene, numbers, folder)
            problems += look.problems
    return problems


def test_one_of_each_kind_can_be_shown_to_a_customer(chromium: Browser, url: str) -> None:
    numbers = find_numbers()
    by_kind = {scene.kind: scene for scene in reversed(STATES)}
    wanted = ("campaign-paths", "campaign-impact", "attribute-list")
    pages = [scene for scene in list_pages() if scene.name in wanted]
    scenes = [*by_kind.values(), *pages]
    assert len(scenes) >= 7
    problems = look_at(chromium, url, scenes, numbers, (1280, "light"))
    problems += look_at(chromium, url, scenes, numbers, (390, "dark"))
    assert problems == []


@pytest.mark.look
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_and_state_can_be_shown_to_a_customer(
    chromium: Browser, url: str, width: int, scheme: str
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    scenes, window = [*list_pages(), *STATES], (width, scheme)
    problems = look_at(chromium, url, scenes, find_numbers(), window, PICTURES)
    with running_pages(TREELINE_DEBUG="1") as developers:
        problems += look_at(chromium, developers.url, [COMPONENTS], {}, window, PICTURES)
    assert problems == []

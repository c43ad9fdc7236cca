"""The home and the menu of those who trade on the exchange: each finds their own side of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Role
from exchange.market.models import Booking, Campaign, Edge
from exchange.reading.passing import measure_passing
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from exchange.web.templatetags.treeline import share
from tests.trading import Exchange, House, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db
DAY = date(2026, 11, 16)


@pytest.fixture(autouse=True)
def log(settings: Settings, tmp_path: Path) -> Path:
    settings.VISIT_LOG_DIR = tmp_path
    return tmp_path


def write_log(log: Path, **columns: Sequence[object]) -> None:
    folder = log / f"dt={DAY}"
    folder.mkdir()
    names = {name.replace("__", "."): values for name, values in columns.items()}
    pq.write_table(pa.table(names), folder / "part-00000.parquet")


def menu(html: str) -> list[str]:
    inside = html.partition('aria-label="Main"')[2].partition("</nav>")[0]
    return re.findall(r"</svg>([^<]+)</a>", inside)


def open_home(log_in: LogIn, house: House, role: Role = Role.ADMIN) -> tuple[Client, str]:
    client = log_in(house.people[role])
    return client, unescape(client.get("/").content.decode())


def test_a_publisher_sees_what_is_booked_what_passes_and_its_visits(
    exchange: Exchange, log_in: LogIn, log: Path
) -> None:
    write_log(
        log,
        publisher__id=["herald"] * 4 + ["other"] * 4,
        device__type=["ctv", "ctv", "ctv", None] + ["phone"] * 4,
    )
    run = ReportRun.objects.create(first_day=DAY, last_day=DAY, status="done")
    herald = exchange.herald.party
    DailyVisits.objects.create(day=DAY, publisher=herald, visits=400, run=run)
    EligibleVisits.objects.create(
        day=DAY, campaign=exchange.campaign, publisher=herald, eligible_visits=300, run=run
    )
    _, html = open_home(log_in, exchange.herald)
    assert f'<a href="/bookings/{exchange.booking.pk}/">Summer</a>' in html
    assert "Northgate → Southgate → Soda" in html
    assert "3 of 4 visits of 2026-11-16" in html
    assert ">75 %<" in html
    assert ">400<" in html
    assert ">300<" in html
    assert "Create the first campaign" not in html


def test_a_publisher_is_offered_no_campaigns(exchange: Exchange, log_in: LogIn) -> None:
    client, html = open_home(log_in, exchange.herald)
    assert "Campaigns" not in menu(html)
    assert "Snapshots" not in menu(html)
    assert {"Today", "Bookings", "Edges", "Try a visit", "Reports", "API keys"} <= set(menu(html))
    Booking.objects.update(is_active=False)
    for address in ("/", "/campaigns/", "/bookings/?q=nothing", "/bookings/"):
        page = client.get(address).content.decode()
        assert "/campaigns/new/" not in page, address
        assert "/bookings/new/" not in page, address
    assert "/edges/new/" in client.get("/edges/").content.decode()


def test_an_advertiser_sees_its_campaigns_and_how_they_stand(
    exchange: Exchange, log_in: LogIn
) -> None:
    Campaign.objects.create(advertiser=exchange.soda.party, name="Autumn", expression="true")
    run = ReportRun.objects.create(first_day=DAY, last_day=DAY, status="done")
    herald = exchange.herald.party
    DailyVisits.objects.create(day=DAY, publisher=herald, visits=400, run=run)
    EligibleVisits.objects.create(
        day=DAY, campaign=exchange.campaign, publisher=herald, eligible_visits=321, run=run
    )
    client, html = open_home(log_in, exchange.soda)
    assert html.index("Autumn") < html.index("Summer")
    assert ">Draft</span>" in html
    assert ">321</a>" in html
    assert "Winter" not in html
    assert "What your edges let pass" not in html
    assert "Campaigns" in menu(html)
    assert "/campaigns/new/" in client.get("/campaigns/").content.decode()
    assert "/edges/new/" not in client.get("/edges/").content.decode()


def test_one_without_a_campaign_is_invited_to_write_the_first(
    exchange: Exchange, log_in: LogIn
) -> None:
    Campaign.objects.filter(advertiser=exchange.rival.party).update(retired_at="2026-11-01T00:00Z")
    assert "Create the first campaign" in open_home(log_in, exchange.rival)[1]
    assert "Create the first" not in open_home(log_in, exchange.rival, Role.VIEWER)[1]


def test_an_intermediary_sees_its_edges(exchange: Exchange, log_in: LogIn) -> None:
    _, html = open_home(log_in, exchange.northgate)
    assert "Herald → Northgate" in html
    assert "Northgate → Southgate" in html
    assert "Southgate → Soda" not in html
    assert not {"Campaigns", "Bookings", "Reports"} & set(menu(html))


def test_the_exchanges_own_people_have_the_dashboard(exchange: Exchange, log_in: LogIn) -> None:
    html = log_in(exchange.operators[Role.VIEWER]).get("/").content.decode()
    assert "The exchange in figures" in html
    assert "Campaigns" in menu(html)


def logs_that_say_nothing(log: Path) -> Iterator[None]:
    yield None
    write_log(log, device__type=["ctv"])
    yield None
    (log / f"dt={DAY}" / "part-00000.parquet").write_bytes(b"torn")
    yield None


def test_without_a_readable_log_nothing_is_said(exchange: Exchange, log: Path) -> None:
    edges = list(Edge.objects.with_parties().filter(pk=exchange.first_edge.pk))
    for _ in logs_that_say_nothing(log):
        [passing] = measure_passing(edges)
        assert (passing.passed, passing.percent) == (None, None)


@pytest.mark.parametrize(
    ("percent", "words"),
    [(0, "0 %"), (0.4, "under 1 %"), (50.4, "50 %"), (99.7, "over 99 %"), (100, "100 %")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(percent: float, words: str) -> None:
    assert share(percent) == words


def test_a_small_share_of_a_report_is_not_nothing() -> None:
    shares = [share(percent, 1) for percent in (0, 0.006, 0.14, 99.96, 100)]
    assert shares == ["0.0 %", "under 0.1 %", "0.1 %", "over 99.9 %", "100.0 %"]

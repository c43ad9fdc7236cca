"""What the catalogue's pages say about sampled visits, and what they keep to themselves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import User
from exchange.market.models import Attribute
from tests.web.conftest import LogIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def log(tmp_path: Path, settings: Settings) -> Path:
    settings.VISIT_LOG_DIR = tmp_path / "visits"
    return tmp_path / "visits"


@pytest.fixture
def reader(dave: User, log: Path, log_in: LogIn) -> Client:
    return log_in(dave)


@pytest.fixture
def traffic(log: Path) -> None:
    """Writes 40 visits: all say their country, 30 of them Germany, ten their age, each its own
    city."""
    columns = {
        "geo.country": ["FRA" if n % 4 == 0 else "DEU" for n in range(40)],
        "user.age": [30 if n < 10 else None for n in range(40)],
        "device.ip": [f"203.0.113.{n}" for n in range(40)],
        "geo.city": [f"Town {n:02}" for n in range(40)],
    }
    path = log / "dt=2026-11-16" / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(columns), path)


def show(reader: Client, name: str) -> str:
    return reader.get(f"/attributes/{Attribute.objects.get(name=name).pk}/").text


@pytest.mark.usefixtures("traffic")
def test_says_how_often_visits_carry_it_and_its_values(reader: Client) -> None:
    assert "100.0 % of 40 sampled visits of 2026-11-16" in show(reader, "geo.country")
    countries = show(reader, "geo.country")
    assert '<code>DEU</code> <span class="soft">75.0 %</span>' in countries
    assert countries.index("DEU</code>") < countries.index("FRA</code>")
    assert "25.0 % of 40 sampled visits" in show(reader, "user.age")
    cities = show(reader, "geo.city")
    assert cities.count("<code>Town") == 20
    assert "+20" in cities
    assert "the log has no column of it" in show(reader, "device.os")


@pytest.mark.usefixtures("traffic")
def test_the_list_has_rate_and_count(reader: Client) -> None:
    answer = reader.get("/attributes/?q=geo.c")
    carried = {
        row.name: answer.context["carried"].get(row.pk)
        for row in answer.context["listing"].page.rows
    }
    assert (carried["geo.country"].percent, carried["geo.country"].value_count) == (100, 2)
    assert "40 sampled visits of 2026-11-16" in answer.text


@pytest.mark.usefixtures("traffic")
def test_values_about_persons_are_not_shown(reader: Client) -> None:
    Attribute.objects.filter(name="geo.city").update(is_personal=True)
    html = show(reader, "geo.city")
    assert "Town" not in html
    assert "they are about persons" in html


def test_without_a_log_nothing_is_claimed(reader: Client) -> None:
    assert "not known: no visits are logged yet" in show(reader, "geo.country")
    assert "No visits are logged yet" in reader.get("/attributes/").text

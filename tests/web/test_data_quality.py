"""What the night says about the traffic's data, on the pages of the catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest_django import Settings

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Attribute
from exchange.reports.data_quality import read_newest
from tests.people import hire
from tests.web.conftest import LogIn

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def reports(settings: Settings, tmp_path: Path) -> Path:
    settings.REPORT_DIR = tmp_path / "reports"
    settings.VISIT_LOG_DIR = str(tmp_path / "visits")
    return tmp_path / "reports"


def write_night(out: Path, **tables: list[dict[str, Any]]) -> None:
    folder = out / "data_quality" / "dt=2026-11-16"
    manifest: dict[str, Any] = {"format": 1, "tables": {}}
    for name, rows in tables.items():
        path = folder / "run-1" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path)
        manifest["tables"][name] = {"files": [f"run-1/{name}.parquet"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    read_newest.cache_clear()


def measured(attribute: str, fill_rate: float, drift: float | None, **odd: int) -> dict[str, Any]:
    counts = {"wrong_type": 0, "unknown_values": 0, "distinct_values": 7} | odd
    rates = {"visits": 4_000, "fill_rate": fill_rate, "drift": drift}
    return {"attribute": attribute, **rates, **counts}


@pytest.fixture
def night(reports: Path) -> None:
    attributes = [
        measured("geo.country", 0.25, -0.5, wrong_type=12),
        measured("device.type", 1.0, 0.01),
    ]
    unmapped = [{"key": "shoe.size", "rows": 7}, {"key": "user.mood", "rows": 1_200}]
    write_night(reports, attributes=attributes, unmapped=unmapped)


@pytest.mark.usefixtures("night")
def test_keys_that_no_attribute_maps_are_listed_and_can_be_added(bob: User, log_in: LogIn) -> None:
    browser = log_in(bob)
    answer = browser.get("/attributes/")
    assert answer.context["quality"].unmapped == (("user.mood", 1_200), ("shoe.size", 7))
    assert "in the log of 16 Nov 2026" in answer.text
    assert 'href="/attributes/new/?name=user.mood"' in answer.text
    form = browser.get("/attributes/new/?name=user.mood").context["form"]
    assert form["name"].value() == "user.mood"


@pytest.mark.usefixtures("night")
def test_a_page_of_an_attribute_tells_last_nights_rate_and_its_drift(
    dave: User, log_in: LogIn
) -> None:
    def show(name: str) -> str:
        return log_in(dave).get(f"/attributes/{Attribute.objects.get(name=name).pk}/").text

    country = show("geo.country")
    assert "25.0 % of all 4,000 visits of 16 Nov 2026" in country
    assert '<span class="badge warn">-50.0 points</span>' in country
    assert "12 of a wrong type" in country
    assert "<span>+1.0 points</span>" in show("device.type")


@pytest.mark.usefixtures("night")
def test_others_are_not_told_which_keys_publishers_send(log_in: LogIn) -> None:
    soda = Organisation.objects.create(name="Soda Ltd")
    answer = log_in(hire("sue", Role.ADMIN, soda)).get("/attributes/")
    assert "user.mood" not in answer.text


def test_before_the_first_night_it_says_so(bob: User, log_in: LogIn) -> None:
    assert "Not measured yet" in log_in(bob).get("/attributes/").text

"""The pages of the night's reports: figures, filters, downloads, the code for a notebook."""

from __future__ import annotations

import csv
import io
import json
import os
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Role
from exchange.market.models import Booking, Campaign
from exchange.reports.models import DailyVisits, ReportRun
from exchange.reports.night.catalogue import REPORTS
from tests.reports.night.written import EARLIER, NIGHT, reach, write_funnel, write_night
from tests.trading import Exchange


@pytest.fixture
def analyst(client: Client, exchange: Exchange, nights: Path, settings: Settings) -> Client:
    """Logs in somebody of the exchange, at an empty catalogue."""
    settings.VISIT_LOG_DIR = nights / "visits"
    client.force_login(exchange.operators[Role.ANALYST])
    return client


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def content_of(client: Client, address: str) -> bytes:
    response: Any = client.get(address)
    assert response.status_code == 200, address
    return b"".join(response.streaming_content) if response.streaming else response.content


def write_all(nights: Path, exchange: Exchange) -> None:
    """Writes a row in every table of the catalogue."""
    summer, edge = exchange.campaign.pk, exchange.first_edge.pk
    values: dict[str, Any] = {
        "campaign_id": summer,
        "partner_id": exchange.rival_campaign.pk,
        "publisher": "herald",
        "edge": str(edge),
        "name": "campaign",
        "target_day": NIGHT,
        "chain": ["herald.example/herald", "northgate.example/northgate"],
        "is_complete": True,
        "window_days": 7,
    }
    jobs: dict[str, dict[str, Any]] = {}
    for report in REPORTS.values():
        row = {
            each.name: values.get(each.name, 3 if each.is_number else "word")
            for each in report.columns
        }
        jobs.setdefault(report.job, {})[report.table] = [row] if row else [{"visit_id": "v1"}]
    for job, tables in jobs.items():
        write_night(nights, job, tables)


def test_every_report_has_a_page_a_picture_and_downloads(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    for slug in REPORTS:
        assert "Not counted yet" in text_of(analyst, f"/reports/{slug}/")
        assert analyst.get(f"/reports/{slug}/rows.csv").status_code == 404
    write_all(nights, exchange)
    for slug, report in REPORTS.items():
        page = text_of(analyst, f"/reports/{slug}/")
        assert str(NIGHT) in page, slug
        assert "/reports/why-figures-differ/" in page
        assert ('class="chart bars wide"' in page) == (report.bars is not None), slug
        assert text_of(analyst, f"/reports/{slug}/picture/")
        head = content_of(analyst, f"/reports/{slug}/rows.csv").decode("utf-8-sig").split("\r\n")[0]
        assert set(report.names) <= set(head.split(","))
        rows = pd.read_parquet(io.BytesIO(content_of(analyst, f"/reports/{slug}/rows.parquet")))
        assert set(report.names) <= set(rows.columns)
        assert len(rows) == 1
    catalogue = text_of(analyst, "/reports/")
    assert catalogue.count(f"Day {NIGHT}, counted") == len(REPORTS)


def test_filters_and_order_are_in_the_address(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    summer, winter = exchange.campaign.pk, exchange.rival_campaign.pk
    rows = [reach(summer, 300), reach(winter, 400), reach(summer, 50, 1)]
    write_night(nights, "reach", {"reach": rows})
    write_night(nights, "reach", {"reach": [reach(summer, 77)]}, EARLIER)
    assert users_of(analyst, "") == ["300", "400"]  # of 7 days, as the page shows first
    assert users_of(analyst, "?choice=1") == ["50"]
    assert users_of(analyst, f"?campaign={winter}") == ["400"]
    assert users_of(analyst, "?q=summ") == ["300"]
    assert users_of(analyst, f"?day={EARLIER}") == ["77"]
    page = text_of(analyst, "/reports/reach/?sort=users")
    assert page.index(">300</td>") < page.index(">400</td>")
    assert 'aria-sort="ascending"' in page
    page = text_of(analyst, "/reports/reach/?sort=-users")
    assert page.rindex(">300</td>") > page.rindex(">400</td>")
    for nonsense in ("?day=yesterday", "?sort=password", "?page=99999", "?campaign=x", "?choice=9"):
        assert users_of(analyst, nonsense) == ["300", "400"], nonsense


def users_of(client: Client, query: str) -> list[str]:
    text = content_of(client, f"/reports/reach/rows.csv{query}").decode("utf-8-sig")
    found = sorted(row["users"] for row in csv.DictReader(io.StringIO(text)))
    page = text_of(client, f"/reports/reach/{query}")
    assert all(f'class="number">{users}</td>' in page for users in found)
    return found


def test_a_day_that_is_counted_again_replaces_itself(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    write_night(nights, "reach", {"reach": [reach(exchange.campaign.pk, 300)]})
    assert users_of(analyst, "") == ["300"]
    write_night(nights, "reach", {"reach": [reach(exchange.campaign.pk, 310)]}, run="run-2")
    assert users_of(analyst, "") == ["310"]


def test_the_shown_code_opens_what_the_page_shows(
    analyst: Client, exchange: Exchange, nights: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """Runs the cell of the page, that of the notebook, and the one for the reports' folder."""
    summer, winter = exchange.campaign.pk, exchange.rival_campaign.pk
    rows = [reach(summer, 300), reach(winter, 400), reach(summer, 50, 1)]
    write_night(nights, "reach", {"reach": rows})
    monkeypatch.chdir(tmp_path)
    response: Any = analyst.get("/reports/reach/rows.parquet")
    name = response["Content-Disposition"].split('"')[1]
    (tmp_path / name).write_bytes(b"".join(response.streaming_content))
    notebook = json.loads(content_of(analyst, "/reports/reach/notebook.ipynb"))
    (cell,) = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    shown, whole = cells_of(analyst, "/reports/reach/")
    assert "".join(cell["source"]) == shown
    found = run_cell(shown)
    assert found["campaign_id"].tolist() == [winter, summer]
    monkeypatch.setitem(os.environ, "TREELINE_REPORT_DIR", str(nights))
    assert sorted(run_cell(whole)["users"].tolist()) == [50, 300, 400]


def cells_of(client: Client, address: str) -> list[str]:
    page = text_of(client, address)
    return [unescape(part.split("</pre>")[0].split(">", 1)[1]) for part in page.split("<pre")[1:]]


def run_cell(code: str) -> pd.DataFrame:
    """Runs a cell as a notebook does: the last line is what it shows."""
    *lines, last = code.splitlines()
    space: dict[str, Any] = {}
    exec("\n".join([*lines, f"shown = {last}"]), space)  # noqa: S102, it is what is tested
    frame: pd.DataFrame = space["shown"]
    return frame


def test_the_funnel_of_a_campaign_is_drawn_in_its_order(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    write_funnel(nights, exchange)
    page = text_of(analyst, f"/reports/funnel/?campaign={exchange.campaign.pk}")
    drawn = page.split('class="chart bars wide"')[1].split("</svg>")[0]
    steps = ["Herald → Northgate", "Northgate → Southgate", "targeting"]
    places = [drawn.index(step) for step in steps]
    assert places == sorted(places)
    assert "600 of 1,000" in drawn
    assert "300 lost to false" in drawn
    assert "100 lost to unknown" in drawn


def test_a_campaign_without_rows_says_why_instead_of_zero(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    run = ReportRun.objects.create(
        first_day=NIGHT, last_day=NIGHT, status="done", started_at="2026-11-15T02:00Z"
    )
    DailyVisits.objects.create(day=NIGHT, publisher=exchange.herald.party, visits=9, run=run)
    late = Campaign.objects.create(advertiser=exchange.soda.party, name="Late", status="live")
    write_night(nights, "reach", {"reach": [reach(exchange.campaign.pk, 300)]})
    page = text_of(analyst, f"/reports/reach/?campaign={late.pk}")
    assert "Did not exist yet when these days were counted" in page


def test_a_damaged_table_is_told_in_words(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    write_night(nights, "reach", {"reach": [reach(exchange.campaign.pk, 300)]})
    (nights / f"reach/dt={NIGHT}/run-1/reach/part-0.parquet").write_bytes(b"not a table")
    assert "cannot be read" in text_of(analyst, "/reports/reach/")
    assert "cannot be read" in text_of(analyst, "/reports/reach/picture/")


def test_conditions_that_are_to_blame_for_nothing_alone_are_not_listed(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    """The table has them, because of the visits that lack a value for them."""
    of_booking = {"booking_id": 1, "campaign_id": exchange.campaign.pk, "publisher": "herald"}
    rows = [
        of_booking | {"condition": text, "visits": visits, "visits_false": 9, "visits_missing": 9}
        for text, visits in (("user.age > 30", 5), ("user.age > 3", 0))
    ]
    write_night(nights, "funnel", {"blockers": rows})
    assert "1 of" in text_of(analyst, "/reports/blockers/").split('id="rows"')[1][:200]
    found = pd.read_parquet(io.BytesIO(content_of(analyst, "/reports/blockers/rows.parquet")))
    assert found["condition"].tolist() == ["user.age > 30"]
    write_night(nights, "funnel", {"blockers": rows[1:]}, run="run-2")
    assert "No condition alone keeps" in text_of(analyst, "/reports/blockers/")


def test_a_publisher_reads_what_is_sold_through_each_of_its_edges(
    client: Client, exchange: Exchange, nights: Path
) -> None:
    """Compares with sums by hand over the funnels of its bookings."""
    Booking.objects.create(campaign=exchange.rival_campaign, publisher=exchange.herald.party)
    write_funnel(nights, exchange)
    client.force_login(exchange.herald.people[Role.VIEWER])
    row = text_of(client, "/reports/sold/").split('id="rows"')[1].split("<tbody>")[1]
    cells = [cell.split("<")[0] for cell in row.split('class="number">')[1:]]
    # bookings, offered, passed, pass rate, excluded, not known, eligible
    assert cells == ["2", "2,000", "1,200", "60.0 %", "600", "200", "470"]
    assert "Summer" in row
    assert "Winter" in row
    client.force_login(exchange.soda.people[Role.ADMIN])
    assert "No publisher of yours" in text_of(client, "/reports/sold/")


def test_why_figures_differ_is_a_page(analyst: Client) -> None:
    page = text_of(analyst, "/reports/why-figures-differ/").split("<h1>")[1]
    assert "<strong>late visits</strong>" in page
    assert page.count("<li>") > 4
    assert "<td" in page
    assert "**" not in page
    assert "](" not in page
    assert "Files:" not in page


def test_a_night_of_no_rows_is_not_a_night_that_is_missing(
    analyst: Client, exchange: Exchange, nights: Path
) -> None:
    write_night(nights, "quarantine", {"rows": []})
    page = text_of(analyst, "/reports/quarantine/")
    assert "Every row of the log was counted." in page
    rows = pd.read_parquet(io.BytesIO(content_of(analyst, "/reports/quarantine/rows.parquet")))
    assert rows.empty
    write_night(nights, "forecast", {"expected": []})  # by a job that did not look for errors yet
    assert "Not counted yet" in text_of(analyst, "/reports/forecast-error/")

"""The list of campaigns: search in targeting, order, clone, CSV, sparklines, and kept views."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from exchange.accounts.models import Role, SavedView, User
from exchange.accounts.saved_views import MOST_VIEWS
from exchange.market.models import Campaign, Party
from exchange.market.uses import refresh_uses
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def fleet(soda: Party) -> list[Campaign]:
    """Makes three campaigns that differ in all that can be sorted by and searched for."""
    rows = [
        ("Bikes", "device.type = 'phone' and geo.city in ('Berlin', 'Bonn')", "3.00", 20),
        ("Anchors", "geo.country = 'DEU' and user.segments one of ('sailing')", "1.00", None),
        ("Coats", "geo.country = 'FRA'", "2.00", 10),
    ]
    made = [
        Campaign.objects.create(
            advertiser=soda,
            name=name,
            expression=expression,
            bid_cpm=bid,
            starts_at=START,
            ends_at=None if days is None else START + timedelta(days=days),
            status="draft",
        )
        for name, expression, bid, days in rows
    ]
    refresh_uses()
    return made


@pytest.fixture
def reader(dave: User, log_in: LogIn) -> Client:
    return log_in(dave)


def names(client: Client, address: str) -> list[str]:
    return [row.name for row in client.get(address).context["listing"].page.rows]


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("", ["Coats", "Anchors", "Bikes"]),
        ("name", ["Anchors", "Bikes", "Coats"]),
        ("-name", ["Coats", "Bikes", "Anchors"]),
        ("bid", ["Anchors", "Coats", "Bikes"]),
        ("-bid", ["Bikes", "Coats", "Anchors"]),
        ("ends", ["Coats", "Bikes", "Anchors"]),
        ("-ends", ["Anchors", "Bikes", "Coats"]),
        ("nonsense", ["Coats", "Anchors", "Bikes"]),
    ],
)
def test_is_sorted_as_the_address_says(reader: Client, sort: str, expected: list[str]) -> None:
    assert names(reader, f"/campaigns/?sort={sort}") == expected
    assert names(reader, f"/campaigns/?sort={sort}&status=draft&q=solberg") == expected


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("sort", ["name", "-name", "bid", "-bid", "ends", "-ends"])
def test_every_order_walks_through_all_pages_and_back(reader: Client, sort: str) -> None:
    first = reader.get(f"/campaigns/?sort={sort}").context["listing"].page
    second = reader.get(f"/campaigns/?sort={sort}&after={first.after}").context["listing"].page
    back = reader.get(f"/campaigns/?sort={sort}&before={second.before}").context["listing"].page
    assert len({row.pk for row in first.rows + second.rows}) == Campaign.objects.count()
    assert [row.pk for row in back.rows] == [row.pk for row in first.rows]


@pytest.mark.usefixtures("crowd")
def test_a_cursor_of_another_order_is_a_page_that_does_not_exist(reader: Client) -> None:
    cursor = reader.get("/campaigns/?sort=name").context["listing"].page.after
    assert reader.get(f"/campaigns/?sort=ends&after={cursor}").status_code == 404
    assert reader.get(f"/campaigns/?sort=bid&after={cursor}").status_code == 404


@pytest.mark.usefixtures("crowd")
def test_more_than_can_be_sorted_are_told_and_stay_newest_first(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.web.campaign_lists.MOST_SORTED", 20)
    monkeypatch.setattr("exchange.web.views.campaign_lists.MOST_SORTED", 20)
    answer = reader.get("/campaigns/?sort=name&q=crowd")
    assert "More than 20 campaigns match, so they are not sorted by name" in answer.text
    assert answer.context["listing"].page.rows[0].name == "Crowd 059"
    assert names(reader, "/campaigns/?sort=name")[0] == "Crowd 000", "all of them have an index"
    assert names(reader, "/campaigns/?sort=name&q=crowd+00")[0] == "Crowd 000"


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("berlin", ["Bikes"]),
        ("phone berl", ["Bikes"]),
        ("phone sailing", []),
        ("Visits from Germany", ["Anchors"]),
        ("germany", ["Anchors"]),
        ("country", ["Anchors", "Coats"]),
        ("Visits from FRA", ["Coats"]),
        ("in audience sailing", ["Anchors"]),
        ("visits from", ["Anchors", "Bikes", "Coats"]),
        ("'; drop table", []),
    ],
)
def test_is_searched_by_words_of_the_targeting_or_its_sentence(
    reader: Client, monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]
) -> None:
    address = f"/campaigns/?targeting={text}"
    assert sorted(names(reader, address)) == expected
    assert names(reader, f"{address}&sort=name") == expected
    monkeypatch.setattr("exchange.market.querysets.NEWEST_TRIED", 1)
    monkeypatch.setattr("exchange.market.querysets.FREQUENT_SHARE", 2)
    assert sorted(names(reader, address)) == expected, "through the index"


def test_says_each_targeting_as_a_sentence_and_which_does_not_compile(
    reader: Client, fleet: list[Campaign]
) -> None:
    Campaign.objects.filter(pk=fleet[0].pk).update(expression="geo.nowhere = 1")
    html = reader.get("/campaigns/").text
    assert "Visits from FRA" in html
    assert "Does not compile" in html


def test_draws_the_eligible_visits_of_the_reported_days(
    reader: Client, fleet: list[Campaign], herald: Party
) -> None:
    assert "no report yet" in reader.get("/campaigns/").text
    last = date(2026, 11, 10)
    run = ReportRun.objects.create(first_day=last, last_day=last, status="done")
    for day, count in ((last - timedelta(days=1), 40), (last, 1234)):
        DailyVisits.objects.create(day=day, publisher=herald, visits=5000, run=run)
        EligibleVisits.objects.create(
            day=day, campaign=fleet[0], publisher=herald, eligible_visits=count, run=run
        )
    html = reader.get("/campaigns/").text
    assert "Eligible visits: 1,234 on the last day, 1,274 in" in html
    assert "Eligible visits: 0 on the last day, 0 in" in html


def read_csv(client: Client, address: str) -> list[dict[str, str]]:
    answer = client.get(address)
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


@pytest.mark.usefixtures("fleet")
def test_downloads_what_is_shown_in_its_order(reader: Client) -> None:
    rows = read_csv(reader, "/campaigns/campaigns.csv?targeting=country&sort=-name")
    assert [row["campaign"] for row in rows] == ["Coats", "Anchors"]
    assert rows[0]["status"] == "Draft"
    assert rows[0]["targeting"] == "geo.country = 'FRA'"
    assert rows[1]["ends_at"] == ""


@pytest.mark.usefixtures("crowd")
def test_the_download_has_all_pages_piece_by_piece(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.web.campaign_lists.ROWS_PER_PIECE", 7)
    rows = read_csv(reader, "/campaigns/campaigns.csv?q=crowd")
    assert [row["campaign"] for row in rows] == [f"Crowd {n:03}" for n in reversed(range(60))]


def test_a_name_that_a_spreadsheet_would_run_is_plain_text(reader: Client, soda: Party) -> None:
    Campaign.objects.create(advertiser=soda, name="=1+1", expression="true")
    assert read_csv(reader, "/campaigns/campaigns.csv")[0]["campaign"] == "'=1+1"


def test_others_are_neither_listed_nor_downloaded_nor_cloned(exchange: Exchange) -> None:
    client = Client()
    client.force_login(exchange.rival.people[Role.CAMPAIGN_MANAGER])
    for address in ("/campaigns/", "/campaigns/?sort=name", "/campaigns/?targeting=country"):
        assert names(client, address) == ["Winter"]
    rows = read_csv(client, "/campaigns/campaigns.csv?targeting=country")
    assert [row["campaign"] for row in rows] == ["Winter"]
    assert client.get(f"/campaigns/new/?from={exchange.campaign.pk}").status_code == 404


def test_a_clone_is_a_draft_with_all_that_the_first_one_has(
    alice: User, log_in: LogIn, fleet: list[Campaign]
) -> None:
    source = fleet[0]
    Campaign.objects.filter(pk=source.pk).update(status="live", labels=["brand"])
    form = log_in(alice).get(f"/campaigns/new/?from={source.pk}").context["form"]
    assert form["name"].value() == "Bikes (copy)"
    assert form["status"].value() == "draft"
    assert form["expression"].value() == source.expression
    assert form["labels"].value() == "brand"
    assert str(form["bid_cpm"].value()) == source.bid_cpm


def save(client: Client, name: str, query: str) -> str:
    return client.post(
        reverse("campaign-view-save"), {"name": name, "query": query}, follow=True
    ).text


@pytest.mark.usefixtures("fleet")
def test_a_view_is_kept_shown_and_removed(dave: User, reader: Client) -> None:
    html = save(reader, "Cheap drafts", "sort=bid&status=draft&q=&after=abc")
    view = SavedView.objects.get()
    assert view.query == "sort=bid&status=draft"
    assert f'href="/campaigns/?{view.query.replace("&", "&amp;")}" aria-current="page"' in html
    save(reader, "Cheap drafts", "sort=bid")
    assert SavedView.objects.get().query == "sort=bid"
    reader.post(reverse("campaign-view-remove", args=[view.pk]))
    assert not SavedView.objects.exists()


def test_a_view_is_for_its_person_alone(reader: Client, alice: User, log_in: LogIn) -> None:
    save(reader, "Mine", "sort=bid")
    other = log_in(alice)
    assert "Mine" not in other.get("/campaigns/").text
    other.post(reverse("campaign-view-remove", args=[SavedView.objects.get().pk]))
    assert SavedView.objects.exists()


def test_a_view_of_everything_or_without_a_name_is_refused(reader: Client) -> None:
    assert "The view is not saved" in save(reader, "All", "q=")
    assert "The view is not saved" in save(reader, " ", "sort=bid")
    assert "The view is not saved" in save(reader, "x" * 41, "sort=bid")
    for number in range(MOST_VIEWS):
        save(reader, f"View {number}", "sort=bid")
    assert "Remove one first" in save(reader, "One more", "sort=bid")

"""The live impact of an expression: stages through a campaign's bookings, what limits most, and who
may know it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Edge
from exchange.reports.sample_table import find_newest
from targeting import parse
from tests.reports.samples import as_visit, draw_visits, write_sample
from tests.trading import Exchange, House, exchange, sell

__all__ = ["exchange"]

TEXT = "user.age > 30 and device.type = 'ctv' and geo.country in ('USA', 'CAN')"
EDGES = ("device.type = 'ctv'", "geo.country = 'USA'", "not site.page contains 'casino'")


@pytest.fixture(autouse=True)
def report_folder(tmp_path: Path, settings: Settings) -> Path:
    find_newest.cache_clear()
    settings.REPORT_DIR = tmp_path / "reports"
    return tmp_path / "reports"


@pytest.fixture
def visits(exchange: Exchange, report_folder: Path) -> list[Any]:
    """Draws visits, half of them on a page that says what it is."""
    drawn = [
        {**visit, "site.page": "https://a.example/" if number % 2 else None}
        for number, visit in enumerate(draw_visits(600))
    ]
    write_sample(report_folder, drawn)
    return drawn


def post(person: User, **body: Any) -> Any:
    client = Client()
    client.force_login(person)
    return client.post("/api/v1/expressions:impact", body, content_type="application/json")


def ask(person: User, **body: Any) -> Any:
    answer = post(person, **body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def manager(house: House) -> User:
    return house.people[Role.CAMPAIGN_MANAGER]


def weigh(visits: list[Any], *texts: str, publisher: str | None = None) -> float:
    """Sums the visits a day of which all texts are true, by the plain evaluator."""
    read = [parse(text, load_catalog()) for text in texts]
    of_all_days = sum(
        visit["sample_weight"]
        for visit in visits
        if publisher in (None, visit["publisher.id"])
        and all(each.evaluate(as_visit(visit)) is True for each in read)
    )
    return float(of_all_days / 3)


def test_before_the_first_night_it_says_so(exchange: Exchange) -> None:
    assert ask(manager(exchange.soda), text="true") == {"counted": False}


def test_stages_lead_through_the_edges_of_the_bookings(
    exchange: Exchange, visits: list[Any]
) -> None:
    found = ask(manager(exchange.soda), text=TEXT, campaign=exchange.campaign.pk)
    eligible = weigh(visits, TEXT, *EDGES, publisher="herald")
    assert eligible > 10
    assert found["stages"] == {
        "targeting": round(weigh(visits, TEXT)),
        "booked": round(weigh(visits, TEXT, publisher="herald")),
        "eligible": round(eligible),
    }
    assert found["visits_a_day"] == round(eligible)
    low, high = found["interval"]
    assert low < eligible < high
    before = weigh(visits, "geo.country = 'USA'", *EDGES, publisher="herald")
    assert found["saved"] == {"visits_a_day": round(before), "is_live": True}
    assert (found["sample"], found["days"], found["publishers"]) == (600, 3, 1)
    assert (found["from"], found["to"], found["source"]) == ("2026-11-14", "2026-11-16", "sample")
    # Without the ages there would be more; all that pass the edges are in the USA, on CTV.
    gain = weigh(visits, "user.age <= 30", *EDGES, publisher="herald")
    [limit] = found["limits"]
    assert (limit["path"], limit["gain"]) == ("and.0", round(gain))
    assert limit["words"].endswith("is above 30")


def test_a_booking_on_any_path_takes_the_ways_that_are_open(
    exchange: Exchange, visits: list[Any]
) -> None:
    sell(exchange.herald, exchange.soda, "user.age > 60")
    Booking.objects.update(policy=Booking.Policy.ANY)
    found = ask(manager(exchange.soda), text="true", campaign=exchange.campaign.pk)
    way = " and ".join(f"({edge})" for edge in EDGES)
    expected = weigh(visits, f"({way}) or user.age > 60", publisher="herald")
    assert expected > weigh(visits, way, publisher="herald") > 0
    assert found["stages"]["eligible"] == round(expected)


def test_an_edge_that_does_not_compile_lets_nothing_by(
    exchange: Exchange, visits: list[Any]
) -> None:
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(expression="nothing = 1")
    found = ask(manager(exchange.soda), text="true", campaign=exchange.campaign.pk)
    assert found["stages"]["booked"] > found["stages"]["eligible"] == 0


def test_without_bookings_there_is_the_targeting_alone(
    exchange: Exchange, visits: list[Any]
) -> None:
    document = {"attribute": "geo.country", "operator": "=", "values": ["USA"]}
    found = ask(manager(exchange.rival), document=document, campaign=exchange.rival_campaign.pk)
    usa, canada = (weigh(visits, f"geo.country = '{each}'") for each in ("USA", "CAN"))
    assert found["stages"] == {"targeting": round(usa)}
    assert found["saved"]["visits_a_day"] == round(canada)
    assert found["limits"] == []
    everything = weigh(visits, "true")
    assert found["shares"] == {"": pytest.approx([usa / everything, canada / everything])}


def test_numbers_of_a_campaign_are_its_owners(exchange: Exchange, visits: list[Any]) -> None:
    for house in (exchange.rival, exchange.herald, exchange.northgate):
        answer = post(manager(house), text="true", campaign=exchange.campaign.pk)
        assert answer.status_code == 404
    operator = exchange.operators[Role.CAMPAIGN_MANAGER]
    assert "eligible" in ask(operator, text="true", campaign=exchange.campaign.pk)["stages"]


def test_of_few_people_nothing_is_told_where_a_condition_is_about_persons(
    exchange: Exchange, visits: list[Any]
) -> None:
    told = ask(manager(exchange.soda), text="user.id = 'user-7' and user.age > 1")
    assert told["hidden"] is True
    assert "visits_a_day" not in told
    assert "shares" not in told


def test_few_users_are_told_as_fewer_than_so_many(
    exchange: Exchange, visits: list[Any], settings: Settings
) -> None:
    settings.LEAST_USERS_TOLD = 100_000
    told = ask(manager(exchange.soda), text="geo.country = 'USA'")
    assert (told["users_a_day"], told["users_below"]) == (None, 100_000)
    operator = exchange.operators[Role.CAMPAIGN_MANAGER]
    assert ask(operator, text="geo.country = 'USA'")["users_a_day"] > 0


@pytest.mark.parametrize(
    "body", [{"text": "nothing = 1"}, {"document": {"x": 1}}, {}, {"text": "true", "campaign": "x"}]
)
def test_what_is_wrong_is_refused(exchange: Exchange, body: dict[str, Any]) -> None:
    assert post(manager(exchange.soda), **body).status_code == 400

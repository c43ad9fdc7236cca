"""Overlaps against counting by hand: of the night's tables, and on the sample by the evaluator."""

from __future__ import annotations

import csv
import io
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from exchange.accounts.models import Role, User
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign
from exchange.reading.overlap import read_overlap
from exchange.reports import sample_table
from exchange.reports.small_counts import tell_shared
from targeting import parse
from tests.reports.night.written import NIGHT, nights, write_night
from tests.reports.samples import as_visit, draw_visits, write_sample
from tests.trading import Exchange, exchange

__all__ = ["exchange", "nights"]

TEXTS = ("geo.country = 'USA'", "device.type = 'ctv'", "user.age < 40")


@pytest.fixture
def campaigns(exchange: Exchange) -> list[Campaign]:
    """Makes three of Soda's, booked with the Herald, whose path lets connected TVs in the USA
    pass."""
    exchange.last_edge.expression = "user.age >= 0"
    exchange.last_edge.save()
    made = [
        Campaign.objects.create(
            advertiser=exchange.soda.party, name=f"Aim number {n}", expression=text, status="live"
        )
        for n, text in enumerate(TEXTS)
    ]
    for each in made:
        Booking.objects.create(campaign=each, publisher=exchange.herald.party)
    return made


def test_the_night_is_summed_over_publishers_and_told_by_one(
    exchange: Exchange, nights: Path, campaigns: list[Campaign], client: Client
) -> None:
    one, other, third = (each.pk for each in campaigns)
    write_night(
        nights,
        "overlap",
        {
            "alone": [
                alone("herald", one, 500, 100, 60),
                alone("gazette", one, 300, 50, 40),
                alone("herald", other, 200, 0, 55),
            ],
            "partners": [
                both("herald", one, other, 150, 52),
                both("herald", other, one, 150, 52),
                both("gazette", one, other, 70, 30),
            ],
        },
    )
    analyst = exchange.operators[Role.ANALYST]
    found = read_overlap(analyst, campaigns, None, None)
    assert found is not None
    assert found.day == NIGHT
    assert (found.alone[one].visits, found.alone[one].exclusive) == (800, 150)
    assert found.shared[one, other].visits == 220
    assert found.of(other, one) == found.of(one, other)
    assert found.of(one, third) is None
    assert found.tell_users(one, other) == ""  # of several publishers
    at_herald = read_overlap(analyst, campaigns, exchange.herald.party, None)
    assert at_herald is not None
    assert at_herald.shared[one, other].visits == 150
    assert at_herald.tell_users(one, other) == "52"
    owner = exchange.soda.people[Role.ANALYST]
    told = read_overlap(owner, campaigns, exchange.herald.party, None)
    assert told is not None
    assert told.tell_users(one, other) == "> 45"  # 52 of 55: three are not
    check_page(client, owner, exchange, campaigns)


def check_page(client: Client, owner: User, exchange: Exchange, campaigns: list[Campaign]) -> None:
    client.force_login(owner)
    query = "&".join(f"c={each.pk}" for each in campaigns)
    query += f"&publisher={exchange.herald.party.pk}"
    page = client.get(f"/reports/overlap/?{query}").content.decode()
    assert "&gt; 45 users" in page
    assert "52 users" not in page
    response: Any = client.get(f"/reports/overlap.csv?{query}")
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["visits_both"], row["share"], row["users_both"]) for row in rows] == [
        ("150", "0.3", "> 45"),
        ("150", "0.75", "> 45"),
    ]
    client.force_login(exchange.rival.people[Role.ADMIN])
    assert "Aim number" not in client.get(f"/reports/overlap/?{query}").content.decode()


def alone(publisher: str, pk: int, visits: int, exclusive: int, users: int) -> dict[str, Any]:
    return {
        "publisher": publisher,
        "campaign_id": pk,
        "visits": visits,
        "exclusive_visits": exclusive,
        "users": users,
    }


def both(publisher: str, one: int, other: int, visits: int, users: int) -> dict[str, Any]:
    return {
        "publisher": publisher,
        "campaign_id": one,
        "partner_id": other,
        "rank": 1,
        "visits_both": visits,
        "share_of_visits": 0.5,
        "users_both": users,
    }


def test_without_a_night_the_sample_tells_what_the_evaluator_does(
    exchange: Exchange, nights: Path, campaigns: list[Campaign]
) -> None:
    visits = draw_visits(600)
    write_sample(nights, visits)
    sample_table.find_newest.cache_clear()
    try:
        found = read_overlap(exchange.operators[Role.ANALYST], campaigns, None, None)
    finally:
        sample_table.find_newest.cache_clear()
    assert found is not None
    assert found.day is None
    catalog = load_catalog()
    edges = [exchange.first_edge, exchange.middle_edge, exchange.last_edge]
    rules = [parse(edge.expression, catalog) for edge in edges]
    aims = [parse(text, catalog) for text in TEXTS]

    def is_eligible(number: int, row: dict[str, Any]) -> bool:
        here = row["publisher.id"] == "herald"
        return here and all(each.evaluate(as_visit(row)) is True for each in (*rules, aims[number]))

    def sum_of(*numbers: int) -> float:
        rows = [row for row in visits if all(is_eligible(number, row) for number in numbers)]
        return sum(float(row["sample_weight"]) for row in rows) / len(
            {row["logged_on"] for row in visits}
        )

    for number, campaign in enumerate(campaigns):
        assert found.alone[campaign.pk].visits == pytest.approx(sum_of(number))
    for one, other in combinations(range(len(campaigns)), 2):
        shared = found.of(campaigns[one].pk, campaigns[other].pk)
        assert shared is not None
        assert shared.visits == pytest.approx(sum_of(one, other))
        assert shared.visits > 0


@pytest.mark.parametrize(
    ("shared", "wholes", "words"),
    [
        (None, (50, 60), ""),
        (0, (50, 60), "0"),
        (9, (50, 60), "< 10"),
        (10, (50, 60), "10"),
        (45, (50, 600), "> 40"),
        (45, (600, 50), "> 40"),
        (50, (50, 60), "50"),
        (1200, (5000, None), "1,200"),
    ],
)
def test_what_is_shared_does_not_tell_how_few_are_not(
    shared: int | None, wholes: tuple[int | None, ...], words: str
) -> None:
    assert tell_shared(shared, wholes, 10) == words

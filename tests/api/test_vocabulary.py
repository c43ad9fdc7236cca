"""What the editor offers while one writes: attributes, values, names; and lists that it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.market.models import Audience, ValueList
from exchange.market.services import save_audience
from tests.market.logs import write_log
from tests.trading import Exchange, exchange

__all__ = ["exchange"]

BASE = "/api/v1/"


@pytest.fixture(autouse=True)
def traffic(tmp_path: Path, settings: Settings) -> None:
    settings.VISIT_LOG_DIR = tmp_path / "visits"
    write_log(
        settings.VISIT_LOG_DIR,
        [
            {
                "geo.city": ["Berlin", "Bern", "Berlin", "Oslo"][number % 4],
                "geo.country": ["DEU", "CHE", "DEU", "NOR"][number % 4],
                "user.id": f"someone-{number % 3}",
                "user.segments": ["travel"] if number % 2 else None,
            }
            for number in range(40)
        ],
    )


def entered(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def ask(person: User, path: str, **query: Any) -> Any:
    return entered(person).get(BASE + path, query).json()


def values_of(person: User, attribute: str, q: str = "") -> list[str]:
    found = ask(person, "expressions:values", attribute=attribute, q=q)["values"]
    return [row["value"] for row in found]


def test_attributes_come_with_what_visits_carry(alice: User) -> None:
    rows = {row["name"]: row for row in ask(alice, "expressions:vocabulary")["attributes"]}
    city, segments, age = (rows[n] for n in ("geo.city", "user.segments", "user.age"))
    assert (city["type"], city["fill"], city["top"]) == ("string", 1, ["Berlin", "Bern", "Oslo"])
    assert (segments["fill"], segments["top"]) == (0.5, ["travel"])
    assert (age["fill"], age["top"]) == (None, [])
    assert "phone" in rows["device.type"]["domain"]


def test_values_are_found_by_their_beginning_most_frequent_first(alice: User) -> None:
    assert values_of(alice, "geo.city") == ["Berlin", "Bern", "Oslo"]
    assert values_of(alice, "geo.city", "ber") == ["Berlin", "Bern"]
    assert values_of(alice, "geo.city", "l") == ["Berlin", "Oslo"]
    assert values_of(alice, "device.type", "tab") == ["tablet"]
    assert values_of(alice, "no.such") == []


@pytest.mark.parametrize("typed", ["DE", "germany", "deu"])
def test_countries_are_found_by_their_other_names(alice: User, typed: str) -> None:
    assert values_of(alice, "geo.country", typed)[0] == "DEU"


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("berl", ("geo.city", "Berlin")),
        ("germany", ("geo.country", "DEU")),
        ("tabl", ("device.type", "tablet")),
    ],
)
def test_values_are_found_without_knowing_their_attribute(
    alice: User, typed: str, found: tuple[str, str]
) -> None:
    [first, *_] = ask(alice, "expressions:values", q=typed)["values"]
    assert (first["attribute"], first["value"]) == found
    assert ask(alice, "expressions:values", q=" ") == {"values": []}


def test_what_is_about_one_person_is_never_offered(alice: User) -> None:
    assert values_of(alice, "user.id") == []
    assert ask(alice, "expressions:values", q="someone") == {"values": []}
    rows = {row["name"]: row for row in ask(alice, "expressions:vocabulary")["attributes"]}
    assert rows["user.id"]["top"] == []
    text = "user.id = 'someone-4'"
    answer = entered(alice).post(
        f"{BASE}expressions:validate", {"text": text}, content_type="application/json"
    )
    (unseen,) = answer.json()["warnings"]
    assert (unseen["kind"], unseen["suggestion"]) == ("unseen", "")


def test_pasted_values_tell_which_attribute_has_them(alice: User) -> None:
    asked = [("value", city) for city in ("Bern", "Oslo", "Atlantis")]
    answer = entered(alice).get(f"{BASE}expressions:holder", {"value": [v for _, v in asked]})
    assert answer.json() == {"attribute": "geo.city"}
    nowhere = entered(alice).get(f"{BASE}expressions:holder", {"value": ["Bern", "x", "y"]})
    assert nowhere.json() == {"attribute": None}


def test_only_the_own_audiences_and_lists_are_named(exchange: Exchange) -> None:
    for house in (exchange.soda, exchange.rival):
        audience = Audience(
            organisation=house.organisation,
            name=f"of_{house.party.name.lower()}",
            expression="true",
        )
        save_audience(audience=audience, by=house.admin)

    def names(person: User, **whose: str) -> list[str]:
        return [row["name"] for row in ask(person, "expressions:vocabulary", **whose)["audiences"]]

    assert names(exchange.soda.admin) == ["of_soda"]
    assert names(exchange.soda.admin, party=str(exchange.rival.party.pk)) == ["of_soda"]
    assert names(exchange.operators[Role.ADMIN], party="Soda") == ["of_soda"]
    assert names(exchange.operators[Role.ADMIN]) == []


def keep(person: User, **list_: Any) -> Any:
    return entered(person).post(f"{BASE}lists", list_, content_type="application/json")


def test_values_are_kept_as_a_list_of_the_owner(exchange: Exchange) -> None:
    person = exchange.soda.admin
    answer = keep(person, name="towns", type="string", values=["Bern", "Oslo"])
    assert answer.status_code == 201
    assert answer.json() == {"name": "towns", "type": "string", "value_count": 2}
    assert ValueList.objects.get(name="towns").organisation == exchange.soda.organisation
    (row,) = ask(person, "expressions:vocabulary")["lists"]
    assert row == {"name": "towns", "type": "string", "value_count": 2}
    again = keep(person, name="towns", type="string", values=["Bern"])
    assert (again.status_code, again.json()["errors"][0]["pointer"]) == (400, "/name")


def test_who_may_not_make_lists_keeps_none(exchange: Exchange) -> None:
    viewer = exchange.soda.people[Role.VIEWER]
    answer = keep(viewer, name="towns", type="string", values=["Bern"])
    assert answer.status_code == 403
    assert not ValueList.objects.filter(name="towns").exists()

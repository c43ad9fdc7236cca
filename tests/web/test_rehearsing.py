"""The tick that a save needs which would stop bookings: of edges, audiences, lists and attributes,
of going back to a version, and of retiring an edge."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Attribute, Audience, Booking, Campaign, Edge, ValueList
from exchange.market.services import (
    save_audience,
    save_campaign,
    save_edge,
    save_value_list,
)
from exchange.reading import concerned
from tests.reading.sampled import Visit, nights, visits
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange", "nights", "visits"]

pytestmark = pytest.mark.django_db
HERE = "geo.country = 'CAN'"  # whose visits do not come over the middle edge
ELSEWHERE = "geo.country = 'FRA'"  # whose visits the campaign does not want


@pytest.fixture
def admin(exchange: Exchange, visits: list[Visit]) -> User:
    """Of the exchange, whose audience and list Soda's Summer asks for; a first version of each,
    and of the middle edge, would let nothing by."""
    admin = exchange.operators[Role.ADMIN]
    assert admin.organisation is not None
    audience = Audience(organisation=admin.organisation, name="here", expression=HERE)
    lands = ValueList(organisation=admin.organisation, name="lands", type="string")
    save_audience(audience=audience, by=admin)
    save_value_list(value_list=lands, by=admin, values=["CAN"])
    save_value_list(value_list=lands, by=admin, values=["CAN", "USA"])
    audience.expression = "geo.country is present"
    save_audience(audience=audience, by=admin)
    edge = exchange.middle_edge
    edge.expression = ELSEWHERE
    save_edge(edge=edge, by=admin)
    edge.expression = "geo.country = 'USA'"
    save_edge(edge=edge, by=admin)
    exchange.campaign.expression = "@here and geo.country in $lands"
    save_campaign(campaign=exchange.campaign, by=exchange.soda.admin)
    return admin


Told = dict[str, str]


def edit_edge(exchange: Exchange) -> tuple[str, Told]:
    edge = Edge.objects.get(pk=exchange.middle_edge.pk)
    told = {"seller": str(edge.seller_id), "buyer": str(edge.buyer_id), "fee_percent": "5"}
    told |= {"is_active": "on", "expression": ELSEWHERE, "expected_version": str(edge.version)}
    return reverse("edge-edit", args=[edge.pk]), told


def edit_audience(_: Exchange) -> tuple[str, Told]:
    row = Audience.objects.get(name="here")
    told = {"name": row.name, "organisation": str(row.organisation_id), "expression": HERE}
    return reverse("audience-edit", args=[row.pk]), told


def edit_list(_: Exchange) -> tuple[str, Told]:
    row = ValueList.objects.get(name="lands")
    told = {"name": row.name, "organisation": str(row.organisation_id), "text": "CAN"}
    return reverse("value-list-edit", args=[row.pk]), told


def take_values(_: Exchange) -> tuple[str, Told]:
    row = ValueList.objects.get(name="lands")
    told = {"text": "USA", "action": "remove"}
    return reverse("value-list-change", args=[row.pk]), told


def take_one_value(_: Exchange) -> tuple[str, Told]:
    row = ValueList.objects.get(name="lands")
    return reverse("value-list-change", args=[row.pk]), {"remove": "USA"}


def require_attribute(_: Exchange) -> tuple[str, Told]:
    told = {"name": "site.mood", "type": "string", "is_required": "on"}
    return reverse("attribute-create"), told


def revert_edge(exchange: Exchange) -> tuple[str, Told]:
    return reverse("edge-revert", args=[exchange.middle_edge.pk, 2]), {}


def revert_audience(_: Exchange) -> tuple[str, Told]:
    return reverse("audience-revert", args=[Audience.objects.get(name="here").pk, 1]), {}


def revert_list(_: Exchange) -> tuple[str, Told]:
    return reverse("value-list-revert", args=[ValueList.objects.get(name="lands").pk, 1]), {}


def retire_edge(exchange: Exchange) -> tuple[str, Told]:
    return reverse("edge-retire", args=[exchange.middle_edge.pk]), {}


# What is done, and what its button says then.
WAYS: dict[Callable[[Exchange], tuple[str, Told]], str] = {
    edit_edge: "Save",
    edit_audience: "Save",
    edit_list: "Save",
    take_values: "Remove",
    take_one_value: "Remove",
    require_attribute: "Save",
    revert_edge: "Go back to version 2",
    revert_audience: "Go back to version 1",
    revert_list: "Go back to version 1",
    retire_edge: "Retire it",
}


def state() -> list[Any]:
    """All that one of the ways would change."""
    return [
        *Edge.objects.order_by("pk").values_list("expression", "retired_at"),
        *Audience.objects.values_list("expression"),
        *ValueList.objects.values_list("value_count"),
        Attribute.objects.count(),
    ]


def send(client: Client, way: tuple[str, Told], **more: str) -> tuple[int, str]:
    answer = client.post(way[0], {**way[1], **more})
    return answer.status_code, unescape(answer.content.decode())


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_stops_bookings_needs_a_tick(
    way: Callable[[Exchange], tuple[str, Told]], exchange: Exchange, admin: User, log_in: LogIn
) -> None:
    client, before = log_in(admin), state()
    status, page = send(client, way(exchange))
    assert status == 422
    assert "it would stop 1 booking." in page
    assert f"{WAYS[way]} and stop 1 booking<" in page
    assert "I know that 1 booking of 1 advertiser stops" in page
    assert 'name="stops_confirmed"' in page
    assert "Summer" in page
    assert send(client, way(exchange), stops_confirmed="0")[0] == 422
    assert state() == before
    with transaction.atomic():
        Organisation.objects.filter(is_operator=True).update(unasked_stops=1)
        assert send(log_in(admin), way(exchange))[0] == 302
        transaction.set_rollback(True)
    assert state() == before
    assert send(client, way(exchange), stops_confirmed="1")[0] == 302
    assert state() != before


def test_going_back_to_what_lets_more_by_asks_nothing(
    exchange: Exchange, admin: User, log_in: LogIn
) -> None:
    answer = log_in(admin).post(reverse("edge-revert", args=[exchange.first_edge.pk, 1]))
    assert answer.status_code == 302


def test_of_more_than_are_counted_it_says_so(
    exchange: Exchange, admin: User, log_in: LogIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concerned, "MOST_BOOKINGS", 1)
    for name in ("Autumn", "Winter"):
        other = Campaign.objects.create(
            advertiser=exchange.soda.party, name=name, expression="true", status="live"
        )
        Booking.objects.create(campaign=other, publisher=exchange.herald.party)
    status, page = send(log_in(admin), edit_edge(exchange))
    assert status == 422
    assert "it would stop at least 1 booking." in page
    assert "would stop 1 of the first 1 bookings that it concerns" in page
    assert "3 are concerned; the first 1 are counted" in page
    assert "Save and stop at least 1 booking<" in page

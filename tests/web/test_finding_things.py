"""Ctrl+K: what is found by a part of its name, and that nobody finds what they may not see."""

from __future__ import annotations

import pytest
from django.test import Client

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Audience, Campaign, Edge
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db


def hits(client: Client, text: str) -> set[tuple[str, str]]:
    return {(hit.kind, hit.label) for hit in client.get("/find/", {"find": text}).context["hits"]}


def test_finds_things_of_every_kind(
    dave: User,
    operator: Organisation,
    campaign: Campaign,
    edges: tuple[Edge, Edge],
    log_in: LogIn,
) -> None:
    browser = log_in(dave)
    Audience.objects.create(organisation=operator, name="summer-people", expression="true")
    assert hits(browser, "summer") == {("Campaign", "Summer"), ("Audience", "summer-people")}
    assert hits(browser, "daily") == {
        ("Publisher", "Daily Herald"),
        ("Edge", "Daily Herald → Northgate"),
    }
    assert ("Attribute", "geo.country") in hits(browser, "geo.c")
    assert ("Page", "Campaigns") in hits(browser, "campai")
    assert ("Campaign", "Summer") in hits(browser, str(campaign.pk))
    assert hits(browser, "nothing like it") == set()
    assert ("Page", "Campaigns") in hits(browser, ""), "without a text, where one may go"


def test_typing_gets_options_and_no_page(dave: User, campaign: Campaign, log_in: LogIn) -> None:
    answer = log_in(dave).get("/find/", {"find": "summer"}, headers={"HX-Request": "true"})
    assert f'role="option" data-href="/campaigns/{campaign.pk}/"' in answer.text
    assert "<html" not in answer.text


def test_strangers_find_nothing_of_each_other(exchange: Exchange) -> None:
    client = Client()
    client.force_login(exchange.rival.people[Role.CAMPAIGN_MANAGER])
    for text in ("summer", "herald", "northgate", str(exchange.campaign.pk)):
        assert {kind for kind, _ in hits(client, text)} <= {"Page"}
    assert hits(client, "winter") == {("Campaign", "Winter")}
    client.force_login(exchange.northgate.people[Role.VIEWER])
    assert hits(client, "herald") == {("Edge", "Herald → Northgate")}

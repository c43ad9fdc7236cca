"""The history page: every change in words, by whom, from where, and the way back."""

from __future__ import annotations

from html import unescape

import pytest
from django.db import connection

from exchange.accounts.models import User
from exchange.market.models import Campaign, Edge
from exchange.market.services import save_campaign
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn
from tests.web.test_forms import campaign_fields

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db


def test_a_change_on_a_page_and_one_by_hand_are_told_apart(
    alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    browser = log_in(alice)
    fields = campaign_fields(
        campaign.advertiser, name="Summer", expression="geo.country in ('USA', 'CAN')"
    )
    browser.post(f"/campaigns/{campaign.pk}/edit/", fields)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE market_campaign SET bid_cpm = 9 WHERE id = %s", [campaign.pk])
    html = unescape(browser.get(f"/campaigns/{campaign.pk}/history/").content.decode())
    newest, _, older = html.partition("Version 2")
    assert "in the database by hand" in newest
    assert "nobody named" in newest
    assert "alice · on a page" in older
    assert "CAN" in older
    assert "Created." in older


def test_going_back_makes_a_new_version(alice: User, campaign: Campaign, log_in: LogIn) -> None:
    first = campaign.expression
    campaign.expression = "geo.country = 'FRA'"
    save_campaign(campaign=campaign, by=alice)
    answer = log_in(alice).post(f"/campaigns/{campaign.pk}/history/1/revert/", follow=True)
    assert "is back as it was in version 1" in answer.content.decode()
    campaign.refresh_from_db()
    assert (campaign.expression, campaign.version) == (first, 3)


def test_a_version_that_never_was_is_said_so(
    alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    answer = log_in(alice).post(f"/campaigns/{campaign.pk}/history/77/revert/", follow=True)
    assert "Summer has no version 77" in answer.content.decode()


def test_long_histories_come_in_pages(bob: User, edges: tuple[Edge, Edge], log_in: LogIn) -> None:
    for fee in range(40):
        Edge.objects.filter(pk=edges[0].pk).update(fee_percent=fee)
    browser = log_in(bob)
    address = f"/edges/{edges[0].pk}/history/"
    first = browser.get(address).content.decode()
    assert "Version 41" in first
    assert "Version 12" in first
    assert "Version 11<" not in first
    assert f'href="{address}?before=12"' in first
    rest = browser.get(address, {"before": "12"}).content.decode()
    assert "Version 11" in rest
    assert "Created." in rest
    assert browser.get(address, {"before": "x"}).status_code == 404


def test_the_past_of_others_does_not_exist(exchange: Exchange, log_in: LogIn) -> None:
    address = f"/campaigns/{exchange.campaign.pk}/history/"
    assert log_in(exchange.soda.admin).get(address).status_code == 200
    assert log_in(exchange.rival.admin).get(address).status_code == 404
    assert log_in(exchange.rival.admin).post(f"{address}1/revert/").status_code == 404

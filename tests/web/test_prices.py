"""What of a path costs whom: nobody's fee can be computed from what another's page shows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.market.models import Audience, Edge, ValueList
from exchange.market.services import save_audience, save_value_list
from exchange.market.visibility import PriceSight, sight_price
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.services import run_build
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db
NOTHING = PriceSight(reads_total=False, reads_net=False)
NET = PriceSight(reads_total=False, reads_net=True)
ALL = PriceSight(reads_total=True, reads_net=True)


@dataclass(frozen=True, slots=True)
class TwoHops:
    """Herald -> Northgate (11 percent) -> Soda (20 percent): 28.80 in all, 2.136 of a bid of 3."""

    exchange: Exchange

    def sees_price(self, client: Client, address: str) -> bool:
        """Tells whether the page shows the total, or what of the bid is left."""
        answer = client.get(address)
        assert answer.status_code == 200
        text = unescape(answer.content.decode())
        return "28.80" in text or "2.14" in text


@pytest.fixture
def two_hops(exchange: Exchange) -> TwoHops:
    first = exchange.first_edge
    first.fee_percent = Decimal(11)
    first.expression = "true"
    first.save()
    Edge.objects.create(
        seller=exchange.northgate.party, buyer=exchange.soda.party, fee_percent=Decimal(20)
    )
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(is_active=False)
    exchange.campaign.bid_cpm = Decimal(3)
    exchange.campaign.save()
    return TwoHops(exchange)


def test_an_advertiser_cannot_subtract_its_own_fee_from_a_total(
    two_hops: TwoHops, log_in: LogIn
) -> None:
    exchange = two_hops.exchange
    booking = f"/bookings/{exchange.booking.pk}/"
    bookings = f"/campaigns/{exchange.campaign.pk}/bookings/"
    pages = [booking, f"{booking}edit/", "/bookings/", bookings]
    soda, operator = (log_in(exchange.soda.admin), log_in(exchange.operators[Role.ADMIN]))
    assert [two_hops.sees_price(soda, page) for page in pages] == [False] * 4
    assert [two_hops.sees_price(operator, page) for page in pages] == [True] * 4
    own = soda.get(booking).content.decode()
    assert "fee 20.00 %" in own
    assert "11.00" not in own


def test_a_publisher_is_told_what_reaches_it(two_hops: TwoHops, log_in: LogIn) -> None:
    exchange = two_hops.exchange
    html = log_in(exchange.herald.admin).get(f"/bookings/{exchange.booking.pk}/").content.decode()
    assert "2.14 reach the publisher" in html
    assert "28.80" not in html
    assert "3.00" not in html


@pytest.mark.django_db(transaction=True)
def test_trying_a_visit_tells_no_fee_either(
    two_hops: TwoHops, log_in: LogIn, settings: Settings, tmp_path: Path
) -> None:
    exchange = two_hops.exchange
    settings.SNAPSHOT_DIR = tmp_path
    assert run_build(build_id=request_build().pk)
    asked = {
        "publisher": exchange.herald.party.pk,
        "visit": json.dumps({"geo": {"country": "USA"}}),
    }
    told = {}
    for name, person in (("soda", exchange.soda.admin), ("herald", exchange.herald.admin)):
        answer = log_in(person).post("/visits/", asked).content.decode()
        assert "Herald → Northgate → Soda" in answer
        told[name] = "2.14" in answer
    assert told == {"soda": False, "herald": True}


@pytest.mark.parametrize(
    ("house", "hops", "expected"),
    [
        ("soda", ("southgate", "soda"), ALL),
        ("soda", ("herald", "northgate", "soda"), NOTHING),
        ("soda", ("herald", "northgate", "southgate", "soda"), NOTHING),
        ("herald", ("herald", "northgate", "soda"), NET),
        ("herald", ("herald", "soda"), ALL),
        ("northgate", ("herald", "northgate", "soda"), ALL),
        ("rival", ("herald", "northgate", "soda"), NOTHING),
    ],
)
def test_a_total_is_for_those_who_see_every_fee_in_it(
    exchange: Exchange, house: str, hops: tuple[str, ...], expected: PriceSight
) -> None:
    parties = [getattr(exchange, hop).party for hop in hops]
    assert sight_price(getattr(exchange, house).admin, parties) == expected
    assert sight_price(exchange.operators[Role.VIEWER], parties) == ALL


def test_who_has_both_ends_sees_what_is_left_only_with_all_fees(exchange: Exchange) -> None:
    """Hides it, because the bid and what is left of it are the total again."""
    herald = exchange.herald
    exchange.soda.party.organisation = herald.organisation
    far = [house.party for house in (herald, exchange.northgate, exchange.southgate, exchange.soda)]
    assert sight_price(herald.admin, far) == NOTHING
    assert sight_price(herald.admin, [far[0], far[1], far[3]]) == ALL


def share_names(exchange: Exchange) -> tuple[User, ValueList, Audience]:
    author = exchange.operators[Role.ADMIN]
    shared = ValueList(name="home", type="string", organisation=author.organisation)
    save_value_list(value_list=shared, values=["USA"], by=author)
    audience = Audience(name="phones", organisation=author.organisation, expression="true")
    save_audience(audience=audience, by=author)
    return author, shared, audience


def test_what_the_exchange_shares_names_none_of_its_people(
    exchange: Exchange, log_in: LogIn
) -> None:
    author, shared, audience = share_names(exchange)
    pages = [
        f"/{folder}/{pk}/" for folder, pk in (("lists", shared.pk), ("audiences", audience.pk))
    ]
    pages += [f"{page}history/" for page in pages]
    for page in pages:
        html = log_in(exchange.soda.admin).get(page).content.decode()
        assert author.username not in html, page
    colleague = log_in(exchange.operators[Role.VIEWER])
    assert author.username in colleague.get(pages[0]).content.decode()


def test_a_rival_save_by_the_exchange_is_not_signed(exchange: Exchange, log_in: LogIn) -> None:
    campaign, operator = exchange.campaign, exchange.operators[Role.ADMIN]
    address = f"/campaigns/{campaign.pk}/edit/"
    fields = {
        "name": "Summer",
        "advertiser": exchange.soda.party.pk,
        "status": "live",
        "starts_at": "2026-01-01T00:00",
        "bid_cpm": "1",
        "priority": "5",
        "expression": "geo.country = 'FRA'",
        "expected_version": campaign.version,
    }
    log_in(operator).post(address, fields)
    answer = log_in(exchange.soda.admin).post(address, fields | {"bid_cpm": "2"})
    html = answer.content.decode()
    assert answer.status_code == 409
    assert operator.username not in html
    assert "by someone of another organisation" in html

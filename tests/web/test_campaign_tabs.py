"""A campaign's tabs: offers and booking several, what ad servers answer, and the API to paste."""

from __future__ import annotations

import json
import shlex
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import Organisation, Role, User
from exchange.findings.models import BlockedCampaign
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.reading.offers import Offer, read_offers
from exchange.snapshots.models import DeltaLog
from tests.market.places import found
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_live(settings: Settings, tmp_path: Path) -> None:
    settings.SNAPSHOT_DIR = tmp_path / "snapshots"


@pytest.fixture
def publishers(
    operator: Organisation, northgate: Party, edges: tuple[Edge, Edge]
) -> dict[str, Party]:
    """Makes, beside Daily Herald, one behind a rule that excludes Summer, and one without an
    edge."""
    excluding = found(Party.Kind.PUBLISHER, "Frankly", operator)
    Edge.objects.create(seller=excluding, buyer=northgate, expression="geo.country = 'FRA'")
    return {"never": excluding, "lonely": found(Party.Kind.PUBLISHER, "Lonely", operator)}


def offers_of(campaign: Campaign, viewer: User) -> dict[str, Offer]:
    parties = Party.objects.publishers().order_by("name")
    return {offer.publisher.name: offer for offer in read_offers(campaign, parties, viewer)}


def test_an_offer_has_its_best_path_and_what_is_left_of_the_bid(
    campaign: Campaign, publishers: dict[str, Party], dave: User
) -> None:
    offer = offers_of(campaign, dave)["Daily Herald"]
    assert offer.is_open
    assert [hop.buyer.name for hop in offer.path.hops] == ["Northgate", "Solberg Soda"]
    assert str(offer.path.net_cpm) == "0.72"


def test_an_offer_says_what_excludes_the_campaign_for_good(
    campaign: Campaign, publishers: dict[str, Party], dave: User
) -> None:
    offers = offers_of(campaign, dave)
    assert offers["Frankly"].never == (
        "Frankly → Northgate lets only visits from FRA through,"
        " and this campaign wants visits from USA"
    )
    assert ("Frankly → Northgate", "geo.country = 'FRA'") in offers["Frankly"].conditions
    assert offers["Lonely"].never == "no edges lead from Lonely to Solberg Soda"


def test_an_offer_names_what_a_rule_excludes(
    campaign: Campaign, publishers: dict[str, Party], dave: User
) -> None:
    campaign.expression = "device.type in ('ctv') and not geo.country = 'CAN'"
    rule = Edge.objects.filter(seller=publishers["never"])
    rule.update(expression="device.type not in ('ctv', 'ooh')")
    assert offers_of(campaign, dave)["Frankly"].never == (
        "Frankly → Northgate excludes visits on ctv or ooh, and this campaign wants visits on ctv"
    )
    rule.update(expression="geo.country = 'CAN'")
    assert offers_of(campaign, dave)["Frankly"].never == (
        "Frankly → Northgate lets only visits from CAN through,"
        " and this campaign excludes visits from CAN"
    )


def test_an_offer_does_not_tell_others_rules_nor_fees(exchange: Exchange) -> None:
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(expression="true")
    Edge.objects.filter(pk=exchange.first_edge.pk).update(expression="geo.country = 'FRA'")
    viewer = exchange.soda.people[Role.CAMPAIGN_MANAGER]
    offer = offers_of(exchange.campaign, viewer)["Herald"]
    assert offer.never.startswith("Herald → Northgate excludes")
    assert "FRA" not in str(offer.conditions)
    assert not offer.path.price.reads_net


def test_a_rule_or_a_targeting_that_no_longer_compiles_offers_nothing(
    campaign: Campaign, publishers: dict[str, Party], dave: User
) -> None:
    campaign.expression = "shoe_size = 43"
    assert offers_of(campaign, dave)["Daily Herald"].never == "the targeting no longer compiles"


def test_several_publishers_are_booked_at_once(
    alice: User, campaign: Campaign, herald: Party, publishers: dict[str, Party], log_in: LogIn
) -> None:
    chosen = {"publisher": [herald.pk, publishers["never"].pk]}
    answer = log_in(alice).post(f"/campaigns/{campaign.pk}/book/", chosen, follow=True)
    assert "Summer is booked with Daily Herald, Frankly." in answer.text
    assert set(Booking.objects.values_list("publisher", flat=True)) == set(chosen["publisher"])
    assert Booking.objects.get(publisher=publishers["never"]).findings.get().kind == "contradiction"
    assert not BlockedCampaign.objects.exists(), "one of the two can be eligible"
    assert [offer.publisher.name for offer in answer.context["offers"]] == ["Lonely"]


def test_one_that_cannot_be_booked_leaves_none_booked(
    alice: User, campaign: Campaign, booking: Booking, publishers: dict[str, Party], log_in: LogIn
) -> None:
    chosen = {"publisher": [publishers["never"].pk, booking.publisher_id]}
    answer = log_in(alice).post(f"/campaigns/{campaign.pk}/book/", chosen, follow=True)
    assert "Nothing is booked." in answer.text
    assert Booking.objects.get() == booking


@pytest.mark.parametrize("chosen", [[], ["x"], ["999999"], ["9" * 40]])
def test_nothing_chosen_books_nothing(
    alice: User, campaign: Campaign, log_in: LogIn, chosen: list[str]
) -> None:
    given = {"publisher": chosen}
    answer = log_in(alice).post(f"/campaigns/{campaign.pk}/book/", given, follow=True)
    assert "Choose the publishers to book first." in answer.text


def test_offers_are_searched_and_only_those_who_may_book_get_boxes(
    alice: User, dave: User, campaign: Campaign, publishers: dict[str, Party], log_in: LogIn
) -> None:
    address = f"/campaigns/{campaign.pk}/bookings/?q=frank"
    answer = log_in(alice).get(address)
    assert [offer.publisher.name for offer in answer.context["offers"]] == ["Frankly"]
    assert 'name="publisher"' in answer.text
    assert 'name="publisher"' not in log_in(dave).get(address).text
    nothing = log_in(dave).get(f"/campaigns/{campaign.pk}/bookings/?q=nothing").text
    assert "Nothing matches" in nothing


def test_more_publishers_cost_no_more_queries(
    dave: User, campaign: Campaign, operator: Organisation, northgate: Party, log_in: LogIn
) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            log_in(dave).get(f"/campaigns/{campaign.pk}/bookings/")
        return len(captured)

    def add(number: int) -> None:
        seller = found(Party.Kind.PUBLISHER, f"Publisher {number:02}", operator)
        Edge.objects.create(seller=seller, buyer=northgate)

    Edge.objects.create(seller=northgate, buyer=campaign.advertiser)
    add(0)
    first = count()
    for number in range(1, 40):
        add(number)
    assert count() <= first


def test_what_was_saved_is_followed_until_ad_servers_answer_it(
    dave: User, campaign: Campaign, log_in: LogIn
) -> None:
    address, browser = f"/campaigns/{campaign.pk}/served/", log_in(dave)
    assert "Ad servers have no snapshot yet" in browser.get(address).text
    DeltaLog.objects.all().delete()
    Campaign.objects.filter(pk=campaign.pk).update(updated_at=timezone.now() - timedelta(minutes=5))
    assert "Saved" not in browser.get(address).text


def test_the_curl_lines_ask_about_this_campaign(
    dave: User, booking: Booking, log_in: LogIn
) -> None:
    campaign = booking.campaign
    curls = log_in(dave).get(f"/campaigns/{campaign.pk}/api/").context["curls"]
    for _, text in curls:
        words = shlex.split(text.replace("\\\n", " "))
        body = json.loads(words[words.index("-d") + 1])
        assert (body["publisher"], body["campaigns"]) == ("daily-herald", [campaign.pk])
        assert words[2].endswith(("/api/v1/eligibility", "/api/v1/eligibility:explain"))


@pytest.mark.parametrize("tab", ["", "bookings/", "impact/", "tests/", "history/", "api/"])
def test_each_tab_has_an_address_and_says_that_it_is_open(
    dave: User, campaign: Campaign, log_in: LogIn, tab: str
) -> None:
    html = log_in(dave).get(f"/campaigns/{campaign.pk}/{tab}").text
    assert html.count('aria-current="page">') >= 1
    assert f'href="/campaigns/{campaign.pk}/{tab}" aria-current="page"' in html


def test_a_stranger_has_none_of_the_tabs(exchange: Exchange) -> None:
    client = Client()
    client.force_login(exchange.rival.people[Role.CAMPAIGN_MANAGER])
    for tab in ("", "bookings/", "impact/", "tests/", "history/", "api/", "served/"):
        assert client.get(f"/campaigns/{exchange.campaign.pk}/{tab}").status_code == 404
    answer = client.post(
        f"/campaigns/{exchange.campaign.pk}/book/", {"publisher": exchange.herald.party.pk}
    )
    assert answer.status_code == 404

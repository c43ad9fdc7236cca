"""Forms: what is wrong is said at its place, nothing typed is lost, what is right is saved."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Edge, Party
from tests.web.conftest import LogIn

pytestmark = pytest.mark.django_db


def campaign_fields(soda: Party, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Winter",
        "advertiser": soda.pk,
        "status": "live",
        "bid_cpm": "2.50",
        "priority": "5",
        "starts_at": "2026-11-01T08:00",
        "ends_at": "",
        "expression": "geo.country = 'USA'",
        **changes,
    }


def test_saves_a_campaign(alice: User, soda: Party, log_in: LogIn) -> None:
    answer = log_in(alice).post("/campaigns/new/", campaign_fields(soda))
    campaign = Campaign.objects.get(name="Winter")
    assert answer["Location"] == f"/campaigns/{campaign.pk}/"
    assert campaign.starts_at.isoformat() == "2026-11-01T08:00:00+00:00"
    assert campaign.expression == "geo.country = 'USA'"


def test_a_wrong_expression_is_shown_at_its_place_and_kept(
    alice: User, soda: Party, log_in: LogIn
) -> None:
    text = "device.type = 'phone'\nand geo.contry = 'USA' # my note"
    answer = log_in(alice).post("/campaigns/new/", campaign_fields(soda, expression=text))
    html = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert text in html
    assert 'data-line="2" data-column="5" data-length="10"' in html
    assert "geo.country" in html.partition('class="problems"')[2].partition("</ol>")[0]
    assert 'value="Winter"' in html
    assert 'value="2.50"' in html
    assert not Campaign.objects.exists()


def test_all_errors_of_a_form_are_said_at_once(alice: User, soda: Party, log_in: LogIn) -> None:
    fields = campaign_fields(soda, name="", bid_cpm="-1", expression="", ends_at="2026-10-01T00:00")
    html = log_in(alice).post("/campaigns/new/", fields).content.decode()
    assert "This field is required." in html
    assert "A bid cannot be negative." in html
    assert "must end after it starts" in html
    assert 'data-line="1"' in html
    assert 'value="2026-10-01T00:00"' in html


def test_an_expression_keeps_its_lines_and_spaces(alice: User, soda: Party, log_in: LogIn) -> None:
    text = "\r\n  geo.country = 'USA'\r\n  and device.type = 'phone'  \r\n"
    log_in(alice).post("/campaigns/new/", campaign_fields(soda, expression=text))
    saved = Campaign.objects.get(name="Winter")
    assert saved.expression == text.replace("\r\n", "\n")
    html = log_in(alice).get(f"/campaigns/{saved.pk}/edit/").content.decode()
    assert f">\n{saved.expression}</textarea>" in unescape(html)


def test_editing_without_a_change_changes_nothing(
    alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    html = log_in(alice).get(f"/campaigns/{campaign.pk}/edit/").content.decode()
    assert campaign.name in html
    fields = campaign_fields(
        campaign.advertiser,
        name=campaign.name,
        expression=campaign.expression,
        bid_cpm=campaign.bid_cpm,
        starts_at=campaign.starts_at.strftime("%Y-%m-%dT%H:%M"),
    )
    log_in(alice).post(f"/campaigns/{campaign.pk}/edit/", fields)
    again = Campaign.objects.get(pk=campaign.pk)
    kept = ["name", "expression", "status", "bid_cpm", "starts_at", "ends_at", "advertiser_id"]
    assert [getattr(again, name) for name in kept] == [getattr(campaign, name) for name in kept]


def test_a_second_campaign_of_the_same_name_is_refused(
    alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    fields = campaign_fields(campaign.advertiser, name=campaign.name)
    answer = log_in(alice).post("/campaigns/new/", fields)
    assert answer.status_code == 422
    assert "already has a campaign of that name" in answer.content.decode()


def test_saves_an_edge(bob: User, herald: Party, northgate: Party, log_in: LogIn) -> None:
    fields = {
        "seller": herald.pk,
        "buyer": northgate.pk,
        "fee_percent": "12.5",
        "is_active": "on",
        "expression": "not (site.cat one of ('finance'))",
    }
    answer = log_in(bob).post("/edges/new/", fields)
    edge = Edge.objects.get()
    assert answer["Location"] == f"/edges/{edge.pk}/"
    assert edge.is_active


def test_an_edge_cannot_be_doubled_and_keeps_what_was_typed(
    bob: User, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    edge = edges[0]
    fields = {
        "seller": edge.seller_id,
        "buyer": edge.buyer_id,
        "fee_percent": "7.25",
        "expression": "device.type = 'ctv'",
    }
    answer = log_in(bob).post("/edges/new/", fields)
    html = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert "already sells to this buyer" in html
    assert "device.type = 'ctv'" in html
    assert 'value="7.25"' in html


def test_offers_only_parties_that_can_stand_there(
    bob: User, herald: Party, soda: Party, log_in: LogIn
) -> None:
    html = log_in(bob).get("/edges/new/").content.decode()
    seller, buyer = html.partition('name="seller"')[2].split('name="buyer"')
    assert f'value="{herald.pk}"' in seller
    assert f'value="{soda.pk}"' not in seller
    assert f'value="{soda.pk}"' in buyer


def test_an_edge_form_can_be_linked_with_its_seller(
    bob: User, herald: Party, log_in: LogIn
) -> None:
    html = log_in(bob).get(f"/edges/new/?seller={herald.pk}").content.decode()
    assert f'<option value="{herald.pk}" selected>' in html


def test_saves_a_party(bob: User, log_in: LogIn) -> None:
    fields = {
        "name": "Trail Magazine",
        "kind": "publisher",
        "seller_id": "trail",
        "domain": "trail.example",
        "organisation": bob.organisation_id,
    }
    log_in(bob).post("/parties/new/", fields)
    assert Party.objects.get(name="Trail Magazine").seller_id == "trail"


def test_a_party_stays_what_it_is(bob: User, herald: Party, log_in: LogIn) -> None:
    fields = {
        "name": herald.name,
        "kind": "advertiser",
        "seller_id": herald.seller_id,
        "organisation": bob.organisation_id,
    }
    answer = log_in(bob).post(f"/parties/{herald.pk}/edit/", fields)
    assert answer.status_code == 422
    assert "stays one" in answer.content.decode()


@pytest.mark.usefixtures("edges")
def test_books_from_the_page_of_a_campaign(
    alice: User, campaign: Campaign, herald: Party, log_in: LogIn
) -> None:
    fields = {"campaign": f"#{campaign.pk}", "publisher": herald.pk, "is_active": "on"}
    answer = log_in(alice).post("/bookings/new/", fields)
    assert answer["Location"] == f"/campaigns/{campaign.pk}/bookings/"
    assert Booking.objects.get().publisher == herald


@pytest.mark.parametrize("typed", ["Summer", "summer", "Summer · Solberg Soda (#{pk})", "#{pk}"])
def test_finds_the_campaign_that_was_typed(
    typed: str, alice: User, campaign: Campaign, herald: Party, log_in: LogIn
) -> None:
    fields = {"campaign": typed.format(pk=campaign.pk), "publisher": herald.pk, "is_active": "on"}
    log_in(alice).post("/bookings/new/", fields)
    assert Booking.objects.get().campaign == campaign


def test_a_campaign_that_is_not_there_is_said_and_kept(
    alice: User, herald: Party, log_in: LogIn
) -> None:
    fields = {"campaign": "Sumer", "publisher": herald.pk, "is_active": "on"}
    html = log_in(alice).post("/bookings/new/", fields).content.decode()
    assert "There is no campaign" in html
    assert 'value="Sumer"' in html
    assert f'<option value="{herald.pk}" selected>' in html


def test_a_booking_is_switched_off_but_never_moved(
    alice: User, booking: Booking, northgate: Party, log_in: LogIn
) -> None:
    log_in(alice).post(f"/bookings/{booking.pk}/edit/", {"publisher": northgate.pk})
    again = Booking.objects.get(pk=booking.pk)
    assert not again.is_active
    assert again.publisher_id == booking.publisher_id


def test_suggests_campaigns_while_typing(alice: User, campaign: Campaign, log_in: LogIn) -> None:
    client = log_in(alice)
    assert campaign.name in client.get("/campaigns/options/?campaign=summ").content.decode()
    assert campaign.name not in client.get("/campaigns/options/?campaign=zzz").content.decode()

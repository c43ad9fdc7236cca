"""What the models refuse with a message, and what the database refuses whoever writes to it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.utils import timezone

from exchange.accounts.models import Organisation
from exchange.market.models import Attribute, Booking, Campaign, Edge, Party


def complaints(instance: Model) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as caught:
        instance.full_clean()
    return caught.value.message_dict


def assert_refused(rule: str, instance: Model) -> None:
    with pytest.raises(IntegrityError, match=rule), transaction.atomic():
        instance.save()


def test_an_advertiser_cannot_sell_and_a_publisher_cannot_buy(herald: Party, soda: Party) -> None:
    assert complaints(Edge(seller=soda, buyer=herald)) == {
        "seller": ["Only a publisher or an intermediary can sell. Choose one."],
        "buyer": ["Only an intermediary or an advertiser can buy. Choose one."],
    }


def test_an_edge_may_lead_from_publisher_over_intermediary_to_advertiser(
    herald: Party, northgate: Party, soda: Party
) -> None:
    for seller, buyer in [(herald, northgate), (northgate, soda), (herald, soda)]:
        edge = Edge(seller=seller, buyer=buyer)
        edge.full_clean()
        edge.save()


def test_a_party_cannot_sell_to_itself(northgate: Party) -> None:
    edge = Edge(seller=northgate, buyer=northgate)
    assert complaints(edge) == {"__all__": ["A party cannot sell to itself. Choose another buyer."]}
    assert_refused("edge_not_to_itself", edge)


def test_a_pair_has_one_edge(herald: Party, northgate: Party) -> None:
    Edge.objects.create(seller=herald, buyer=northgate)
    again = Edge(seller=herald, buyer=northgate)
    assert complaints(again) == {
        "__all__": ["This seller already sells to this buyer. Edit that edge."]
    }
    assert_refused("edge_once_per_pair", again)


@pytest.mark.parametrize(
    ("fee", "message"),
    [("-0.01", "A fee cannot be negative."), ("100", "A fee must stay below 100 percent.")],
)
def test_a_fee_stays_from_0_to_below_100_percent(
    herald: Party, northgate: Party, fee: str, message: str
) -> None:
    edge = Edge(seller=herald, buyer=northgate, fee_percent=Decimal(fee))
    assert complaints(edge) == {"fee_percent": [message]}
    assert_refused("edge_fee_below_100", edge)


def test_missing_or_vanished_parties_are_named_not_a_crash(northgate: Party) -> None:
    assert set(complaints(Edge())) == {"seller", "buyer"}
    vanished = Edge(seller_id=northgate.pk + 999, buyer=northgate)
    assert set(complaints(vanished)) == {"seller"}


def test_a_campaign_belongs_to_an_advertiser(herald: Party) -> None:
    campaign = Campaign(advertiser=herald, name="Summer", expression="true")
    assert complaints(campaign)["advertiser"] == [
        "Only an advertiser can have a campaign. Choose one."
    ]


def test_a_campaign_ends_after_it_starts(soda: Party) -> None:
    now = timezone.now()
    campaign = Campaign(
        advertiser=soda, name="Summer", expression="true", starts_at=now, ends_at=now
    )
    assert complaints(campaign) == {"ends_at": ["The campaign must end after it starts."]}
    assert_refused("campaign_ends_after_start", campaign)
    campaign.ends_at = now + timedelta(seconds=1)
    campaign.full_clean()


def test_a_bid_is_not_negative(soda: Party) -> None:
    campaign = Campaign(advertiser=soda, name="Summer", expression="true", bid_cpm=Decimal("-0.01"))
    assert complaints(campaign) == {"bid_cpm": ["A bid cannot be negative."]}
    assert_refused("campaign_bid_not_negative", campaign)


def test_a_campaign_without_an_expression_is_not_for_everyone(soda: Party) -> None:
    assert set(complaints(Campaign(advertiser=soda, name="Summer", expression=""))) == {
        "expression"
    }


def test_an_advertiser_names_its_campaigns_apart(campaign: Campaign) -> None:
    again = Campaign(advertiser=campaign.advertiser, name=campaign.name, expression="true")
    assert complaints(again) == {
        "__all__": ["This advertiser already has a campaign of that name."]
    }


def test_a_booking_is_with_a_publisher_and_once(
    campaign: Campaign, herald: Party, northgate: Party
) -> None:
    assert complaints(Booking(campaign=campaign, publisher=northgate)) == {
        "publisher": ["Only a publisher takes bookings. Choose one."]
    }
    Booking.objects.create(campaign=campaign, publisher=herald)
    assert complaints(Booking(campaign=campaign, publisher=herald)) == {
        "__all__": ["This campaign is already booked with this publisher."]
    }


def test_a_party_keeps_its_kind(herald: Party) -> None:
    herald.kind = Party.Kind.ADVERTISER
    assert complaints(herald) == {
        "kind": ["Daily Herald was created as publisher and stays one. Create a new party."]
    }
    assert_refused("kind of a party cannot change", herald)


@pytest.mark.parametrize("seller_id", ["a b", "o'neill", "é", "", "-x", "a\n"])
def test_a_seller_id_needs_no_quoting(operator: Organisation, seller_id: str) -> None:
    party = Party(kind="publisher", name="Gazette", seller_id=seller_id, organisation=operator)
    assert set(complaints(party)) == {"seller_id"}
    assert_refused("party_seller_id_is_plain", party)


@pytest.mark.parametrize("domain", ["https://example.com", "example", "Example.com", "a..com"])
def test_a_domain_is_bare(operator: Organisation, domain: str) -> None:
    party = Party(
        kind="publisher", name="Gazette", seller_id="g", domain=domain, organisation=operator
    )
    assert complaints(party) == {"domain": ["Write the bare domain, such as example.com."]}


def test_two_parties_never_share_a_seller_id(herald: Party) -> None:
    twin = Party(
        kind="publisher",
        name="Twin",
        seller_id=herald.seller_id,
        organisation=herald.organisation,
    )
    assert complaints(twin) == {"seller_id": ["Party with this Seller id already exists."]}


@pytest.fixture
def rows_at_wrong_ends(
    herald: Party, northgate: Party, soda: Party, campaign: Campaign
) -> dict[str, list[Model]]:
    """Gives, by the message that is due, one good row and one bad row."""
    return {
        "an advertiser cannot sell": [
            Edge(seller=herald, buyer=northgate),
            Edge(seller=soda, buyer=northgate),
        ],
        "a publisher cannot buy": [
            Edge(seller=herald, buyer=northgate),
            Edge(seller=northgate, buyer=herald),
        ],
        "a campaign belongs to an advertiser": [
            Campaign(advertiser=soda, name="Bulk", expression="true"),
            Campaign(advertiser=herald, name="Bulk", expression="true"),
        ],
        "a booking is with a publisher": [
            Booking(campaign=campaign, publisher=herald),
            Booking(campaign=campaign, publisher=soda),
        ],
    }


@pytest.mark.parametrize(
    "message",
    [
        "an advertiser cannot sell",
        "a publisher cannot buy",
        "a campaign belongs to an advertiser",
        "a booking is with a publisher",
    ],
)
def test_bulk_writes_are_refused_at_the_wrong_end(
    message: str, rows_at_wrong_ends: dict[str, list[Model]]
) -> None:
    rows = rows_at_wrong_ends[message]
    table = type(rows[0])._default_manager
    with pytest.raises(IntegrityError, match=message), transaction.atomic():
        table.bulk_create(rows)
    table.bulk_create(rows[:1])


def test_raw_sql_is_refused_at_the_wrong_end(herald: Party, northgate: Party, soda: Party) -> None:
    edge = Edge.objects.create(seller=herald, buyer=northgate)
    with (
        pytest.raises(IntegrityError, match="an advertiser cannot sell"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE market_edge SET seller_id = %s WHERE id = %s", [soda.pk, edge.pk])


@pytest.mark.parametrize(
    "row",
    [
        {"name": "geo.planet", "type": "text"},
        {"name": "geo..planet", "type": "string"},
        {"name": "2geo", "type": "string"},
    ],
)
@pytest.mark.django_db
def test_an_attribute_has_a_dotted_name_and_a_type_of_the_language(row: dict[str, str]) -> None:
    attribute = Attribute(**row)
    assert len(complaints(attribute)) == 1
    assert_refused("attribute_(name|type)_is", attribute)

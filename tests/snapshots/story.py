"""A small exchange for tests of builds.

The Daily Herald and the Evening Tribune sell to Northgate, which sells to Solberg Soda; the Herald
also sells to Soda by way of Southgate, which keeps more. Soda's campaign Summer is booked with
both publishers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from exchange.accounts.models import Organisation
from exchange.market.models import Booking, Campaign, Edge, Party

STARTS = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Story:
    herald: Party
    tribune: Party
    northgate: Party
    southgate: Party
    soda: Party
    herald_to_northgate: Edge
    northgate_to_soda: Edge
    summer: Campaign
    at_herald: Booking
    at_tribune: Booking


def tell() -> Story:
    operator = Organisation.objects.create(name="Exchange", is_operator=True)
    herald = found(Party.Kind.PUBLISHER, "Daily Herald", operator)
    tribune = found(Party.Kind.PUBLISHER, "Evening Tribune", operator)
    northgate = found(Party.Kind.INTERMEDIARY, "Northgate", operator)
    southgate = found(Party.Kind.INTERMEDIARY, "Southgate", operator)
    soda = found(Party.Kind.ADVERTISER, "Solberg Soda", operator)
    first = connect(herald, northgate, "10", "user.age >= 18")
    last = connect(northgate, soda, "20", "true")
    connect(tribune, northgate, "0", "true")
    connect(herald, southgate, "15", "true")
    connect(southgate, soda, "20", "true")
    summer = run_campaign(soda, "Summer", "geo.country = 'USA'")
    return Story(
        herald=herald,
        tribune=tribune,
        northgate=northgate,
        southgate=southgate,
        soda=soda,
        herald_to_northgate=first,
        northgate_to_soda=last,
        summer=summer,
        at_herald=Booking.objects.create(campaign=summer, publisher=herald),
        at_tribune=Booking.objects.create(campaign=summer, publisher=tribune),
    )


def found(kind: Party.Kind, name: str, organisation: Organisation) -> Party:
    seller_id = name.lower().replace(" ", "-")
    return Party.objects.create(
        kind=kind, name=name, seller_id=seller_id, organisation=organisation
    )


def connect(seller: Party, buyer: Party, fee_percent: str, expression: str) -> Edge:
    return Edge.objects.create(
        seller=seller, buyer=buyer, fee_percent=Decimal(fee_percent), expression=expression
    )


def run_campaign(advertiser: Party, name: str, expression: str) -> Campaign:
    return Campaign.objects.create(
        advertiser=advertiser,
        name=name,
        expression=expression,
        status=Campaign.Status.LIVE,
        starts_at=STARTS,
        bid_cpm=Decimal("5.00"),
    )


def run_many(advertiser: Party, publishers: list[Party], count: int) -> None:
    """Runs campaigns that are all different, booked with each of the publishers."""
    campaigns = Campaign.objects.bulk_create(
        Campaign(
            advertiser=advertiser,
            name=f"Campaign {number}",
            expression=f"user.age > {number} and geo.country = 'C{number % 50}'",
            status=Campaign.Status.LIVE,
            starts_at=STARTS,
            bid_cpm=1,
        )
        for number in range(count)
    )
    Booking.objects.bulk_create(
        Booking(campaign=campaign, publisher=publisher, advertiser=advertiser)
        for campaign in campaigns
        for publisher in publishers
    )

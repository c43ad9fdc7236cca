"""Makes an exchange of several organisations, for tests of who may see what.

Herald sells to Northgate, Northgate to Southgate, Southgate to Soda, whose campaign Summer is
booked with Herald. Rival trades with none of them. Each has its own people.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Booking, Campaign, Edge, Party
from tests.market.places import found
from tests.people import hire


@dataclass(frozen=True, slots=True)
class House:
    """An organisation, its one party, and somebody of every role."""

    organisation: Organisation
    party: Party
    people: dict[Role, User]

    @property
    def admin(self) -> User:
        return self.people[Role.ADMIN]


@dataclass(frozen=True, slots=True)
class Exchange:
    """The houses by their short names, and what they trade; `operators` are the exchange's own
    people."""

    operators: dict[Role, User]
    herald: House
    northgate: House
    southgate: House
    soda: House
    rival: House
    first_edge: Edge
    middle_edge: Edge
    last_edge: Edge
    campaign: Campaign
    booking: Booking
    rival_campaign: Campaign


def staff(organisation: Organisation) -> dict[Role, User]:
    short = organisation.name.split()[0].lower()
    return {role: hire(f"{short}-{role}", role, organisation) for role in Role}


def open_house(kind: Party.Kind, name: str) -> House:
    organisation = Organisation.objects.create(name=f"{name} Ltd")
    return House(organisation, found(kind, name, organisation), staff(organisation))


@pytest.fixture
def exchange(db: None) -> Exchange:
    operator = Organisation.objects.create(name="Treeline Exchange", is_operator=True)
    herald = open_house(Party.Kind.PUBLISHER, "Herald")
    northgate = open_house(Party.Kind.INTERMEDIARY, "Northgate")
    southgate = open_house(Party.Kind.INTERMEDIARY, "Southgate")
    soda = open_house(Party.Kind.ADVERTISER, "Soda")
    rival = open_house(Party.Kind.ADVERTISER, "Rival")
    campaign = Campaign.objects.create(
        advertiser=soda.party, name="Summer", expression="geo.country = 'USA'", status="live"
    )
    return Exchange(
        operators=staff(operator),
        herald=herald,
        northgate=northgate,
        southgate=southgate,
        soda=soda,
        rival=rival,
        first_edge=sell(herald, northgate, "device.type = 'ctv'"),
        middle_edge=sell(northgate, southgate, "geo.country = 'USA'"),
        last_edge=sell(southgate, soda, "not site.page contains 'casino'"),
        campaign=campaign,
        booking=Booking.objects.create(campaign=campaign, publisher=herald.party),
        rival_campaign=Campaign.objects.create(
            advertiser=rival.party, name="Winter", expression="geo.country = 'CAN'", status="live"
        ),
    )


def sell(seller: House, buyer: House, expression: str) -> Edge:
    return Edge.objects.create(
        seller=seller.party, buyer=buyer.party, expression=expression, fee_percent="5"
    )

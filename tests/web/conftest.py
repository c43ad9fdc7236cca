"""A small exchange that pages are tried on, and its people with a browser each."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.test import Client

from exchange.accounts.models import Organisation, User
from exchange.market.models import Booking, Campaign, Edge, Party
from tests.market.places import campaign, found, herald, northgate, soda
from tests.people import alice, bob, carol, dave, erin, operator

__all__ = [
    "alice",
    "bob",
    "campaign",
    "carol",
    "dave",
    "erin",
    "herald",
    "northgate",
    "operator",
    "soda",
]

LogIn = Callable[[User], Client]


@pytest.fixture
def log_in() -> LogIn:
    def log_in(person: User) -> Client:
        client = Client()
        client.force_login(person)
        return client

    return log_in


@pytest.fixture
def edges(herald: Party, northgate: Party, soda: Party) -> tuple[Edge, Edge]:
    """Makes Daily Herald -> Northgate -> Solberg Soda, for 10 and 20 percent."""
    return (
        Edge.objects.create(
            seller=herald,
            buyer=northgate,
            expression="site.cat none of ('finance')",
            fee_percent=Decimal(10),
        ),
        Edge.objects.create(seller=northgate, buyer=soda, fee_percent=Decimal(20)),
    )


@pytest.fixture
def booking(campaign: Campaign, herald: Party, edges: tuple[Edge, Edge]) -> Booking:
    return Booking.objects.create(campaign=campaign, publisher=herald)


@pytest.fixture
def crowd(operator: Organisation, soda: Party, herald: Party) -> None:
    """Makes rows enough for several pages of every list."""
    for number in range(60):
        middle = found(Party.Kind.INTERMEDIARY, f"Middle {number:03}", operator)
        Edge.objects.create(seller=herald, buyer=middle)
        Edge.objects.create(seller=middle, buyer=soda)
        summer = Campaign.objects.create(
            advertiser=soda, name=f"Crowd {number:03}", expression="true", status="live"
        )
        Booking.objects.create(campaign=summer, publisher=herald)

"""A small exchange for tests: Daily Herald sells, Northgate passes on, Solberg Soda advertises."""

from __future__ import annotations

import pytest

from exchange.accounts.models import Organisation
from exchange.market.models import Campaign, Party


def found(kind: Party.Kind, name: str, organisation: Organisation) -> Party:
    seller_id = name.lower().replace(" ", "-")
    return Party.objects.create(
        kind=kind, name=name, seller_id=seller_id, organisation=organisation
    )


@pytest.fixture
def herald(operator: Organisation) -> Party:
    return found(Party.Kind.PUBLISHER, "Daily Herald", operator)


@pytest.fixture
def northgate(operator: Organisation) -> Party:
    return found(Party.Kind.INTERMEDIARY, "Northgate", operator)


@pytest.fixture
def soda(operator: Organisation) -> Party:
    return found(Party.Kind.ADVERTISER, "Solberg Soda", operator)


@pytest.fixture
def campaign(soda: Party) -> Campaign:
    return Campaign.objects.create(
        advertiser=soda, name="Summer", expression="geo.country = 'USA'", status="live"
    )

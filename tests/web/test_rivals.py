"""Two people who make the same thing at once: one does, the other is told as if they came later."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest

from exchange.accounts.models import Organisation, User
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    TestVisit,
    ValueList,
)
from tests.rivals import overlap
from tests.web.conftest import LogIn
from tests.web.test_forms import campaign_fields

pytestmark = pytest.mark.django_db(transaction=True)
Form = tuple[str, dict[str, Any]]


def campaign_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = campaign_fields(campaign.advertiser, expression="geo.country = 'FRA' # my note")
    return "/campaigns/new/", fields


def booking_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = {"campaign": f"#{campaign.pk}", "publisher": herald.pk, "hop_limit": 3}
    return "/bookings/new/", fields | {"policy": "any", "is_active": "on"}


def edge_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = {"seller": herald.pk, "buyer": northgate.pk, "fee_percent": "3", "is_active": "on"}
    return "/edges/new/", fields | {"expression": "geo.country = 'FRA' # my note"}


def party_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = {"name": "South", "kind": "publisher", "seller_id": "south", "domain": ""}
    return "/parties/new/", fields | {"organisation": herald.organisation_id}


def audience_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = {"name": "fans", "organisation": herald.organisation_id, "description": "my note"}
    return "/audiences/new/", fields | {"expression": "geo.country = 'FRA'"}


def list_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = {"name": "towns", "organisation": herald.organisation_id, "type": "string"}
    return "/lists/new/", fields | {"text": "Oslo\nBergen", "description": "my note"}


def attribute_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    return "/attributes/new/", {"name": "shoe", "type": "integer", "description": "my note"}


def form_of_a_test_visit(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = {"name": "In France", "expects_eligible": "no", "visit": '{"geo.country": "FRA"}'}
    return f"/campaigns/{campaign.pk}/tests/new/", fields


def person_form(campaign: Campaign, herald: Party, northgate: Party) -> Form:
    fields = {"username": "frank", "first_name": "Frank", "last_name": "Note", "email": ""}
    return "/people/new/", fields | {"role": "viewer", "organisation": herald.organisation_id}


@pytest.mark.parametrize(
    ("make", "model", "told", "kept"),
    [
        (campaign_form, Campaign, "already has a campaign of that name", "FRA' # my note"),
        (booking_form, Booking, "already booked with this publisher", 'value="3"'),
        (edge_form, Edge, "already sells to this buyer", "FRA' # my note"),
        (party_form, Party, "Party with this Name already exists", 'value="south"'),
        (audience_form, Audience, "There is already an audience of that name", "my note"),
        (list_form, ValueList, "There is already a list of that name", "Oslo"),
        (attribute_form, Attribute, "Attribute with this Name already exists", "my note"),
        (form_of_a_test_visit, TestVisit, "already has a test visit of that name", "FRA"),
        (person_form, User, "A user with that username already exists", 'value="Note"'),
    ],
)
def test_the_second_is_told_and_loses_nothing(
    make: Callable[..., Form],
    model: Any,
    told: str,
    kept: str,
    erin: User,
    operator: Organisation,
    campaign: Campaign,
    herald: Party,
    northgate: Party,
    log_in: LogIn,
) -> None:
    address, fields = make(campaign, herald, northgate)
    before = model.objects.count()
    one, other = log_in(erin), log_in(erin)
    first, second = overlap(lambda: one.post(address, fields), lambda: other.post(address, fields))
    assert first.status_code in (200, 302)
    html = unescape(second.content.decode())
    assert second.status_code == 422
    assert told in html
    assert kept in html
    assert model.objects.count() == before + 1
    # The same words at the same place as for somebody who comes later.
    later = one.post(address, fields)
    assert later.context["form"].errors == second.context["form"].errors

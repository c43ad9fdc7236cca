"""Who may see and change what, organisation by organisation and role by role."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model

from exchange.accounts.models import Organisation, Role, User
from exchange.accounts.ownership import BELONGINGS, NotVisible, may_change, may_see, require_change
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    Revised,
    ValueList,
)
from exchange.market.visibility import (
    CONDITIONS,
    OUTLINE,
    REDACTED,
    WHOLE,
    Sight,
    explainable,
    owned,
    sight,
    visible,
)
from tests.market.places import found
from tests.trading import Exchange, House, exchange

__all__ = ["exchange"]

HOUSES = ("herald", "northgate", "southgate", "soda", "rival")
# Who sees an object, apart from the exchange's operators; the owner comes first.
SEEN_BY: dict[str, tuple[str, ...]] = {
    "first_edge": ("herald", "northgate"),
    "middle_edge": ("northgate", "southgate"),
    "last_edge": ("southgate", "soda"),
    "campaign": ("soda",),
    "booking": ("soda", "herald"),
    "rival_campaign": ("rival",),
}
EDITORS: dict[str, set[Role]] = {
    "first_edge": {Role.GRAPH_OPERATOR, Role.ADMIN},
    "campaign": {Role.CAMPAIGN_MANAGER, Role.ADMIN},
    "booking": {Role.CAMPAIGN_MANAGER, Role.ADMIN},
}


def house(exchange: Exchange, name: str) -> House:
    found: House = getattr(exchange, name)
    return found


def thing(exchange: Exchange, name: str) -> Model:
    found: Model = getattr(exchange, name)
    return found


@pytest.mark.parametrize("name", SEEN_BY)
def test_an_object_is_seen_by_its_owner_its_counterparty_and_the_operators(
    exchange: Exchange, name: str
) -> None:
    obj = thing(exchange, name)
    rows = type(obj)._default_manager.filter(pk=obj.pk)
    for house_name in HOUSES:
        person = house(exchange, house_name).people[Role.VIEWER]
        is_seen = house_name in SEEN_BY[name]
        assert visible(rows, person).exists() is is_seen, house_name
        assert may_see(person, obj) is is_seen, house_name
    assert visible(rows, exchange.operators[Role.VIEWER]).exists()


@pytest.mark.parametrize("name", SEEN_BY)
def test_forms_offer_only_what_is_owned(exchange: Exchange, name: str) -> None:
    obj = thing(exchange, name)
    rows = type(obj)._default_manager.filter(pk=obj.pk)
    owners = [it for it in HOUSES if owned(rows, house(exchange, it).admin).exists()]
    assert owners == [SEEN_BY[name][0]]
    assert owned(rows, exchange.operators[Role.VIEWER]).exists()


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("name", EDITORS)
def test_a_change_needs_the_role_and_the_organisation(
    exchange: Exchange, name: str, role: Role
) -> None:
    obj = thing(exchange, name)
    for house_name in HOUSES:
        person = house(exchange, house_name).people[role]
        is_owner = house_name == SEEN_BY[name][0]
        assert may_change(person, obj) is (is_owner and role in EDITORS[name])
        assert answer_to_change(person, obj) == expect_change(name, house_name, role)
    assert may_change(exchange.operators[role], obj) is (role in EDITORS[name])


def answer_to_change(person: User, obj: Model) -> str:
    try:
        require_change(person, obj)
    except NotVisible:
        return "not visible"
    except PermissionDenied:
        return "denied"
    return "changed"


def expect_change(name: str, house_name: str, role: Role) -> str:
    if house_name not in SEEN_BY[name]:
        return "not visible"
    is_owner = house_name == SEEN_BY[name][0]
    return "changed" if is_owner and role in EDITORS[name] else "denied"


def test_an_edge_cannot_be_taken_from_its_owner_by_the_change_itself(exchange: Exchange) -> None:
    edge = Edge.objects.get(pk=exchange.first_edge.pk)
    edge.seller = exchange.rival.party
    with pytest.raises(NotVisible):
        require_change(exchange.rival.admin, edge)


def test_an_edge_cannot_be_given_to_another_organisation(exchange: Exchange) -> None:
    edge = Edge.objects.get(pk=exchange.first_edge.pk)
    edge.seller = exchange.northgate.party
    with pytest.raises(NotVisible):
        require_change(exchange.herald.admin, edge)


def test_nothing_new_can_be_made_for_another_organisation(exchange: Exchange) -> None:
    edge = Edge(seller=exchange.herald.party, buyer=exchange.rival.party)
    campaign = Campaign(advertiser=exchange.soda.party, name="Mine")
    party = Party(organisation=exchange.soda.organisation)
    booking = Booking(campaign=exchange.campaign, publisher=exchange.herald.party)
    for obj in (edge, campaign, party, booking):
        with pytest.raises(NotVisible):
            require_change(exchange.rival.admin, obj)
        require_change(exchange.operators[Role.ADMIN], obj)


def test_what_is_incomplete_is_left_to_validation(exchange: Exchange) -> None:
    require_change(exchange.rival.admin, Campaign(name="No advertiser yet"))
    with pytest.raises(PermissionDenied):
        require_change(exchange.rival.people[Role.VIEWER], Campaign(name="No advertiser yet"))


def test_the_catalogue_is_read_by_all_and_changed_by_the_exchange_only(exchange: Exchange) -> None:
    attribute = Attribute.objects.all()[0]
    assert visible(Attribute.objects.all(), exchange.rival.people[Role.VIEWER]).exists()
    assert not may_change(exchange.rival.admin, attribute)
    with pytest.raises(PermissionDenied):
        require_change(exchange.rival.admin, attribute)
    require_change(exchange.operators[Role.GRAPH_OPERATOR], attribute)


@pytest.mark.parametrize(
    "stranger", [AnonymousUser(), User(username="lost"), User(username="gone", is_active=False)]
)
def test_somebody_without_an_organisation_sees_nothing(
    exchange: Exchange, stranger: User | AnonymousUser
) -> None:
    assert not visible(Campaign.objects.all(), stranger).exists()
    assert not may_see(stranger, exchange.campaign)
    assert not may_change(stranger, exchange.campaign)


def test_the_first_administrator_sees_everything_before_there_is_an_organisation(
    exchange: Exchange,
) -> None:
    root = User.objects.create_superuser("root", password="long-enough-secret")
    assert visible(Campaign.objects.all(), root).count() == 2
    require_change(root, exchange.campaign)


# Who meets `middle_edge` (Northgate sells to Southgate) on the path of Soda's booking.
SIGHTS: list[tuple[str, bool, Sight]] = [
    ("northgate", False, WHOLE),  # the seller
    ("southgate", False, WHOLE),  # the buyer
    ("operators", False, WHOLE),
    ("herald", False, OUTLINE),  # elsewhere on the path
    ("soda", False, OUTLINE),
    ("northgate", True, WHOLE),
    ("southgate", True, WHOLE),
    ("operators", True, WHOLE),
    ("herald", True, CONDITIONS),
    ("soda", True, CONDITIONS),
]


@pytest.mark.parametrize(("who", "is_disclosed", "expected"), SIGHTS)
def test_an_edge_on_a_path_is_redacted_by_the_table(
    exchange: Exchange, who: str, is_disclosed: bool, expected: Sight
) -> None:
    viewer = (
        exchange.operators[Role.VIEWER]
        if who == "operators"
        else house(exchange, who).people[Role.VIEWER]
    )
    exchange.middle_edge.is_disclosed = is_disclosed
    found = sight(viewer, exchange.middle_edge)
    assert found == expected
    text = exchange.middle_edge.expression
    assert found.redact(text) == (text if expected.reads_conditions else REDACTED)
    assert found.redact_lines([text]) == ([text] if expected.reads_conditions else [REDACTED])


@pytest.mark.parametrize(
    ("who", "expected"), [("soda", WHOLE), ("herald", OUTLINE), ("northgate", OUTLINE)]
)
def test_a_campaigns_targeting_and_bid_are_its_organisations_own(
    exchange: Exchange, who: str, expected: Sight
) -> None:
    assert sight(house(exchange, who).people[Role.VIEWER], exchange.campaign) == expected


# Who sees Soda's booking with Herald, and knows its campaign by name, while it is in a status.
BOOKING_SEEN_BY: list[tuple[str, tuple[str, ...]]] = [
    ("draft", ("soda",)),
    ("live", ("herald", "soda")),
    ("paused", ("herald", "soda")),
]


@pytest.mark.parametrize(("status", "seen_by"), BOOKING_SEEN_BY)
def test_a_publisher_learns_of_a_campaign_when_it_is_no_draft_any_more(
    exchange: Exchange, status: str, seen_by: tuple[str, ...]
) -> None:
    Campaign.objects.filter(pk=exchange.campaign.pk).update(status=status)
    booking = Booking.objects.get(pk=exchange.booking.pk)
    for house_name in HOUSES:
        person = house(exchange, house_name).admin
        is_seen = house_name in seen_by
        rows = Booking.objects.filter(pk=booking.pk)
        campaigns = Campaign.objects.filter(pk=exchange.campaign.pk)
        assert visible(rows, person).exists() is is_seen, house_name
        assert may_see(person, booking) is is_seen, house_name
        assert explainable(campaigns, person).exists() is is_seen, house_name
        if not is_seen:
            assert answer_to_change(person, booking) == "not visible"
    assert may_see(exchange.operators[Role.VIEWER], booking)


def test_who_buys_and_sells_sees_drafts_on_the_own_side_only(exchange: Exchange) -> None:
    """Herald's house also advertises: the `or` of both sides keeps them apart."""
    herald = exchange.herald
    brand = found(Party.Kind.ADVERTISER, "Herald shop", herald.organisation)
    own = Campaign.objects.create(advertiser=brand, name="Own", expression="true", status="draft")
    booked = Booking.objects.create(campaign=own, publisher=herald.party)
    Campaign.objects.filter(pk=exchange.campaign.pk).update(status="draft")
    assert list(visible(Booking.objects.all(), herald.admin)) == [booked]
    assert list(explainable(Campaign.objects.all(), herald.admin)) == [own]


@pytest.mark.parametrize("model", [Audience, ValueList])
def test_what_the_exchange_offers_to_all_is_read_by_all_and_changed_by_itself(
    exchange: Exchange, model: type[Audience | ValueList]
) -> None:
    operator = Organisation.objects.get(is_operator=True)
    shared = model._default_manager.create(organisation=operator, name="shared")
    own = model._default_manager.create(organisation=exchange.soda.organisation, name="own")
    for row in (shared, own):
        if isinstance(row, ValueList):
            row.versions.create(number=1, values=["a"], added_count=1, removed_count=0)
    rows = model._default_manager.all()
    assert set(visible(rows, exchange.soda.admin)) == {shared, own}
    assert set(visible(rows, exchange.rival.admin)) == {shared}
    assert set(owned(rows, exchange.soda.admin)) == {own}
    assert may_see(exchange.rival.admin, shared)
    assert not may_see(exchange.rival.admin, own)
    with pytest.raises(PermissionDenied):
        require_change(exchange.rival.admin, shared)
    require_change(exchange.soda.people[Role.CAMPAIGN_MANAGER], own)


def test_every_model_that_people_edit_has_its_row() -> None:
    models = apps.get_app_config("market").get_models()
    revised = {model._meta.model_name for model in models if issubclass(model, Revised)}
    assert revised <= set(BELONGINGS)
    assert {"apikey", "user", "eligiblevisits"} <= set(BELONGINGS)

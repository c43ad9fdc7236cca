"""Two saves at once, on two connections: neither order leaves behind what one alone would not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from exchange.accounts.models import Organisation, User
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    Revised,
    TestVisit,
    ValueList,
)
from exchange.market.services import (
    retire_attribute,
    retire_audience,
    retire_campaign,
    retire_edge,
    retire_party,
    retire_value_list,
    save_attribute,
    save_audience,
    save_booking,
    save_campaign,
    save_edge,
    save_party,
    save_test_visit,
    save_value_list,
)
from exchange.market.services import test_visits as visits_module
from exchange.market.uses import refresh_uses
from tests.market.places import found
from tests.rivals import Refused, overlap

pytestmark = pytest.mark.django_db(transaction=True)
Save = Callable[[], Any]


def again(row: Any) -> Any:
    """Reads a row as another person has."""
    return type(row).objects.get(pk=row.pk)


@pytest.fixture
def shop(db: None) -> Organisation:
    """Makes an organisation that is not the operator."""
    return Organisation.objects.create(name="Shop Ltd")


@pytest.fixture
def shoes(shop: Organisation) -> Party:
    return found(Party.Kind.ADVERTISER, "Shoes", shop)


def make_audience(name: str, text: str, owner: Organisation, by: User) -> Audience:
    return save_audience(audience=Audience(name=name, expression=text, organisation=owner), by=by)


def aim(row: Any, text: str) -> Any:
    changed = again(row)
    changed.expression = text
    return changed


def test_two_audiences_do_not_come_to_use_each_other(erin: User, shop: Organisation) -> None:
    one = make_audience("one", "true", shop, erin)
    two = make_audience("two", "true", shop, erin)
    saved, refused = overlap(
        lambda: save_audience(audience=aim(one, "@two"), by=erin),
        lambda: save_audience(audience=aim(two, "@one"), by=erin),
    )
    assert saved == one
    assert isinstance(refused, Refused)
    assert "itself" in refused or "circle" in refused


def test_a_circle_is_found_also_where_nobody_touches_the_same_audience(
    erin: User, shop: Organisation
) -> None:
    """Saves a -> b and c -> d at once; b -> c and d -> a were there."""
    a = make_audience("a", "true", shop, erin)
    make_audience("d", "@a", shop, erin)
    c = make_audience("c", "true", shop, erin)
    make_audience("b", "@c", shop, erin)
    saved, refused = overlap(
        lambda: save_audience(audience=aim(a, "@b"), by=erin),
        lambda: save_audience(audience=aim(c, "@d"), by=erin),
    )
    assert saved == a
    assert isinstance(refused, Refused)


def test_the_operator_and_an_organisation_do_not_take_the_same_name(
    erin: User, shop: Organisation, operator: Organisation
) -> None:
    saved, refused = overlap(
        lambda: make_audience("fans", "true", operator, erin),
        lambda: make_audience("fans", "true", shop, erin),
    )
    assert isinstance(saved, Audience)
    assert isinstance(refused, Refused)
    assert "already a name that the exchange uses" in refused


@pytest.fixture
def market(erin: User, shop: Organisation, shoes: Party, herald: Party) -> dict[str, Revised]:
    """Makes one of each that others use, none of them in use."""
    agent = found(Party.Kind.INTERMEDIARY, "Agent", shop)
    spare = found(Party.Kind.PUBLISHER, "Spare", shop)
    maker = found(Party.Kind.ADVERTISER, "Maker", shop)
    tall = ValueList(name="sizes", organisation=shop, type="integer")
    return {
        "audience": make_audience("fans", "true", shop, erin),
        "list": save_value_list(value_list=tall, values=[45, 46], by=erin),
        "attribute": save_attribute(attribute=Attribute(name="shoe", type="integer"), by=erin),
        "agent": agent,
        "maker": maker,
        "publisher": spare,
        "edge": save_edge(edge=Edge(seller=herald, buyer=shoes), by=erin),
        "campaign": save_campaign(
            campaign=Campaign(advertiser=shoes, name="Boots", expression="true"), by=erin
        ),
    }


RETIRE: dict[str, tuple[str, Callable[..., Any]]] = {
    "audience": ("audience", retire_audience),
    "list": ("value_list", retire_value_list),
    "attribute": ("attribute", retire_attribute),
    "agent": ("party", retire_party),
    "maker": ("party", retire_party),
    "publisher": ("party", retire_party),
    "edge": ("edge", retire_edge),
    "campaign": ("campaign", retire_campaign),
}


def new_campaign(text: str) -> Callable[..., Save]:
    def make(market: dict[str, Any], erin: User, shoes: Party, herald: Party) -> Save:
        boots = Campaign(advertiser=shoes, name="Spring", expression=text)
        return lambda: save_campaign(campaign=boots, by=erin)

    return make


def changed_campaign(text: str) -> Callable[..., Save]:
    def make(market: dict[str, Any], erin: User, shoes: Party, herald: Party) -> Save:
        return lambda: save_campaign(campaign=aim(market["campaign"], text), by=erin)

    return make


def new_edge(text: str) -> Callable[..., Save]:
    def make(market: dict[str, Any], erin: User, shoes: Party, herald: Party) -> Save:
        edge = Edge(seller=market["agent"], buyer=market["maker"], expression=text)
        return lambda: save_edge(edge=edge, by=erin)

    return make


def other_audience(text: str) -> Callable[..., Save]:
    def make(market: dict[str, Any], erin: User, shoes: Party, herald: Party) -> Save:
        return lambda: make_audience("others", text, shoes.organisation, erin)

    return make


def new_booking(publisher: str, policy: str = "cheapest") -> Callable[..., Save]:
    def make(market: dict[str, Any], erin: User, shoes: Party, herald: Party) -> Save:
        booking = Booking(
            campaign=market["campaign"],
            publisher=market.get(publisher, herald),
            policy=policy,
            pinned_edges=[market["edge"].pk] if policy == "pinned" else [],
        )
        return lambda: save_booking(booking=booking, by=erin)

    return make


def campaign_of_maker(market: dict[str, Any], erin: User, shoes: Party, herald: Party) -> Save:
    campaign = Campaign(advertiser=market["maker"], name="Laces", expression="true")
    return lambda: save_campaign(campaign=campaign, by=erin)


def new_test_visit(market: dict[str, Any], erin: User, shoes: Party, herald: Party) -> Save:
    visit = TestVisit(campaign=market["campaign"], name="Barefoot", visit={"shoe": 45})
    return lambda: save_test_visit(test_visit=visit, by=erin)


USES: list[tuple[str, Callable[..., Save]]] = [
    ("audience", new_campaign("@fans")),
    ("audience", changed_campaign("@fans")),
    ("audience", new_edge("@fans")),
    ("audience", other_audience("@fans")),
    ("list", new_campaign("user.age in $sizes")),
    ("list", new_edge("user.age in $sizes")),
    ("list", other_audience("user.age in $sizes")),
    ("attribute", new_campaign("shoe = 45")),
    ("attribute", new_edge("shoe = 45")),
    ("attribute", other_audience("shoe = 45")),
    ("agent", new_edge("true")),
    ("maker", new_edge("true")),
    ("maker", campaign_of_maker),
    ("publisher", new_booking("publisher")),
    ("edge", new_booking("herald", "pinned")),
    ("campaign", new_booking("herald")),
    ("campaign", new_test_visit),
]
IDS = [f"{used}-{number}" for number, (used, _) in enumerate(USES)]


@pytest.mark.parametrize(("used", "make"), USES, ids=IDS)
def test_nothing_is_saved_on_what_is_being_retired(
    market: dict[str, Revised],
    erin: User,
    shoes: Party,
    herald: Party,
    used: str,
    make: Callable[..., Save],
) -> None:
    word, retire = RETIRE[used]
    retired, refused = overlap(
        lambda: retire(**{word: again(market[used])}, by=erin),
        make(market, erin, shoes, herald),
    )
    assert retired.is_retired
    assert isinstance(refused, Refused)


@pytest.mark.parametrize(
    ("used", "make"),
    [use for use in USES if use[0] != "campaign"],
    ids=[name for name in IDS if not name.startswith("campaign")],
)
def test_nothing_is_retired_that_is_being_used(
    market: dict[str, Revised],
    erin: User,
    shoes: Party,
    herald: Party,
    used: str,
    make: Callable[..., Save],
) -> None:
    word, retire = RETIRE[used]
    saved, refused = overlap(
        make(market, erin, shoes, herald),
        lambda: retire(**{word: again(market[used])}, by=erin),
    )
    assert isinstance(saved, Revised)
    assert isinstance(refused, Refused)
    assert not again(market[used]).is_retired


def test_a_name_is_not_changed_while_it_comes_into_use(
    market: dict[str, Any], erin: User, shoes: Party
) -> None:
    fans = again(market["audience"])
    fans.name = "friends"
    saved, refused = overlap(
        lambda: save_campaign(campaign=aim(market["campaign"], "@fans"), by=erin),
        lambda: save_audience(audience=fans, by=erin),
    )
    assert isinstance(saved, Campaign)
    assert isinstance(refused, Refused)
    assert "cannot be renamed" in refused


def test_a_party_does_not_leave_its_names_while_they_come_into_use(
    market: dict[str, Any], erin: User, shoes: Party, operator: Organisation
) -> None:
    moved = again(shoes)
    moved.organisation = operator
    saved, refused = overlap(
        lambda: save_campaign(campaign=aim(market["campaign"], "@fans"), by=erin),
        lambda: save_party(party=moved, by=erin),
    )
    assert isinstance(saved, Campaign)
    assert isinstance(refused, Refused)
    assert "would lose them" in refused


def test_an_expression_is_read_with_the_names_of_where_its_party_has_moved(
    market: dict[str, Any], erin: User, shoes: Party, operator: Organisation
) -> None:
    moved = again(shoes)
    moved.organisation = operator
    campaign = aim(market["campaign"], "@fans")
    assert campaign.advertiser.organisation != operator
    saved, refused = overlap(
        lambda: save_party(party=moved, by=erin),
        lambda: save_campaign(campaign=campaign, by=erin),
    )
    assert isinstance(saved, Party)
    assert isinstance(refused, Refused)
    assert "fans" in refused


def test_values_and_the_condition_that_they_must_fit_are_not_saved_past_each_other(
    market: dict[str, Any], erin: User
) -> None:
    brand = Attribute(name="brand", type="string")
    closed = again(save_attribute(attribute=brand, by=erin))
    closed.values = ["Acme"]
    saved, refused = overlap(
        lambda: save_campaign(campaign=aim(market["campaign"], "brand = 'Other'"), by=erin),
        lambda: save_attribute(attribute=closed, by=erin),
    )
    assert isinstance(saved, Campaign)
    assert isinstance(refused, Refused)
    assert "cannot be closed" in refused


def test_pins_and_the_ends_of_their_edge_are_not_saved_past_each_other(
    market: dict[str, Any], erin: User, shoes: Party, herald: Party
) -> None:
    turned = again(market["edge"])
    turned.buyer = market["maker"]
    saved, refused = overlap(
        lambda: save_edge(edge=turned, by=erin),
        new_booking("herald", "pinned")(market, erin, shoes, herald),
    )
    assert isinstance(saved, Edge)
    assert isinstance(refused, Refused)
    assert "does not lead to" in refused


def test_a_campaign_changes_hands_while_its_booking_is_saved(
    market: dict[str, Any], erin: User, shoes: Party, herald: Party
) -> None:
    """Shows that bookings follow their campaign's advertiser: the two wait for each other one way
    only."""
    booking = again(new_booking("herald")(market, erin, shoes, herald)())
    booking.is_active = False
    given = again(market["campaign"])
    given.advertiser = market["maker"]
    saved, refused = overlap(
        lambda: save_campaign(campaign=given, by=erin),
        lambda: save_booking(booking=booking, by=erin),
    )
    assert isinstance(saved, Campaign)
    assert isinstance(refused, Refused)
    assert "was changed" in refused
    assert again(booking).advertiser == market["maker"]


def test_a_campaign_has_no_more_test_visits_than_it_may(
    market: dict[str, Any], erin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits_module, "MAX_VISITS", 1)

    def add(name: str) -> Save:
        visit = TestVisit(campaign=market["campaign"], name=name, visit={"shoe": 45})
        return lambda: save_test_visit(test_visit=visit, by=erin)

    saved, refused = overlap(add("one"), add("two"))
    assert isinstance(saved, TestVisit)
    assert isinstance(refused, Refused)
    assert "at most 1 test visits" in refused


def test_organisations_do_not_wait_for_each_others_names(
    market: dict[str, Any], erin: User, operator: Organisation
) -> None:
    """Shows that campaigns of others go on while a list of a million values, which takes a while,
    is saved."""
    other = Organisation.objects.create(name="Other Ltd")
    drinks = Campaign(
        advertiser=found(Party.Kind.ADVERTISER, "Drinks", other), name="Tea", expression="true"
    )

    def save_and_look() -> bool:
        save_campaign(campaign=drinks, by=erin)
        return bool(again(market["audience"]).description == "")

    fans = again(market["audience"])
    fans.description = "changed"
    saved, was_first = overlap(lambda: save_audience(audience=fans, by=erin), save_and_look)
    assert isinstance(saved, Audience)
    assert was_first


def test_uses_read_anew_do_not_undo_a_save(
    market: dict[str, Any], erin: User, shoes: Party
) -> None:
    """Shows that the uses that stay are those of the text that stays, where a text changed by other
    hands is read again while somebody saves another text."""
    campaign = market["campaign"]
    Campaign.objects.filter(pk=campaign.pk).update(expression="shoe = 45")
    saved, _ = overlap(
        lambda: save_campaign(campaign=aim(campaign, "@fans"), by=erin), refresh_uses
    )
    assert isinstance(saved, Campaign)
    assert again(campaign).uses == [f"audience:{market['audience'].pk}"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM market_campaign WHERE md5(expression) <> uses_digest")
        assert cursor.fetchone() == (0,)

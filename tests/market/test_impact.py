"""Before a change: who would notice it, and what is refused because it would break something."""

from __future__ import annotations

import pytest
from django.db import connection

from exchange.accounts.models import Organisation, User
from exchange.market.impact import (
    EdgeUse,
    InUseError,
    impact_of_attribute,
    impact_of_audience,
    impact_of_edge,
    impact_of_value_list,
)
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    UsedValue,
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
    save_value_list,
)
from exchange.market.uses import refresh_uses, unread_rows
from tests.market.places import found


@pytest.fixture
def adults(erin: User, operator: Organisation) -> Audience:
    audience = Audience(organisation=operator, name="adults", expression="user.age >= 18")
    return save_audience(audience=audience, by=erin)


@pytest.fixture
def fans(erin: User, operator: Organisation, adults: Audience) -> Audience:
    audience = Audience(
        organisation=operator, name="fans", expression="@adults and geo.city in $cities"
    )
    save_value_list(
        value_list=ValueList(organisation=operator, name="cities"), values=["Oslo"], by=erin
    )
    return save_audience(audience=audience, by=erin)


@pytest.fixture
def cities(fans: Audience) -> ValueList:
    return ValueList.objects.get()


def aim(campaign: Campaign, expression: str, by: User) -> Campaign:
    campaign.expression = expression
    return save_campaign(campaign=campaign, by=by)


def test_an_audience_hits_those_who_use_it_also_through_others(
    erin: User,
    campaign: Campaign,
    herald: Party,
    northgate: Party,
    adults: Audience,
    fans: Audience,
) -> None:
    aim(campaign, "@fans", erin)
    save_booking(booking=Booking(campaign=campaign, publisher=herald), by=erin)
    save_edge(edge=Edge(seller=herald, buyer=northgate, expression="not @adults"), by=erin)
    impact = impact_of_audience(adults)
    assert (impact.campaign_count, impact.edge_count, impact.audience_count) == (1, 1, 1)
    assert impact.booking_count == 1
    assert impact.first == ("Summer", "Daily Herald → Northgate", "fans")
    assert str(impact) == "1 campaign, 1 edge, 1 audience, 1 booking"
    assert impact_of_audience(fans).edge_count == 0


def test_lists_and_attributes_are_found_in_use(
    erin: User, campaign: Campaign, cities: ValueList
) -> None:
    assert impact_of_value_list(cities).audience_count == 1
    aim(campaign, "@fans and device.type = 'ctv'", erin)
    assert impact_of_value_list(cities).campaign_count == 1
    assert impact_of_attribute(Attribute.objects.get(name="geo.city")).campaign_count == 1
    assert impact_of_attribute(Attribute.objects.get(name="geo.zip")).is_empty


def test_what_is_in_use_is_not_retired(
    erin: User, campaign: Campaign, adults: Audience, fans: Audience, cities: ValueList
) -> None:
    age = Attribute.objects.get(name="user.age")
    with pytest.raises(InUseError, match="@adults cannot be retired: 1 audience use it") as caught:
        retire_audience(audience=adults, by=erin)
    assert caught.value.impact.audience_count == 1
    with pytest.raises(InUseError, match=r"\$cities cannot be retired"):
        retire_value_list(value_list=cities, by=erin)
    with pytest.raises(InUseError, match=r"user\.age cannot be retired"):
        retire_attribute(attribute=age, by=erin)
    retire_audience(audience=fans, by=erin)
    retire_value_list(value_list=cities, by=erin)
    retire_audience(audience=adults, by=erin)
    retire_attribute(attribute=age, by=erin)
    assert not impact_of_attribute(age).audience_count


def test_a_retired_name_can_be_given_again(
    erin: User, operator: Organisation, adults: Audience
) -> None:
    retire_audience(audience=adults, by=erin)
    again = Audience(organisation=operator, name="adults", expression="user.age > 20")
    assert save_audience(audience=again, by=erin).pk > adults.pk


def test_a_name_stays_while_it_is_used(
    erin: User, fans: Audience, adults: Audience, cities: ValueList
) -> None:
    adults.name = "grown_ups"
    with pytest.raises(InUseError, match="cannot be renamed"):
        save_audience(audience=adults, by=erin)
    cities.name = "towns"
    with pytest.raises(InUseError, match="cannot be renamed"):
        save_value_list(value_list=cities, by=erin)
    fans.name = "followers"
    save_audience(audience=fans, by=erin)


def test_a_domain_is_not_closed_over_values_in_use(erin: User, campaign: Campaign) -> None:
    aim(campaign, "geo.country in ('USA', 'CAN') and device.type = 'ctv'", erin)
    country = Attribute.objects.get(name="geo.country")
    country.values = ["USA", "FRA"]
    with pytest.raises(InUseError, match=r"Summer: .*CAN"):
        save_attribute(attribute=country, by=erin)
    country.values = ["CAN", "FRA", "USA"]
    save_attribute(attribute=country, by=erin)
    aim(campaign, "geo.country = 'USA'", erin)
    country.values = ["FRA", "USA"]
    save_attribute(attribute=country, by=erin)
    country.values = []
    save_attribute(attribute=country, by=erin)


def test_a_domain_is_not_closed_over_the_values_of_a_list(
    erin: User, fans: Audience, cities: ValueList
) -> None:
    city = Attribute.objects.get(name="geo.city")
    city.values = ["Bergen"]
    with pytest.raises(InUseError, match=r"the list \$cities has “Oslo”"):
        save_attribute(attribute=city, by=erin)
    city.values = ["Bergen", "Oslo"]
    save_attribute(attribute=city, by=erin)
    with pytest.raises(InUseError, match="these values do not fit"):
        save_value_list(value_list=cities, values=["Oslo", "Paris"], by=erin)
    save_value_list(value_list=cities, values=["Bergen"], by=erin)


def test_pinned_paths_keep_their_edges(
    erin: User, campaign: Campaign, herald: Party, northgate: Party, soda: Party
) -> None:
    first = save_edge(edge=Edge(seller=herald, buyer=northgate), by=erin)
    last = save_edge(edge=Edge(seller=northgate, buyer=soda), by=erin)
    booking = Booking(campaign=campaign, publisher=herald)
    save_booking(booking=booking, by=erin)
    assert impact_of_edge(first).booking_count == 1
    booking.policy, booking.pinned_edges = "pinned", [first.pk, last.pk]
    save_booking(booking=booking, by=erin)
    assert impact_of_edge(first).booking_count == 1
    with pytest.raises(Exception, match="1 bookings are pinned"):
        retire_edge(edge=first, by=erin)
    booking.policy = "cheapest"
    save_booking(booking=booking, by=erin)
    retire_edge(edge=first, by=erin)
    assert impact_of_edge(last).booking_count == 0


def test_an_edge_to_an_advertiser_is_used_where_its_path_is_booked(
    erin: User, campaign: Campaign, herald: Party, northgate: Party, soda: Party
) -> None:
    gazette = found(Party.Kind.PUBLISHER, "Gazette", herald.organisation)
    other = found(Party.Kind.ADVERTISER, "Other Oats", herald.organisation)
    last = save_edge(edge=Edge(seller=northgate, buyer=soda), by=erin)
    to_other = save_edge(edge=Edge(seller=northgate, buyer=other), by=erin)
    for publisher in (herald, gazette):
        save_edge(edge=Edge(seller=publisher, buyer=northgate), by=erin)
        save_booking(booking=Booking(campaign=campaign, publisher=publisher), by=erin)
    direct = save_edge(edge=Edge(seller=gazette, buyer=soda), by=erin)
    assert impact_of_edge(last) == EdgeUse(booking_count=1, pair_count=1)
    assert impact_of_edge(direct) == EdgeUse(booking_count=1, pair_count=1)
    assert not impact_of_edge(to_other)
    last.buyer = other  # in a form: what is saved counts
    assert impact_of_edge(last).booking_count == 1


def test_a_party_is_retired_last(
    erin: User, campaign: Campaign, herald: Party, soda: Party
) -> None:
    booking = save_booking(booking=Booking(campaign=campaign, publisher=herald), by=erin)
    with pytest.raises(Exception, match="still has 1 campaigns"):
        retire_party(party=soda, by=erin)
    with pytest.raises(Exception, match="still has 1 bookings"):
        retire_party(party=herald, by=erin)
    retire_campaign(campaign=campaign, by=erin)
    retire_party(party=soda, by=erin)
    assert booking.pk


def test_a_party_does_not_leave_the_names_of_its_organisation(
    erin: User, campaign: Campaign, soda: Party
) -> None:
    house = Organisation.objects.create(name="Soda House")
    soda.organisation = house
    save_party(party=soda, by=erin)
    save_audience(
        audience=Audience(organisation=house, name="young", expression="user.age < 30"), by=erin
    )
    aim(campaign, "@young", erin)
    soda.organisation = Organisation.objects.create(name="Other House")
    with pytest.raises(Exception, match="would lose them"):
        save_party(party=soda, by=erin)


def test_expressions_changed_by_other_hands_are_found_too(
    erin: User, campaign: Campaign, adults: Audience, fans: Audience
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE market_campaign SET expression = 'not @fans and geo.zip = ''9''' ")
    assert unread_rows(Campaign).count() == 1
    assert impact_of_audience(fans).campaign_count == 1
    assert unread_rows(Campaign).count() == 0
    campaign.refresh_from_db()
    assert campaign.uses == ["attribute:geo.zip", f"audience:{fans.pk}"]
    assert campaign.version == 2
    assert UsedValue.objects.filter(attribute__name="geo.zip", value="9").exists()


@pytest.mark.django_db
def test_loaded_rows_are_read_in_batches(
    soda: Party, fans: Audience, cities: ValueList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.market.uses.BATCH", 7)
    Campaign.objects.bulk_create(
        Campaign(advertiser=soda, name=f"C{n}", expression=f"geo.city in $cities or user.age = {n}")
        for n in range(30)
    )
    assert refresh_uses() == 30
    assert impact_of_value_list(cities).campaign_count == 30
    assert f"list:{cities.pk}:geo.city:in" in Campaign.objects.all()[0].uses
    assert refresh_uses() == 0

"""What saving a draft would do, against plain Python over the plain evaluator."""

from __future__ import annotations

import pytest

from exchange.accounts.models import Role
from exchange.market.models import Attribute, Audience, Booking, Campaign, Edge, ValueList
from exchange.market.services import save_audience, save_value_list
from exchange.market.uses import refresh_uses
from exchange.reading.drafted_market import Draft
from exchange.reading.rehearsal import Fate, Outcome, Rehearsal, rehearse
from tests.reading.sampled import EDGES, Judge, Visit, a_day, at, eligible, nights, visits
from tests.trading import Exchange, exchange, sell

__all__ = ["exchange", "nights", "visits"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaigns(exchange: Exchange) -> dict[str, Campaign]:
    """Makes three of Soda at the Herald: one anywhere, one in Canada, one for the old."""
    texts = {"Summer": "true", "North": "geo.country = 'CAN'", "Late": "user.age > 70"}
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(expression="true")
    exchange.middle_edge.refresh_from_db()
    Campaign.objects.filter(pk=exchange.campaign.pk).update(expression=texts["Summer"])
    for name in ("North", "Late"):
        campaign = Campaign.objects.create(
            advertiser=exchange.soda.party, name=name, expression=texts[name], status="live"
        )
        Booking.objects.create(campaign=campaign, publisher=exchange.herald.party)
    return {each.name: each for each in Campaign.objects.filter(name__in=texts)}


def by_name(rehearsal: Rehearsal) -> dict[str, Fate]:
    return {fate.booking.campaign.name: fate for fate in rehearsal.fates}


def test_an_edge_that_is_narrowed(
    exchange: Exchange, campaigns: dict[str, Campaign], visits: list[Visit]
) -> None:
    edge = exchange.middle_edge
    edge.expression = "geo.country = 'USA'"
    found = rehearse(Draft(edge), exchange.operators[Role.GRAPH_OPERATOR])
    fates = by_name(found)
    rest = (EDGES[0], EDGES[2])
    for name, campaign in campaigns.items():
        fate = fates[name]
        before = eligible(visits, "herald", *rest, campaign.expression)
        after = eligible(visits, "herald", *rest, campaign.expression, edge.expression)
        assert [fate.before, fate.after] == pytest.approx([before, after])
    assert fates["North"].outcome is Outcome.STOPS
    assert str(edge) in fates["North"].reason
    assert fates["Summer"].outcome in (Outcome.HALVES, Outcome.LOSES)
    judge = Judge()
    passing = [v for v in at(visits, "herald") if all(judge(text, v) is True for text in rest)]
    assert found.before == pytest.approx(a_day(passing))  # each visit once: Summer takes them all
    usa = [v for v in passing if judge(edge.expression, v) is True]
    assert found.after == pytest.approx(a_day(usa))
    assert found.counts["stops"] == 1
    assert Edge.objects.get(pk=edge.pk).expression == "true"


def test_an_edge_that_is_switched_off_leads_bookings_elsewhere_or_stops_them(
    exchange: Exchange, campaigns: dict[str, Campaign], visits: list[Visit]
) -> None:
    edge = exchange.first_edge
    edge.is_active = False
    person = exchange.operators[Role.GRAPH_OPERATOR]
    assert {fate.outcome for fate in rehearse(Draft(edge), person).fates} == {Outcome.STOPS}
    sell(exchange.herald, exchange.southgate, "user.age > 20")
    Edge.objects.filter(seller=exchange.herald.party, buyer=exchange.southgate.party).update(
        fee_percent="50"
    )
    fates = by_name(rehearse(Draft(edge), person))
    after = eligible(visits, "herald", "user.age > 20", EDGES[2])
    assert fates["Summer"].after == pytest.approx(after)


def test_a_new_edge_may_become_the_cheapest_path(
    exchange: Exchange, campaigns: dict[str, Campaign], visits: list[Visit]
) -> None:
    new = Edge(seller=exchange.herald.party, buyer=exchange.soda.party, expression="user.age > 80")
    fates = by_name(rehearse(Draft(new), exchange.operators[Role.GRAPH_OPERATOR]))
    assert fates["Summer"].before == pytest.approx(eligible(visits, "herald", EDGES[0], EDGES[2]))
    assert fates["Summer"].after == pytest.approx(eligible(visits, "herald", "user.age > 80"))


def test_audiences_and_lists_reach_campaigns_and_edges(
    exchange: Exchange, campaigns: dict[str, Campaign], visits: list[Visit]
) -> None:
    admin = exchange.operators[Role.ADMIN]
    assert admin.organisation is not None
    audience = Audience(organisation=admin.organisation, name="here", expression="true")
    save_audience(audience=audience, by=admin)
    towns = ValueList(organisation=admin.organisation, name="lands", type="string")
    save_value_list(value_list=towns, by=admin, values=["USA", "CAN"])
    Campaign.objects.filter(name="Summer").update(expression="@here")
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(expression="geo.country in $lands")
    refresh_uses()
    audience.expression = "user.age > 40"
    fates = by_name(rehearse(Draft(audience), admin))
    rest = (EDGES[0], EDGES[2], "geo.country in ('USA', 'CAN')")
    assert set(fates) == {"Summer"}
    assert fates["Summer"].before == pytest.approx(eligible(visits, "herald", *rest))
    assert fates["Summer"].after == pytest.approx(
        eligible(visits, "herald", *rest, "user.age > 40")
    )
    fates = by_name(rehearse(Draft(towns, ("USA",)), admin))
    rest = (EDGES[0], EDGES[2], "geo.country = 'USA'")
    assert set(fates) == set(campaigns)
    assert fates["North"].outcome is Outcome.STOPS
    assert fates["Summer"].after == pytest.approx(eligible(visits, "herald", *rest))


def test_an_attribute_that_becomes_required(
    exchange: Exchange, campaigns: dict[str, Campaign], visits: list[Visit]
) -> None:
    admin = exchange.operators[Role.ADMIN]
    country = Attribute.objects.get(name="geo.country")
    country.is_required = True
    fates = by_name(rehearse(Draft(country), admin))
    rest = (EDGES[0], EDGES[2])
    assert fates["Summer"].before == pytest.approx(eligible(visits, "herald", *rest))
    after = eligible(visits, "herald", *rest, "geo.country is present")
    assert fates["Summer"].after == pytest.approx(after)
    new = Attribute(name="site.mood", type="string", is_required=True)
    assert {fate.outcome for fate in rehearse(Draft(new), admin).fates} == {Outcome.STOPS}


def test_a_seller_learns_nothing_about_bookings_of_others(
    exchange: Exchange, campaigns: dict[str, Campaign], visits: list[Visit]
) -> None:
    """Drafts as Northgate, who sells over the middle edge; the bookings are Soda's, at the
    Herald."""
    edge = exchange.middle_edge
    edge.expression = "geo.country = 'USA'"
    found = rehearse(Draft(edge), exchange.northgate.people[Role.GRAPH_OPERATOR])
    assert (found.fates, found.before, found.after) == ((), 0.0, 0.0)
    assert (found.concerned.unseen, found.concerned.serving) == (3, 0)


def test_counts_of_few_people_are_not_told_where_the_draft_is_about_persons(
    exchange: Exchange, campaigns: dict[str, Campaign], visits: list[Visit]
) -> None:
    edge = exchange.middle_edge
    person = exchange.operators[Role.GRAPH_OPERATOR]
    told = []
    for text in ("user.id = 'user-7'", "user.id = 'nobody'"):
        edge.expression = text
        fate = by_name(rehearse(Draft(edge), person))["Summer"]
        told.append((fate.outcome, fate.after))
    assert told == [(Outcome.STOPS, None)] * 2


def test_before_the_first_night_there_is_nothing_to_count(
    exchange: Exchange, nights: object
) -> None:
    found = rehearse(Draft(exchange.middle_edge), exchange.operators[Role.ADMIN])
    assert found.sample is None
    assert found.fates == ()

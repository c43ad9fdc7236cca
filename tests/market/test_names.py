"""Which audiences and lists an expression may name: the owner's own and the operator's."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from exchange.accounts.models import Organisation, Role, User
from exchange.accounts.ownership import NotVisible
from exchange.market.models import Audience, Campaign, Edge, ValueList
from exchange.market.services import (
    check_expression,
    save_audience,
    save_campaign,
    save_edge,
    save_value_list,
)
from targeting import ExpressionError
from tests.trading import Exchange, exchange

__all__ = ["exchange"]


def keep_audience(organisation: Organisation, name: str, expression: str, by: User) -> Audience:
    audience = Audience(organisation=organisation, name=name, expression=expression)
    return save_audience(audience=audience, by=by)


def test_people_use_their_own_names_and_the_operators(exchange: Exchange) -> None:
    manager, house = exchange.soda.people[Role.CAMPAIGN_MANAGER], exchange.soda.organisation
    operator = exchange.operators[Role.ADMIN]
    assert operator.organisation is not None
    keep_audience(operator.organisation, "adults", "user.age >= 18", operator)
    save_value_list(
        value_list=ValueList(organisation=house, name="cities"), values=["Oslo"], by=manager
    )
    fans = keep_audience(house, "fans", "@adults and geo.city in $cities", manager)
    exchange.campaign.expression = "@fans or not @adults"
    save_campaign(campaign=exchange.campaign, by=manager)
    expression = check_expression(text="@fans", organisation_id=house.pk)
    assert expression.evaluate({"user.age": 20, "geo.city": "Oslo", "publisher.id": "herald"})
    assert f"audience:{fans.pk}" in Campaign.objects.get(pk=exchange.campaign.pk).uses


def test_nobody_uses_anothers_names(exchange: Exchange) -> None:
    manager = exchange.soda.people[Role.CAMPAIGN_MANAGER]
    keep_audience(exchange.soda.organisation, "fans", "user.age >= 18", manager)
    rival = exchange.rival.people[Role.CAMPAIGN_MANAGER]
    exchange.rival_campaign.expression = "@fans"
    with pytest.raises(ExpressionError, match="unknown name `@fans`"):
        save_campaign(campaign=exchange.rival_campaign, by=rival)
    operator = exchange.operators[Role.GRAPH_OPERATOR]
    edge = Edge.objects.get(pk=exchange.first_edge.pk)
    edge.expression = "@fans"
    with pytest.raises(ExpressionError):
        save_edge(edge=edge, by=operator)


def test_nobody_keeps_a_name_for_another_organisation(exchange: Exchange) -> None:
    rival = exchange.rival.people[Role.CAMPAIGN_MANAGER]
    with pytest.raises(NotVisible):
        keep_audience(exchange.soda.organisation, "spies", "true", rival)


def test_two_organisations_may_have_the_same_name_but_not_the_operators(
    exchange: Exchange,
) -> None:
    soda, rival = exchange.soda, exchange.rival
    operator = exchange.operators[Role.ADMIN]
    assert operator.organisation is not None
    keep_audience(soda.organisation, "fans", "user.age >= 18", soda.admin)
    keep_audience(rival.organisation, "fans", "user.age >= 21", rival.admin)
    with pytest.raises(ValidationError, match="an organisation uses"):
        keep_audience(operator.organisation, "fans", "true", operator)
    keep_audience(operator.organisation, "adults", "user.age >= 18", operator)
    with pytest.raises(ValidationError, match="the exchange uses"):
        keep_audience(soda.organisation, "adults", "true", soda.admin)
    with pytest.raises(ValidationError, match="already an audience"):
        keep_audience(soda.organisation, "fans", "true", soda.admin)


@pytest.mark.parametrize(
    "name", ["edge.17", "audience.x", "list.1", "reach.2", "a b", "", "ä", "a."]
)
def test_the_names_of_the_index_and_odd_ones_are_refused(exchange: Exchange, name: str) -> None:
    with pytest.raises(ValidationError):
        keep_audience(exchange.soda.organisation, name, "true", exchange.soda.admin)


def test_a_circle_of_audiences_is_refused(exchange: Exchange) -> None:
    house, admin = exchange.soda.organisation, exchange.soda.admin
    first = keep_audience(house, "first", "true", admin)
    keep_audience(house, "second", "not @first", admin)
    first.expression = "@second or regs.gdpr"
    with pytest.raises(ExpressionError, match="leads back to itself"):
        save_audience(audience=first, by=admin)
    first.expression = "@first"
    with pytest.raises(ExpressionError, match="leads back to itself"):
        save_audience(audience=first, by=admin)

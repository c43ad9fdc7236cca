"""The impact of a saved campaign on a page of its own: its figures are plain Python over the plain
evaluator, also without some of its conditions."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Campaign
from exchange.reading.campaign_impact import CampaignImpact
from tests.reading.sampled import EDGES, TEXT, Visit, a_day, eligible, nights, visits
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange", "nights", "visits"]

AGE, COUNTRY, SEGMENTS = TEXT.split(" and ")


@pytest.fixture
def campaign(exchange: Exchange) -> Campaign:
    exchange.campaign.expression = TEXT
    exchange.campaign.save(update_fields=["expression"])
    return exchange.campaign


@pytest.fixture
def manager(exchange: Exchange) -> User:
    return exchange.soda.people[Role.CAMPAIGN_MANAGER]


def open_tab(log_in: LogIn, person: User, campaign: Campaign, query: str = "") -> Any:
    answer = log_in(person).get(f"/campaigns/{campaign.pk}/impact/{query}")
    assert answer.status_code == 200
    return answer


def gains(impact: CampaignImpact) -> dict[str, float]:
    return {part.text: part.gain for part in impact.parts if part.gain}


def test_its_stages_and_what_limits_it_are_counted(
    campaign: Campaign, manager: User, visits: list[Visit], log_in: LogIn
) -> None:
    answer = open_tab(log_in, manager, campaign)
    impact = answer.context["impact"]
    here = eligible(visits, "herald", TEXT, *EDGES)
    assert here
    stages = {
        "targeting": sum(eligible(visits, place, TEXT) for place in ("herald", "gazette")),
        "booked": eligible(visits, "herald", TEXT),
        "eligible": here,
    }
    assert dict(impact.reached.stages) == pytest.approx(stages)
    without_age = eligible(visits, "herald", COUNTRY, SEGMENTS, *EDGES)
    without_segments = eligible(visits, "herald", AGE, COUNTRY, *EDGES)
    assert gains(impact) == pytest.approx(
        {AGE: without_age - here, SEGMENTS: without_segments - here}
    )
    assert impact.parts[0].gain == max(gains(impact).values())
    [at] = impact.publishers
    came = a_day(visit for visit in visits if visit["publisher.id"] == "herald")
    assert (at.came, at.reach.wanted, at.reach.eligible) == pytest.approx(
        (came, stages["booked"], here)
    )
    said = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())
    assert f"{here:,.0f} visits a day" in said
    assert "Counted on a sample of 2,400 visits, 14 Nov to 16 Nov" in said


def test_a_condition_is_tried_without_and_taken_along_to_the_editor(
    campaign: Campaign, manager: User, visits: list[Visit], log_in: LogIn
) -> None:
    answer = open_tab(log_in, manager, campaign, "?without=2&without=99&without=x")
    impact = answer.context["impact"]
    assert impact.left_out == [2]
    assert impact.reached.count.visits == pytest.approx(
        eligible(visits, "herald", AGE, COUNTRY, *EDGES)
    )
    assert impact.reached.saved == pytest.approx(eligible(visits, "herald", TEXT, *EDGES))
    assert "against the live version" in answer.text
    edit = log_in(manager).get(f"/campaigns/{campaign.pk}/edit/?without=2")
    assert edit.context["form"]["expression"].value() == f"{AGE}\n#- {SEGMENTS}\nand {COUNTRY}"
    assert Campaign.objects.get(pk=campaign.pk).expression == TEXT


def test_something_always_stays(
    campaign: Campaign, manager: User, visits: list[Visit], log_in: LogIn
) -> None:
    answer = open_tab(log_in, manager, campaign, "?without=0&without=1&without=2")
    assert answer.context["impact"].left_out == []
    Campaign.objects.filter(pk=campaign.pk).update(expression="geo.country = 'USA'")
    assert "The only condition cannot be left out" in open_tab(log_in, manager, campaign).text


def test_of_few_people_nothing_is_told(
    campaign: Campaign, manager: User, visits: list[Visit], log_in: LogIn
) -> None:
    few = "user.id = 'user-7' and user.age > 1"
    Campaign.objects.filter(pk=campaign.pk).update(expression=few)
    answer = open_tab(log_in, manager, campaign)
    assert "Fewer than 10 people of the sample" in answer.text
    [at] = answer.context["impact"].publishers
    assert (at.reach.wanted, at.reach.eligible) == (None, None)


def test_states_without_figures_say_what_to_do(
    campaign: Campaign, manager: User, nights: Path, log_in: LogIn
) -> None:
    assert "No night has been counted yet" in open_tab(log_in, manager, campaign).text
    Campaign.objects.filter(pk=campaign.pk).update(expression="shoe_size = 43")
    assert "The targeting no longer compiles" in open_tab(log_in, manager, campaign).text


def test_what_is_not_booked_reaches_by_its_targeting_alone(
    campaign: Campaign, manager: User, visits: list[Visit], log_in: LogIn
) -> None:
    Booking.objects.update(is_active=False)
    answer = open_tab(log_in, manager, campaign)
    assert [name for name, _ in answer.context["reached"].stages] == ["targeting"]
    assert "See where it could be booked" in answer.text

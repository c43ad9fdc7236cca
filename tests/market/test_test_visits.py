"""Saved test visits: they run on every save of their campaign, and failing ones are confirmed."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from exchange.accounts.models import User
from exchange.market.impact import impact_of_audience
from exchange.market.models import Audience, Campaign, TestVisit, ValueList
from exchange.market.services import (
    FailingVisitsError,
    retire_test_visit,
    run_test_visits,
    save_audience,
    save_campaign,
    save_test_visit,
    save_value_list,
)


def keep_visit(
    campaign: Campaign, name: str, visit: Any, by: User, *, eligible: bool = True
) -> TestVisit:
    test_visit = TestVisit(campaign=campaign, name=name, visit=visit, expects_eligible=eligible)
    return save_test_visit(test_visit=test_visit, by=by)


def test_a_campaign_that_goes_against_its_visits_must_be_confirmed(
    alice: User, campaign: Campaign
) -> None:
    keep_visit(campaign, "At home", {"geo": {"country": "USA"}}, alice)
    keep_visit(campaign, "Abroad", {"geo.country": "FRA"}, alice, eligible=False)
    campaign.name = "Summer 2"
    save_campaign(campaign=campaign, by=alice)
    campaign.expression = "geo.country = 'FRA'"
    with pytest.raises(FailingVisitsError) as caught:
        save_campaign(campaign=campaign, by=alice)
    assert caught.value.messages == [
        "“Abroad” is eligible, but should be not eligible.",
        "“At home” is not eligible, but should be eligible.",
    ]
    assert Campaign.objects.get().expression == "geo.country = 'USA'"
    save_campaign(campaign=campaign, by=alice, confirmed=True)
    assert Campaign.objects.get().expression == "geo.country = 'FRA'"
    assert [outcome.is_as_expected for outcome in run_test_visits(campaign=campaign)] == [False] * 2


def test_audiences_are_resolved(alice: User, erin: User, campaign: Campaign) -> None:
    adults = Audience(
        organisation=campaign.advertiser.organisation, name="adults", expression="user.age >= 18"
    )
    save_audience(audience=adults, by=erin)
    keep_visit(campaign, "Grown up", {"geo.country": "USA", "user": {"age": 20}}, alice)
    keep_visit(campaign, "Nobody knows", {"geo.country": "USA"}, alice, eligible=False)
    campaign.expression = "geo.country = 'USA' and @adults"
    save_campaign(campaign=campaign, by=alice)
    assert all(outcome.is_as_expected for outcome in run_test_visits(campaign=campaign))


@pytest.fixture
def adults(erin: User, campaign: Campaign) -> Audience:
    """Makes an audience that the campaign uses, through another audience."""
    organisation = campaign.advertiser.organisation
    found = Audience(organisation=organisation, name="adults", expression="user.age >= 18")
    save_audience(audience=found, by=erin)
    buyers = Audience(organisation=organisation, name="buyers", expression="@adults")
    save_audience(audience=buyers, by=erin)
    campaign.expression = "geo.country = 'USA' and @buyers"
    save_campaign(campaign=campaign, by=erin)
    return found


def test_an_audience_that_goes_against_visits_of_its_users_must_be_confirmed(
    erin: User, campaign: Campaign, adults: Audience
) -> None:
    keep_visit(campaign, "Twenty", {"geo.country": "USA", "user": {"age": 20}}, erin)
    keep_visit(campaign, "Forty", {"geo.country": "USA", "user": {"age": 40}}, erin)
    adults.description = "Of age"
    save_audience(audience=adults, by=erin)
    adults.expression = "user.age >= 21"
    with pytest.raises(FailingVisitsError, match="“Twenty” is not eligible") as caught:
        save_audience(audience=adults, by=erin)
    assert (len(caught.value.outcomes), caught.value.run_count) == (1, 2)
    assert Audience.objects.get(name="adults").expression == "user.age >= 18"
    save_audience(audience=adults, by=erin, confirmed=True)
    assert Audience.objects.get(name="adults").expression == "user.age >= 21"
    adults.expression = "user.age >= 30"
    save_audience(audience=adults, by=erin)  # it failed before: nothing new to confirm


def test_a_list_that_goes_against_visits_of_its_users_must_be_confirmed(
    erin: User, campaign: Campaign
) -> None:
    towns = ValueList(organisation=campaign.advertiser.organisation, name="towns")
    save_value_list(value_list=towns, values=["Oslo", "Rome"], by=erin)
    campaign.expression = "geo.city in $towns"
    save_campaign(campaign=campaign, by=erin)
    keep_visit(campaign, "Roman", {"geo.city": "Rome"}, erin)
    save_value_list(value_list=towns, values=["Paris", "Rome"], by=erin)
    with pytest.raises(FailingVisitsError, match="“Roman” is not eligible"):
        save_value_list(value_list=towns, values=["Paris"], by=erin)
    assert run_test_visits(campaign=campaign)[0].is_as_expected
    save_value_list(value_list=towns, values=["Bonn"], by=erin, confirmed=True)
    assert not run_test_visits(campaign=campaign)[0].is_as_expected
    towns.refresh_from_db()
    assert towns.current_number == 3


def test_only_so_many_visits_run_and_the_page_knows_how_many(
    erin: User, campaign: Campaign, adults: Audience, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age in (20, 30, 40):
        keep_visit(campaign, f"Age {age}", {"geo.country": "USA", "user": {"age": age}}, erin)
    assert impact_of_audience(adults).rehearsal == "3 test visits"
    monkeypatch.setattr("exchange.market.impact.MAX_REHEARSED", 2)
    monkeypatch.setattr("exchange.market.services.test_visits.MAX_REHEARSED", 2)
    assert impact_of_audience(adults).rehearsal == "2 of 3 test visits"
    adults.expression = "user.age >= 50"
    with pytest.raises(FailingVisitsError) as caught:
        save_audience(audience=adults, by=erin)
    assert caught.value.run_count == 2


def test_a_campaign_that_no_longer_compiles_stands_in_nobodys_way(
    erin: User, campaign: Campaign, adults: Audience
) -> None:
    keep_visit(campaign, "Twenty", {"geo.country": "USA", "user": {"age": 20}}, erin)
    Campaign.objects.update(expression="shoe_size = 43 and @adults")
    adults.expression = "user.age >= 21"
    save_audience(audience=adults, by=erin)


def test_a_retired_visit_no_longer_counts(alice: User, campaign: Campaign) -> None:
    visit = keep_visit(campaign, "At home", {"geo": {"country": "USA"}}, alice)
    retire_test_visit(test_visit=visit, by=alice)
    campaign.expression = "geo.country = 'FRA'"
    save_campaign(campaign=campaign, by=alice)


def test_a_visit_may_say_when_it_happens(alice: User, campaign: Campaign) -> None:
    campaign.expression = "time during 'Mon 08:00-09:00'"
    save_campaign(campaign=campaign, by=alice)
    keep_visit(campaign, "Monday", {"time": "2026-11-16T08:30:00Z"}, alice)
    keep_visit(campaign, "Tuesday", {"time": "2026-11-17T08:30:00Z"}, alice, eligible=False)
    assert all(outcome.is_as_expected for outcome in run_test_visits(campaign=campaign))


def test_a_visit_that_says_its_time_has_it_on_the_visitors_clock_too(
    alice: User, campaign: Campaign
) -> None:
    campaign.expression = "local_time during '17:00-23:00'"
    save_campaign(campaign=campaign, by=alice)
    berlin = {"geo.utc_offset": 60}
    keep_visit(campaign, "Evening", {"time": "2026-11-16T16:30:00Z", **berlin}, alice)
    keep_visit(campaign, "Night", {"time": "2026-11-16T02:00:00Z"} | berlin, alice, eligible=False)
    assert all(outcome.is_as_expected for outcome in run_test_visits(campaign=campaign))


def test_a_visit_without_a_time_keeps_the_time_of_its_save(alice: User, campaign: Campaign) -> None:
    """Keeps the moment, or the test would pass by day and fail by night."""
    saved = keep_visit(campaign, "Now", {"geo.country": "USA"}, alice)
    moment = saved.visit["time"]
    (outcome,) = run_test_visits(campaign=campaign)
    assert f"{outcome.at:%Y-%m-%dT%H:%M:%SZ}" == moment
    saved.name = "Then"
    assert save_test_visit(test_visit=saved, by=alice).visit["time"] == moment


def test_a_visit_that_was_kept_without_a_time_is_as_old_as_its_row(campaign: Campaign) -> None:
    row = TestVisit.objects.create(campaign=campaign, name="Old", visit={"geo.country": "USA"})
    long_ago = row.created_at.replace(year=2020)
    TestVisit.objects.filter(pk=row.pk).update(created_at=long_ago)
    (outcome,) = run_test_visits(campaign=campaign)
    assert outcome.at == long_ago


def test_of_a_bid_request_its_one_imp_is_kept(alice: User, campaign: Campaign) -> None:
    campaign.expression = "geo.country = 'USA' and imp.media_types one of ('video')"
    save_campaign(campaign=campaign, by=alice)
    request = {"device": {"geo": {"country": "USA"}}, "imp": [{"id": "a", "video": {}}]}
    saved = keep_visit(campaign, "Bid request", request, alice)
    assert (saved.visit["geo.country"], saved.visit["imp.media_types"]) == ("USA", ["video"])
    assert run_test_visits(campaign=campaign)[0].is_as_expected
    two = {**request, "imp": [{"id": "a"}, {"id": "b"}]}
    with pytest.raises(ValidationError, match=r"has 2 imps \(a, b\). Leave the one"):
        keep_visit(campaign, "Two imps", two, alice)


def nest(depth: int) -> dict[str, Any]:
    return {"a": nest(depth - 1)} if depth else {"a": 1}


@pytest.mark.parametrize(
    "visit", [[], "text", 7, nest(20), {"time": "noon"}, {"imp": []}, {"imp": [1]}]
)
def test_what_no_ad_server_could_send_is_refused(
    alice: User, campaign: Campaign, visit: Any
) -> None:
    with pytest.raises(ValidationError):
        keep_visit(campaign, "Odd", visit, alice)

"""Stopping is always possible: only what goes live, or changes what is live, is held up."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Edge, TestVisit
from exchange.market.services import save_campaign
from tests.web.conftest import LogIn
from tests.web.test_forms import campaign_fields
from tests.web.test_saving import edge_fields

pytestmark = pytest.mark.django_db


@pytest.fixture
def failing_visit(campaign: Campaign) -> TestVisit:
    return TestVisit.objects.create(
        campaign=campaign, name="French phone", visit={"geo": {"country": "FRA"}}
    )


def test_a_campaign_is_paused_while_a_test_visit_fails(
    alice: User, campaign: Campaign, failing_visit: TestVisit, log_in: LogIn
) -> None:
    browser, address = log_in(alice), f"/campaigns/{campaign.pk}/status/"
    assert "is now paused" in browser.post(address, {"status": "paused"}, follow=True).text
    campaign.refresh_from_db()
    assert campaign.status == "paused"
    assert (
        "Not saved: “French phone”" in browser.post(address, {"status": "live"}, follow=True).text
    )
    campaign.refresh_from_db()
    assert campaign.status == "paused"


def test_ending_earlier_is_stopping_and_ending_later_is_not(
    alice: User, campaign: Campaign, failing_visit: TestVisit, log_in: LogIn
) -> None:
    browser, address = log_in(alice), f"/campaigns/{campaign.pk}/edit/"
    now = timezone.now()
    same = {"name": campaign.name, "expression": campaign.expression, "status": "live"}

    def end(days: int) -> int:
        campaign.refresh_from_db()
        times = {
            "starts_at": f"{campaign.starts_at:%Y-%m-%dT%H:%M}",
            "ends_at": f"{now + timedelta(days=days):%Y-%m-%dT%H:%M}",
        }
        fields = campaign_fields(campaign.advertiser, **same, **times)
        return browser.post(address, fields).status_code

    assert end(days=5) == 302
    assert end(days=2) == 302
    assert end(days=9) == 422


def test_going_back_over_failing_test_visits_can_be_confirmed(
    alice: User, campaign: Campaign, failing_visit: TestVisit, log_in: LogIn
) -> None:
    first = campaign.expression
    campaign.expression = "geo.country = 'FRA'"
    save_campaign(campaign=campaign, by=alice)
    browser, address = log_in(alice), f"/campaigns/{campaign.pk}/history/1/revert/"
    answer = browser.post(address)
    assert answer.status_code == 422
    assert "“French phone” is not eligible, but should be eligible" in answer.text
    assert "Go back although these test visits fail" in answer.text
    campaign.refresh_from_db()
    assert campaign.expression != first
    assert browser.post(address, {"confirmed": "on"}).status_code == 302
    campaign.refresh_from_db()
    assert campaign.expression == first


@pytest.fixture
def broken(campaign: Campaign, failing_visit: TestVisit) -> Campaign:
    """Breaks the campaign: its attribute is gone, so builds quarantine it."""
    Campaign.objects.update(expression="shoe_size = 43")
    campaign.refresh_from_db()
    return campaign


@pytest.mark.parametrize("page", ["", "edit/", "history/", "tests/"])
def test_the_pages_of_a_quarantined_campaign_are_there_for_the_repair(
    alice: User, broken: Campaign, booking: Booking, log_in: LogIn, page: str
) -> None:
    answer = log_in(alice).get(f"/campaigns/{broken.pk}/{page}")
    assert answer.status_code == 200
    assert "shoe_size" in answer.text


def test_a_quarantined_campaign_says_so_pauses_and_does_not_go_live(
    alice: User, broken: Campaign, log_in: LogIn
) -> None:
    browser, address = log_in(alice), f"/campaigns/{broken.pk}/status/"
    assert "The targeting no longer compiles" in browser.get(f"/campaigns/{broken.pk}/").text
    assert "is now paused" in browser.post(address, {"status": "paused"}, follow=True).text
    refused = unescape(browser.post(address, {"status": "live"}, follow=True).text)
    assert "Not saved: the targeting no longer compiles. line 1, column 1" in refused
    broken.refresh_from_db()
    assert broken.status == "paused"
    fields = campaign_fields(broken.advertiser, name="Broken", expression="shoe_size = 43")
    assert (
        browser.post(f"/campaigns/{broken.pk}/edit/", fields | {"status": "live"}).status_code
        == 422
    )
    assert (
        browser.post(f"/campaigns/{broken.pk}/edit/", fields | {"status": "draft"}).status_code
        == 302
    )
    assert log_in(alice).post(f"/campaigns/{broken.pk}/retire/", follow=True).status_code == 200
    broken.refresh_from_db()
    assert broken.is_retired


def test_an_edge_whose_rule_no_longer_compiles_can_be_closed(
    bob: User, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    Edge.objects.filter(pk=edges[0].pk).update(expression="shoe_size = 43\nor shoe_size = 44")
    edge = Edge.objects.get(pk=edges[0].pk)
    browser, address = log_in(bob), f"/edges/{edge.pk}/edit/"
    fields = edge_fields(edge, expression=edge.expression.replace("\n", "\r\n"))
    assert browser.post(address, fields).status_code == 422
    del fields["is_active"]
    assert browser.post(address, fields | {"expression": "hat_size = 7"}).status_code == 422
    assert browser.post(address, fields).status_code == 302
    edge.refresh_from_db()
    assert not edge.is_active


def test_the_address_of_a_form_has_a_page(alice: User, campaign: Campaign, log_in: LogIn) -> None:
    answer = log_in(alice).get(f"/campaigns/{campaign.pk}/status/")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "This address only takes what a form sends" in answer.text

"""Saving from a page: stale saves, failing test visits, pins, retiring."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from exchange.accounts.models import User
from exchange.market.history import revisions_of
from exchange.market.models import Booking, Campaign, Edge, Party, TestVisit
from tests.market.places import found
from tests.web.conftest import LogIn
from tests.web.test_forms import campaign_fields

pytestmark = pytest.mark.django_db


def edge_fields(edge: Edge, **changes: Any) -> dict[str, Any]:
    return {
        "seller": edge.seller_id,
        "buyer": edge.buyer_id,
        "fee_percent": edge.fee_percent,
        "is_active": "on",
        "expression": edge.expression,
        "expected_version": edge.version,
        **changes,
    }


def test_a_stale_save_is_refused_and_shows_both_versions(
    bob: User, erin: User, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    edge, address = edges[0], f"/edges/{edges[0].pk}/edit/"
    log_in(erin).post(address, edge_fields(edge, expression="geo.country = 'FRA'"))
    mine = edge_fields(edge, expression="geo.country = 'DEU'", fee_percent="12")
    answer = log_in(bob).post(address, mine)
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "while you were editing" in html
    rivals = html.partition("Two versions")[2].partition("</table>")[0]
    assert "FRA" in rivals
    assert "DEU" in rivals
    assert "Seller" not in rivals
    assert "DEU" in html.partition("<textarea")[2].partition("</textarea>")[0]
    edge.refresh_from_db()
    assert edge.expression == "geo.country = 'FRA'"


@pytest.mark.django_db(transaction=True)
def test_two_people_who_save_at_the_same_moment_are_both_told(
    bob: User, erin: User, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    """Saves on two connections at once: one is saved, the other sees both versions and goes on from
    there; in the end everything that was saved is in the history, under its name."""
    edge, address = edges[0], f"/edges/{edges[0].pk}/edit/"
    start = Barrier(2)
    wanted = {bob: "geo.country = 'DEU'", erin: "geo.country = 'FRA'"}
    browsers = {person: log_in(person) for person in wanted}

    def save(person: User) -> Any:
        start.wait(timeout=60)
        try:
            return browsers[person].post(address, edge_fields(edge, expression=wanted[person]))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip(wanted, pool.map(save, wanted), strict=True))
    assert sorted(answer.status_code for answer in answers.values()) == [302, 409]
    winner, loser = sorted(wanted, key=lambda person: answers[person].status_code)
    told = unescape(answers[loser].content.decode())
    assert "was changed while you were editing" in told
    assert f"Now saved, by {winner}" in told
    assert wanted[winner] in told
    assert wanted[loser] in told
    edge.refresh_from_db()
    assert edge.expression == wanted[winner]
    shown = answers[loser].context["form"]["expected_version"].value()
    again = edge_fields(edge, expression=wanted[loser]) | {"expected_version": shown}
    assert browsers[loser].post(address, again).status_code == 302
    kept = [(revision.by, revision.expression) for revision in revisions_of(edge)]
    assert kept[:2] == [(loser, wanted[loser]), (winner, wanted[winner])]


def test_who_has_seen_both_versions_may_save(
    bob: User, erin: User, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    edge, address = edges[0], f"/edges/{edges[0].pk}/edit/"
    log_in(erin).post(address, edge_fields(edge, expression="geo.country = 'FRA'"))
    mine = edge_fields(edge, expression="geo.country = 'DEU'")
    refused = log_in(bob).post(address, mine)
    shown = refused.context["form"]["expected_version"].value()
    assert log_in(bob).post(address, mine | {"expected_version": shown}).status_code == 302
    edge.refresh_from_db()
    assert edge.expression == "geo.country = 'DEU'"


def test_a_change_of_an_edge_says_first_whom_it_hits(
    bob: User, booking: Booking, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    html = log_in(bob).get(f"/edges/{edges[0].pk}/edit/").content.decode()
    assert "on the path of 1 active booking, between 1 pair of publisher and advertiser." in html


@pytest.fixture
def phone_visit(campaign: Campaign) -> TestVisit:
    return TestVisit.objects.create(
        campaign=campaign, name="American phone", visit={"geo": {"country": "USA"}}
    )


def test_failing_test_visits_must_be_confirmed(
    alice: User, campaign: Campaign, phone_visit: TestVisit, log_in: LogIn
) -> None:
    address = f"/campaigns/{campaign.pk}/edit/"
    fields = campaign_fields(campaign.advertiser, name=campaign.name, expression="false")
    answer = log_in(alice).post(address, fields)
    assert answer.status_code == 422
    assert "“American phone” is not eligible, but should be eligible" in answer.content.decode()
    campaign.refresh_from_db()
    assert campaign.expression != "false"
    assert log_in(alice).post(address, fields | {"confirmed": "on"}).status_code == 302
    campaign.refresh_from_db()
    assert campaign.expression == "false"


def test_going_live_over_a_failing_test_visit_is_refused_in_words(
    alice: User, campaign: Campaign, phone_visit: TestVisit, log_in: LogIn
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(expression="false", status="draft")
    answer = log_in(alice).post(
        f"/campaigns/{campaign.pk}/status/", {"status": "live"}, follow=True
    )
    assert "Not saved: “American phone”" in answer.content.decode()
    campaign.refresh_from_db()
    assert campaign.status == "draft"


def test_test_visits_are_added_shown_and_corrected(
    alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    browser = log_in(alice)
    visit = {"geo.country": "FRA", "time": "2026-11-17T08:30:00Z"}
    fields = {"name": "In France", "expects_eligible": "no", "visit": json.dumps(visit)}
    browser.post(f"/campaigns/{campaign.pk}/tests/new/", fields)
    test_visit = TestVisit.objects.get()
    assert (test_visit.visit, test_visit.expects_eligible) == (visit, False)
    html = browser.get(f"/campaigns/{campaign.pk}/tests/").content.decode()
    assert "In France" in html
    assert "Passes" in html
    assert "Tue 2026-11-17 08:30" in html
    wrong = browser.post(
        f"/test-visits/{test_visit.pk}/edit/", fields | {"visit": '{"geo.country": FRA}'}
    )
    assert "Line 1, column 17" in wrong.content.decode()


def test_a_booking_is_pinned_to_one_of_the_offered_paths(
    alice: User, booking: Booking, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    address = f"/bookings/{booking.pk}/edit/"
    html = log_in(alice).get(address).content.decode()
    assert "Daily Herald → Northgate → Solberg Soda · fees 28.00 %" in html
    fields = {"policy": "pinned", "hop_limit": "5", "is_active": "on", "pins": ""}
    assert "Choose the path" in log_in(alice).post(address, fields).content.decode()
    pins = f"{edges[0].pk},{edges[1].pk}"
    assert log_in(alice).post(address, fields | {"pins": pins}).status_code == 302
    booking.refresh_from_db()
    assert booking.pinned_edges == [edges[0].pk, edges[1].pk]


def test_what_is_in_use_is_not_retired(
    bob: User, edges: tuple[Edge, Edge], northgate: Party, log_in: LogIn
) -> None:
    answer = log_in(bob).post(f"/parties/{northgate.pk}/retire/", follow=True)
    assert "Northgate still has 2 edges" in answer.content.decode()
    northgate.refresh_from_db()
    assert not northgate.is_retired


def test_what_is_retired_leaves_the_lists_and_keeps_its_page(
    bob: User, operator: Any, log_in: LogIn
) -> None:
    spare = found(Party.Kind.INTERMEDIARY, "Spare", operator)
    browser = log_in(bob)
    browser.post(f"/parties/{spare.pk}/retire/", follow=True)
    assert "Spare" not in browser.get("/parties/").content.decode()
    html = browser.get(f"/parties/{spare.pk}/").content.decode()
    assert "its number is never given again" in html
    assert "Edit</a>" not in html


def test_a_visit_that_was_tried_becomes_a_test_visit(
    alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    tried = {"visit": '{"geo.country": "FRA"}', "expects": "no"}
    form = log_in(alice).get(f"/campaigns/{campaign.pk}/tests/new/", tried).context["form"]
    assert form["visit"].value() == tried["visit"]
    assert form["expects_eligible"].value() == "no"

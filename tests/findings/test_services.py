"""Checks keep what they find, replace it whole, and tell readers no more than they may see."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from exchange.accounts.models import Role, User
from exchange.findings.models import BookingFinding
from exchange.findings.services import check_all, check_booking
from exchange.findings.wording import tell
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import REDACTED
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from tests.rivals import overlap
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db
Kind = BookingFinding.Kind


def kinds(booking: Booking) -> list[str]:
    return [finding.kind for finding in check_booking(booking=booking)]


def test_a_finding_goes_with_its_reason(booking: Booking, edges: tuple[Edge, Edge]) -> None:
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    assert kinds(booking) == [Kind.BROKEN_PATH]
    assert BookingFinding.objects.count() == 1
    Edge.objects.filter(pk=edges[1].pk).update(is_active=True)
    assert kinds(booking) == []
    assert not BookingFinding.objects.exists()


def test_a_booking_that_rests_is_not_judged(booking: Booking) -> None:
    Edge.objects.update(is_active=False)
    assert check_all() == 1
    Campaign.objects.update(status="paused")
    assert check_all() == 0
    assert not BookingFinding.objects.exists()


def age(booking: Booking, days: int) -> None:
    long_ago = timezone.now() - timedelta(days=days)
    Booking.objects.filter(pk=booking.pk).update(created_at=long_ago)
    Campaign.objects.filter(pk=booking.campaign_id).update(starts_at=long_ago)


@pytest.mark.parametrize(
    ("booked_days", "visits", "eligible", "expected"),
    [
        (20, 100, 0, [Kind.NEVER_MATCHED]),
        (20, 100, 1, []),
        (20, 0, 0, []),
        (3, 100, 0, []),
    ],
)
def test_two_weeks_of_visits_without_a_match_are_told(
    booking: Booking, booked_days: int, visits: int, eligible: int, expected: list[str]
) -> None:
    age(booking, booked_days)
    day = timezone.now().date() - timedelta(days=2)
    run = ReportRun.objects.create(first_day=day, last_day=day)
    DailyVisits.objects.create(day=day, publisher=booking.publisher, visits=visits, run=run)
    EligibleVisits.objects.create(
        day=day,
        campaign=booking.campaign,
        publisher=booking.publisher,
        eligible_visits=eligible,
        run=run,
    )
    assert kinds(booking) == expected


@pytest.mark.parametrize(
    ("who", "campaign_text", "edge_text"),
    [
        ("operators", "geo.country = 'USA'", "geo.country = 'CAN'"),
        ("soda", "geo.country = 'USA'", REDACTED),
        ("herald", REDACTED, REDACTED),
    ],
)
def test_conditions_are_told_to_those_who_may_read_them(
    exchange: Exchange, who: str, campaign_text: str, edge_text: str
) -> None:
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(expression="geo.country = 'CAN'")
    found = check_booking(booking=exchange.booking)
    reader: User = (
        exchange.operators[Role.VIEWER]
        if who == "operators"
        else getattr(exchange, who).people[Role.VIEWER]
    )
    [told] = tell(found, reader)
    assert told.message.startswith("No visit can satisfy both the campaign and Northgate → South")
    assert told.conditions == (
        ("the campaign", campaign_text),
        ("Northgate → Southgate", edge_text),
    )


def test_the_page_lists_findings_of_ones_own_bookings_by_kind(
    exchange: Exchange, log_in: LogIn
) -> None:
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(is_active=False)
    call_command("check_bookings")
    seen = read(log_in(exchange.soda.people[Role.VIEWER]), "/findings/")
    assert "Nothing passes while Northgate → Southgate is switched off." in seen
    by_kind = read(log_in(exchange.soda.people[Role.VIEWER]), "/findings/?kind=cycle")
    assert "Nothing passes" not in by_kind
    others = read(log_in(exchange.rival.people[Role.VIEWER]), "/findings/")
    assert "Nothing found" in others


def read(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_saving_a_booking_warns_of_what_is_found(
    log_in: LogIn, alice: User, campaign: Campaign, herald: Party
) -> None:
    client = log_in(alice)
    response = client.post(
        "/bookings/new/",
        {
            "campaign": f"#{campaign.pk}",
            "publisher": herald.pk,
            "is_active": "on",
            "policy": "cheapest",
            "hop_limit": 5,
        },
        follow=True,
    )
    assert "No chain of edges leads from Daily Herald to Solberg Soda." in response.content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_found_before", [False, True])
def test_two_checks_at_once_are_one_after_the_other(
    booking: Booking,
    is_found_before: bool,
) -> None:
    Edge.objects.update(is_active=False)
    if is_found_before:
        check_booking(booking=booking)
    first, second = overlap(
        lambda: check_booking(booking=booking), lambda: check_booking(booking=booking)
    )
    assert [finding.kind for finding in (*first, *second)] == [Kind.BROKEN_PATH] * 2
    [kept] = BookingFinding.objects.all()
    assert kept.checked_at == second[0].checked_at

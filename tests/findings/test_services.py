"""Checks keep what they find, replace it whole, and tell readers no more than they may see."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import Role, User
from exchange.findings.changed import check_changed, check_night, is_first_due, last_checked
from exchange.findings.models import BookingFinding, CheckedUpTo
from exchange.findings.services import check_all, check_booking
from exchange.findings.wording import tell
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import REDACTED
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.services import run_build
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


@pytest.mark.django_db(transaction=True)
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
    assert (
        "No chain of edges leads from Daily Herald to Solberg Soda in at"
        in response.content.decode()
    )


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


@pytest.mark.django_db(transaction=True)
def test_findings_of_one_cause_are_one_row_that_opens_to_its_bookings(
    log_in: LogIn, alice: User, herald: Party, northgate: Party, soda: Party
) -> None:
    """Shows that a circle, which touches every booking on any path, does not bury the one
    contradiction."""
    Edge.objects.create(seller=herald, buyer=northgate)
    back = Party.objects.create(
        kind="intermediary", name="South", seller_id="south", organisation=northgate.organisation
    )
    for seller, buyer in ((northgate, back), (back, northgate), (northgate, soda)):
        Edge.objects.create(seller=seller, buyer=buyer, expression="geo.country = 'USA'")
    for number in range(60):
        campaign = Campaign.objects.create(
            advertiser=soda,
            name=f"Wave {number:02}",
            expression="geo.country = 'FRA'" if number == 7 else "true",
            status="live",
        )
        Booking.objects.create(campaign=campaign, publisher=herald, policy="any")
    client = log_in(alice)
    assert "Not checked yet" in read(client, "/findings/")
    call_command("check_bookings")
    page = unescape(read(client, "/findings/"))
    assert page.count("<tr>") == 1 + 2
    assert "60 bookings</a>" in page
    assert page.index("Paths may go in a circle") < page.index("No visit can satisfy both")
    assert "Wave 07" in page
    assert "Bookings checked" in page
    opened = re.search(r'href="(/findings/\?cause=[^"]+)">60 bookings', page)
    assert opened
    rows = read(client, opened[1])
    assert rows.count("<tr>") == 1 + 50
    after = re.search(r'href="(\?[^"]*after=[^"]+)"', rows)
    assert after
    assert read(client, f"/findings/{unescape(after[1])}").count("<tr>") == 1 + 10
    blocked = Campaign.objects.get(name="Wave 07")
    listed = read(client, "/campaigns/?status=blocked")
    assert f"/findings/?campaign={blocked.pk}" in listed
    assert "2 findings" in listed
    of_campaign = read(client, f"/findings/?campaign={blocked.pk}")
    assert of_campaign.count("<tr>") == 1 + 2


@pytest.mark.django_db(transaction=True)
def test_the_first_check_runs_with_the_first_build(
    booking: Booking, edges: tuple[Edge, Edge], settings: Settings, tmp_path: Path
) -> None:
    CheckedUpTo.objects.all().delete()
    settings.SNAPSHOT_DIR = tmp_path
    check_changed()
    assert not is_first_due()
    assert last_checked() is None
    assert run_build(build_id=request_build().pk)
    assert is_first_due()
    assert not is_first_due()  # it is asked for once
    check_night()
    assert last_checked() is not None

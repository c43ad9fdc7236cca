"""Today: one row for each cause, with its visits and what can be done; each role has its own."""

from __future__ import annotations

from datetime import date, timedelta
from html import unescape
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from exchange.accounts.models import Organisation, Role, User
from exchange.findings.models import BookingFinding, CheckedUpTo
from exchange.findings.services import check_all
from exchange.keys.services import create_api_key
from exchange.market.models import Booking, Campaign, Edge, Party, TestVisit
from exchange.market.services import save_edge
from exchange.market.visibility import REDACTED
from exchange.reading.falls import find_falls
from exchange.reading.troubles import BOOKINGS_SUMMED, CAUSES_TOLD, find_troubles
from exchange.reports.models import DailyVisits, EligibleVisits, JobRun, ReportRun
from exchange.snapshots.models import SnapshotBuild
from exchange.web.today.homes import HOMES, read_today
from tests.market.places import found
from tests.reports.night.written import nights, write_night
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange", "nights"]

pytestmark = pytest.mark.django_db
TODAY = date(2026, 11, 16)


def note_checked() -> None:
    """Notes the first check of everything."""
    now = timezone.now()
    CheckedUpTo.objects.create(
        pk=1, position="1:1:", swept_at=now, first_asked_at=now, all_checked_at=now
    )


def report(campaign: Campaign, publisher: Party, visits: dict[date, int]) -> None:
    run = ReportRun.objects.create(first_day=min(visits), last_day=max(visits), status="done")
    for day, count in visits.items():
        DailyVisits.objects.get_or_create(
            day=day, publisher=publisher, defaults={"visits": 1_000, "run": run}
        )
        EligibleVisits.objects.create(
            day=day, campaign=campaign, publisher=publisher, eligible_visits=count, run=run
        )


def close(edge: Edge, by: User) -> None:
    edge.is_active = False
    save_edge(edge=edge, by=by)


def read(log_in: LogIn, person: User) -> str:
    return unescape(log_in(person).get("/").content.decode())


def test_nothing_needs_you_only_when_that_was_checked(log_in: LogIn, alice: User) -> None:
    before = read(log_in, alice)
    assert "Nothing needs you" not in before
    assert "checked yet" in before
    note_checked()
    after = read(log_in, alice)
    assert "Nothing needs you." in after
    assert "checked yet" not in after


def test_a_closed_edge_is_one_row_with_its_visits_its_change_and_the_way_back(
    log_in: LogIn, bob: User, booking: Booking, edges: tuple[Edge, Edge], soda: Party
) -> None:
    other = Campaign.objects.create(
        advertiser=soda, name="Winter", expression="true", status="live"
    )
    Booking.objects.create(campaign=other, publisher=booking.publisher)
    report(booking.campaign, booking.publisher, {TODAY: 0, TODAY - timedelta(days=1): 40})
    report(other, booking.publisher, {TODAY - timedelta(days=1): 15})
    close(edges[1], bob)
    check_all()
    [trouble] = find_troubles(bob)
    assert (trouble.size, trouble.visits, trouble.is_at_least) == (2, 55, False)
    assert trouble.change is not None
    assert (trouble.change.before, trouble.change.words) == (1, ["switched off"])
    page = read(log_in, bob)
    assert "2 bookings stopped by Northgate → Solberg Soda" in page
    assert "55" in page
    assert "Bob, " in page
    assert reverse("edge-revert", args=[edges[1].pk, 1]) in page
    assert "last check" in page


def test_a_revert_on_today_opens_the_edge_again(
    log_in: LogIn, bob: User, booking: Booking, edges: tuple[Edge, Edge]
) -> None:
    close(edges[1], bob)
    check_all()
    client = log_in(bob)
    assert reverse("edge-revert", args=[edges[1].pk, 1]) in client.get("/").content.decode()
    client.post(reverse("edge-revert", args=[edges[1].pk, 1]))
    assert Edge.objects.get(pk=edges[1].pk).is_active
    check_all()
    assert find_troubles(bob) == []


def test_who_may_not_change_an_edge_is_offered_no_revert(
    log_in: LogIn, alice: User, bob: User, booking: Booking, edges: tuple[Edge, Edge]
) -> None:
    close(edges[1], bob)
    check_all()
    page = read(log_in, alice)
    assert "1 booking stopped by" in page
    assert "/revert/" not in page
    assert reverse("edge-history", args=[edges[1].pk]) in page


def test_people_who_trade_read_neither_the_change_nor_who_made_it(
    log_in: LogIn, exchange: Exchange
) -> None:
    """Stops the Herald's booking by an edge between two others."""
    edge = exchange.middle_edge
    edge.expression = "geo.country = 'CAN'"
    save_edge(edge=edge, by=exchange.northgate.admin)
    check_all()
    page = read(log_in, exchange.herald.admin)
    assert "1 booking can never pass Northgate → Southgate" in page
    assert REDACTED in page
    assert "Someone of another organisation" in page
    assert "northgate-admin" not in page
    assert "CAN" not in page
    assert "/revert/" not in page
    own = read(log_in, exchange.soda.admin)
    assert "can never pass" in own
    assert "can never pass" not in read(log_in, exchange.rival.admin)


def test_causes_are_ordered_by_visits_and_bounded(
    bob: User, booking: Booking, herald: Party, operator: Organisation
) -> None:
    run = ReportRun.objects.create(first_day=TODAY, last_day=TODAY, status="done")
    DailyVisits.objects.create(day=TODAY, publisher=herald, visits=1_000, run=run)
    for number in range(CAUSES_TOLD + 3):
        advertiser = found(Party.Kind.ADVERTISER, f"Brand {number}", operator)
        campaign = Campaign.objects.create(
            advertiser=advertiser, name=f"Campaign {number}", expression="true", status="live"
        )
        Booking.objects.create(campaign=campaign, publisher=herald)
        EligibleVisits.objects.create(
            day=TODAY, campaign=campaign, publisher=herald, eligible_visits=number, run=run
        )
    check_all()
    troubles = find_troubles(bob)
    assert len(troubles) == CAUSES_TOLD
    visits = [trouble.visits or 0 for trouble in troubles]
    assert visits == sorted(visits, reverse=True)


def test_visits_of_very_many_bookings_are_told_as_at_least(
    bob: User, booking: Booking, soda: Party, herald: Party
) -> None:
    now = timezone.now()
    campaigns = Campaign.objects.bulk_create(
        Campaign(advertiser=soda, name=f"Crowd {number}", expression="true", status="live")
        for number in range(BOOKINGS_SUMMED + 1)
    )
    bookings = Booking.objects.bulk_create(
        Booking(campaign=campaign, advertiser=soda, publisher=herald) for campaign in campaigns
    )
    BookingFinding.objects.bulk_create(
        BookingFinding(booking=one, kind="no_path", cause="no_path:1-2", checked_at=now)
        for one in bookings
    )
    [trouble] = find_troubles(bob)
    assert trouble.size == BOOKINGS_SUMMED + 1
    assert trouble.is_at_least


def test_campaigns_that_fell_by_half_are_named_with_both_days(
    log_in: LogIn, carol: User, campaign: Campaign, booking: Booking, soda: Party, herald: Party
) -> None:
    steady = Campaign.objects.create(
        advertiser=soda, name="Steady", expression="true", status="live"
    )
    paused = Campaign.objects.create(
        advertiser=soda, name="Rests", expression="true", status="paused"
    )
    few = Campaign.objects.create(advertiser=soda, name="Few", expression="true", status="live")
    week = TODAY - timedelta(days=7)
    report(campaign, herald, {TODAY: 30, week: 100})
    report(steady, herald, {TODAY: 50, week: 100})
    report(paused, herald, {TODAY: 0, week: 100})
    report(few, herald, {TODAY: 0, week: 10})
    found_falls = find_falls(carol)
    assert found_falls is not None
    assert [(fall.campaign.name, fall.before, fall.after) for fall in found_falls.falls] == [
        ("Summer", 100, 30)
    ]
    assert found_falls.lost == 70
    page = read(log_in, carol)
    assert "1 campaign fell by half" in page
    assert "100 to 30" in page
    assert "Monday 2026-11-16 against 2026-11-09" in page
    assert "last night" in page


def test_falls_follow_a_day_that_is_counted_again(
    carol: User, campaign: Campaign, booking: Booking, herald: Party
) -> None:
    report(campaign, herald, {TODAY: 30, TODAY - timedelta(days=7): 100})
    before = find_falls(carol)
    assert before is not None
    assert len(before.falls) == 1
    EligibleVisits.objects.filter(day=TODAY).update(eligible_visits=90)
    after = find_falls(carol)
    assert after is not None
    assert after.falls == []


def test_without_the_same_weekday_nothing_is_compared(
    carol: User, campaign: Campaign, booking: Booking, herald: Party
) -> None:
    assert find_falls(carol) is None
    report(campaign, herald, {TODAY: 30, TODAY - timedelta(days=6): 100})
    assert find_falls(carol) is None


def test_an_advertiser_hears_of_its_own_falls_only(exchange: Exchange) -> None:
    week = TODAY - timedelta(days=7)
    report(exchange.campaign, exchange.herald.party, {TODAY: 1, week: 100})
    for house, expected in ((exchange.soda, 1), (exchange.rival, 0), (exchange.herald, 0)):
        falls = find_falls(house.admin)
        assert falls is not None
        assert len(falls.falls) == expected


def test_failing_test_visits_are_named(
    log_in: LogIn, alice: User, campaign: Campaign, booking: Booking
) -> None:
    for country, name in (("USA", "From the USA"), ("CAN", "From Canada")):
        TestVisit.objects.create(campaign=campaign, name=name, visit={"geo": {"country": country}})
    page = read(log_in, alice)
    assert "1 test visit of live campaigns fails" in page
    assert "“From Canada” is not eligible, but should be eligible" in page
    assert "From the USA" not in page


def test_chores_are_told_to_those_who_can_do_them(
    log_in: LogIn, alice: User, carol: User, erin: User, soda: Party, herald: Party
) -> None:
    now = timezone.now()
    Campaign.objects.create(
        advertiser=soda,
        name="Over",
        expression="true",
        status="live",
        starts_at=now - timedelta(days=9),
        ends_at=now - timedelta(days=1),
    )
    key, _ = create_api_key(
        name="ad-server-2",
        organisation=herald.organisation,
        publishers=[herald],
        expires_at=now + timedelta(days=5),
    )
    manager, analyst, admin = (read(log_in, person) for person in (alice, carol, erin))
    assert "1 campaign ended but set live" in manager
    assert f"{reverse('campaign-list')}?status=ended" in manager
    assert "ended but set live" not in analyst
    assert "A key expires in" in admin
    assert key.name in admin
    assert "A key expires" not in manager


def test_a_failed_build_is_the_operators_and_a_failed_report_the_analysts(
    log_in: LogIn, alice: User, bob: User, carol: User
) -> None:
    SnapshotBuild.objects.create(status="failed", error="no room")
    ReportRun.objects.create(first_day=TODAY, last_day=TODAY, status="failed", error="no log")
    assert "The last build failed" in read(log_in, bob)
    assert "The last report failed" in read(log_in, carol)
    manager = read(log_in, alice)
    assert "The last build failed" not in manager
    assert "The last report failed" not in manager


def test_jobs_that_failed_are_told_though_their_report_is_there(
    log_in: LogIn, alice: User, carol: User, nights: Path
) -> None:
    """Answers of ad servers that were wrong have a row of their own."""
    write_night(nights, "parity", {"states": [{"answers": 9, "mismatches": 2}]}, TODAY)
    run = ReportRun.objects.create(first_day=TODAY, last_day=TODAY, status="done")
    for job, error in (("parity", "2 sampled answers differ"), ("funnel", "The disk is full.")):
        JobRun.objects.create(run=run, day=TODAY, job=job, status="failed", error=error)
    page = read(log_in, carol)
    assert "2 answers of ad servers were wrong" in page
    assert "1 job of the last report failed" in page
    assert "where visits are lost" in page
    assert "The disk is full." in page
    assert "of ad servers were wrong" not in read(log_in, alice)


def test_a_live_campaign_without_a_booking_and_a_circle_are_to_be_tidied_up(
    log_in: LogIn,
    erin: User,
    campaign: Campaign,
    edges: tuple[Edge, Edge],
    operator: Organisation,
    northgate: Party,
    herald: Party,
) -> None:
    other = found(Party.Kind.INTERMEDIARY, "Southgate", operator)
    Edge.objects.create(seller=northgate, buyer=other)
    Edge.objects.create(seller=other, buyer=northgate)
    check_all()
    assert "1 live campaign without an active booking" in read(log_in, erin)
    Booking.objects.create(campaign=campaign, publisher=herald, policy="any")
    check_all()
    page = read(log_in, erin)
    assert "without an active booking" not in page
    assert "Visits can go round in a circle" in page


def test_every_role_has_a_home() -> None:
    assert set(HOMES) == set(Role)


def test_today_costs_the_same_whatever_was_found(
    bob: User, booking: Booking, soda: Party, herald: Party, edges: tuple[Edge, Edge]
) -> None:
    close(edges[1], bob)
    check_all()
    before = count_queries(bob)
    for number in range(8):
        campaign = Campaign.objects.create(
            advertiser=soda, name=f"More {number}", expression="true", status="live"
        )
        Booking.objects.create(campaign=campaign, publisher=herald)
    check_all()
    assert count_queries(bob) == before


def count_queries(person: User) -> int:
    with CaptureQueriesContext(connection) as queries:
        read_today(person, is_trader=False)
    return len(queries)

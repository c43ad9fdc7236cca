"""Campaigns without one eligible visit, and why: did not exist, was not live, or none matched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Campaign, Party
from exchange.reports.models import EligibleVisits, ReportRun
from exchange.reports.queries import Selection
from exchange.reports.zeros import ZEROS_SHOWN, Zero, explain_zero, find_zeros
from exchange.snapshots.models import SnapshotBuild
from tests.reports.summaries import FIRST, SECOND, SNAPSHOT_ID, make_run
from tests.trading import Exchange, exchange

__all__ = ["exchange"]

# Revisions have the time of their transaction: where that matters, each save is one of its own.
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def book(advertiser: Party, publisher: Party, name: str, **fields: object) -> Campaign:
    known = {"status": "live", "starts_at": LONG_AGO, "expression": "true"}
    found = Campaign.objects.create(advertiser=advertiser, name=name, **(known | fields))
    Booking.objects.create(campaign=found, publisher=publisher)
    return found


def why(campaign: Campaign, viewer: User) -> Zero:
    return explain_zero(campaign, Selection(FIRST, SECOND, viewer)).zero


@pytest.mark.django_db(transaction=True)
def test_each_reason_is_told_apart(soda: Party, herald: Party, carol: User) -> None:
    book(soda, herald, "Wanted nobody")
    book(soda, herald, "Draft", status="draft")
    book(soda, herald, "Ended", ends_at=datetime(2026, 10, 1, tzinfo=UTC))
    book(soda, herald, "To come", starts_at=datetime(2027, 1, 1, tzinfo=UTC))
    lone = book(soda, herald, "Unbooked")
    lone.bookings.update(is_active=False)
    seen = book(soda, herald, "Seen")
    run = make_run(status="done")
    EligibleVisits.objects.create(
        day=FIRST, campaign=seen, publisher=herald, eligible_visits=3, run=run
    )
    book(soda, herald, "Afterwards")
    zeros = find_zeros(Selection(FIRST, SECOND, carol))
    assert {row.campaign.name: row.zero for row in zeros.campaigns} == {
        "Wanted nobody": Zero.NONE_ELIGIBLE,
        "Draft": Zero.NOT_LIVE,
        "Ended": Zero.NOT_LIVE,
        "To come": Zero.NOT_LIVE,
        "Unbooked": Zero.NOT_BOOKED,
        "Afterwards": Zero.NOT_YET,
    }
    assert zeros.is_counted


@pytest.mark.django_db(transaction=True)
def test_what_counts_is_the_market_that_the_days_were_counted_with(
    soda: Party, herald: Party, carol: User
) -> None:
    """Counts with a snapshot that may be older than the campaign."""
    paused = book(soda, herald, "Paused since")
    build = SnapshotBuild.objects.create(snapshot_id=SNAPSHOT_ID, status="live")
    SnapshotBuild.objects.filter(pk=build.pk).update(read_at=datetime.now(UTC))
    after = book(soda, herald, "After the snapshot")
    make_run(status="done", snapshot_id=SNAPSHOT_ID)
    Campaign.objects.filter(pk=paused.pk).update(status="paused")
    assert why(after, carol) == Zero.NOT_YET
    assert why(paused, carol) == Zero.NONE_ELIGIBLE


@pytest.mark.django_db(transaction=True)
def test_days_of_several_runs_are_judged_one_by_one(
    soda: Party, herald: Party, carol: User
) -> None:
    make_run(status="done", first_day=FIRST, last_day=FIRST)
    campaign = book(soda, herald, "Between")
    selection = Selection(FIRST, SECOND, carol)
    assert explain_zero(campaign, selection).zero == Zero.NOT_YET
    make_run(status="done", first_day=SECOND, last_day=SECOND)
    told = explain_zero(campaign, selection)
    assert told.zero == Zero.NONE_ELIGIBLE
    assert told.words == "Not one visit was eligible; it was live on 1 of 2 counted days"


def test_days_that_nobody_counted_explain_nothing(soda: Party, herald: Party, carol: User) -> None:
    campaign = book(soda, herald, "Waiting")
    make_run(status="failed")
    assert why(campaign, carol) == Zero.NOT_COUNTED
    assert not find_zeros(Selection(FIRST, SECOND, carol)).is_counted


def test_search_publisher_and_pages_narrow_the_list(
    soda: Party, herald: Party, gazette: Party, carol: User
) -> None:
    for number in range(ZEROS_SHOWN + 2):
        book(soda, herald, f"Winter {number}")
    book(soda, gazette, "Spring")
    make_run(status="done")

    def names(selection: Selection, before: int | None = None) -> list[str]:
        return [row.campaign.name for row in find_zeros(selection, before=before).campaigns]

    whole = Selection(FIRST, SECOND, carol)
    first = find_zeros(whole)
    assert len(first.campaigns) == ZEROS_SHOWN
    assert names(whole, first.older) == ["Winter 2", "Winter 1", "Winter 0"]
    assert names(Selection(FIRST, SECOND, carol, text="spring")) == ["Spring"]
    assert names(Selection(FIRST, SECOND, carol, publisher=gazette)) == ["Spring"]


def test_people_are_told_of_campaigns_they_know_only(exchange: Exchange) -> None:
    make_run(status="done", requested_at=datetime.now(UTC) + timedelta(seconds=1))

    def names(viewer: User) -> set[str]:
        return {row.campaign.name for row in find_zeros(Selection(FIRST, SECOND, viewer)).campaigns}

    assert names(exchange.soda.people[Role.VIEWER]) == {"Summer"}
    assert names(exchange.herald.people[Role.VIEWER]) == {"Summer"}
    assert names(exchange.rival.people[Role.VIEWER]) == {"Winter"}
    assert names(exchange.northgate.people[Role.VIEWER]) == set()
    assert names(exchange.operators[Role.VIEWER]) == {"Summer", "Winter"}


def test_queries_do_not_grow_with_the_campaigns(
    summer_report: ReportRun,
    soda: Party,
    herald: Party,
    carol: User,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(5):
        book(soda, herald, f"C{number}")
    with django_assert_num_queries(6):
        assert len(find_zeros(Selection(FIRST, SECOND, carol)).campaigns) == 5


@pytest.mark.parametrize("ends_at", [None, datetime(2026, 11, 1, 0, 0, 1, tzinfo=UTC)])
def test_a_flight_that_touches_a_day_is_live_on_it(
    soda: Party, herald: Party, carol: User, ends_at: datetime | None
) -> None:
    campaign = book(soda, herald, "Touches", ends_at=ends_at)
    make_run(status="done")
    assert why(campaign, carol) == Zero.NONE_ELIGIBLE

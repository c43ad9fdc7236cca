"""What a campaign or booking is doing is said by one place: the same to lists and pages."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from itertools import product

import pytest
from django.utils import timezone

from exchange.accounts.models import User
from exchange.findings.changed import check_changed, check_night
from exchange.findings.models import BlockedCampaign, BookingFinding, CheckedUpTo
from exchange.findings.services import check_all, check_booking, check_campaign
from exchange.findings.status import (
    Status,
    bookings_in,
    campaigns_in,
    with_booking_status,
    with_campaign_status,
)
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services import save_campaign
from exchange.snapshots.models import Quarantined
from tests.web.conftest import LogIn

pytestmark = pytest.mark.django_db

NOW = timezone.now()
DAY = timedelta(days=1)
FLIGHTS = {
    "before": (NOW + DAY, None),
    "open": (NOW - DAY, None),
    "during": (NOW - DAY, NOW + DAY),
    "after": (NOW - 2 * DAY, NOW - DAY),
}


def standing_of(row: Campaign | Booking) -> str:
    if isinstance(row, Campaign):
        return str(with_campaign_status(Campaign.objects.all()).get(pk=row.pk).standing)
    return str(with_booking_status(Booking.objects.all()).get(pk=row.pk).standing)


@pytest.fixture
def every_case(soda: Party, herald: Party) -> None:
    """Makes every stored status, flight, state of the booking, and finding, in all combinations."""
    kinds = [None, BookingFinding.Kind.NO_PATH, BookingFinding.Kind.CYCLE]
    for status, flight, is_active, kind, is_retired in product(
        Campaign.Status.values, FLIGHTS, (True, False), kinds, (False, True)
    ):
        starts_at, ends_at = FLIGHTS[flight]
        campaign = Campaign.objects.create(
            advertiser=soda,
            name=f"{status} {flight} {is_active} {kind} {is_retired}",
            expression="true",
            status=status,
            starts_at=starts_at,
            ends_at=ends_at,
            retired_at=NOW if is_retired else None,
        )
        booking = Booking.objects.create(
            campaign=campaign, publisher=herald, is_active=is_active, advertiser=soda
        )
        if kind:
            BookingFinding.objects.create(booking=booking, kind=kind, checked_at=NOW)
        if status == "live" and (not is_active or kind == BookingFinding.Kind.NO_PATH):
            BlockedCampaign.objects.create(campaign=campaign, kind="no_path")


def test_every_row_is_in_one_status_and_filters_agree_with_what_is_shown(every_case: None) -> None:
    kept, booked = Campaign.objects.kept(), Booking.objects.filter(campaign__retired_at=None)
    for rows, annotated, narrow in (
        (kept, with_campaign_status(kept, NOW), campaigns_in),
        (booked, with_booking_status(booked, NOW), bookings_in),
    ):
        shown = {row.pk: row.standing for row in annotated}
        assert set(shown.values()) == set(Status.values)
        for status in Status.values:
            found = set(narrow(rows, status, NOW).values_list("pk", flat=True))
            assert found == {pk for pk, standing in shown.items() if standing == status}


def test_filters_agree_where_too_many_are_in_a_status_to_name_them(
    every_case: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.findings.status.FEW_MARKED", 1)
    monkeypatch.setattr("exchange.findings.status.FEW_BOOKINGS", 1)
    booked = Booking.objects.filter(campaign__retired_at=None)
    shown = {row.pk: row.standing for row in with_booking_status(booked, NOW)}
    for status in Status.values:
        found = set(bookings_in(booked, status, NOW).values_list("pk", flat=True))
        assert found == {pk for pk, standing in shown.items() if standing == status}


def test_a_campaign_serves_while_one_booking_can(
    booking: Booking, campaign: Campaign, edges: tuple[Edge, Edge]
) -> None:
    check_all()
    assert standing_of(campaign) == Status.SERVING
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    check_all()
    assert (standing_of(campaign), standing_of(booking)) == (Status.BLOCKED, Status.BLOCKED)
    assert BlockedCampaign.objects.get().kind == BookingFinding.Kind.BROKEN_PATH
    Edge.objects.filter(pk=edges[1].pk).update(is_active=True)
    check_booking(booking=booking)
    assert (standing_of(campaign), standing_of(booking)) == (Status.SERVING, Status.SERVING)
    Booking.objects.update(is_active=False)
    check_campaign(campaign=campaign)
    assert (standing_of(campaign), standing_of(booking)) == (Status.BLOCKED, Status.PAUSED)
    assert BlockedCampaign.objects.get().kind == BlockedCampaign.NOT_BOOKED


@pytest.mark.django_db(transaction=True)
def test_a_sweep_notices_what_was_stopped_and_what_was_quarantined(
    alice: User, booking: Booking, campaign: Campaign, edges: tuple[Edge, Edge]
) -> None:
    CheckedUpTo.objects.all().delete()
    check_changed()
    Quarantined.objects.create(kind="campaign", object_id=campaign.pk, reason="no shoe_size")
    assert check_changed() == 1
    assert standing_of(booking) == Status.BLOCKED
    assert BlockedCampaign.objects.get().kind == BookingFinding.Kind.QUARANTINED
    Quarantined.objects.update(has_good_form=True)
    assert check_changed() == 1
    assert (standing_of(campaign), standing_of(booking)) == (Status.SERVING, Status.SERVING)
    assert BookingFinding.objects.get().kind == BookingFinding.Kind.OLDER_FORM
    Quarantined.objects.update(has_good_form=False)
    assert check_changed() == 1
    assert standing_of(booking) == Status.BLOCKED
    Quarantined.objects.all().delete()
    assert check_changed() == 1
    assert standing_of(campaign) == Status.SERVING
    Edge.objects.update(is_active=False)
    check_changed()
    assert BookingFinding.objects.exists()
    campaign.refresh_from_db()
    campaign.status = "paused"
    save_campaign(campaign=campaign, by=alice)
    check_changed()
    assert not BookingFinding.objects.exists()
    assert not BlockedCampaign.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_pages_and_lists_say_the_same_and_why(
    alice: User, booking: Booking, campaign: Campaign, edges: tuple[Edge, Edge], log_in: LogIn
) -> None:
    browser = log_in(alice)
    own = f"/campaigns/{campaign.pk}/"
    pages = ["/campaigns/", own, f"{own}bookings/", "/bookings/", f"/bookings/{booking.pk}/"]

    def read(address: str) -> str:
        return unescape(browser.get(address).text)

    for address in pages:
        assert "not checked yet" in read(address)
    check_night()
    for address in pages:
        assert '<span class="badge good">Serving</span>' in read(address)
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    check_night()
    for address in pages:
        page = read(address)
        assert '<span class="badge bad">Blocked</span>' in page
        assert "an edge is closed" in page
        assert "Serving</span>" not in page
        assert "Bookings checked" in page or "Findings" in page
    assert "Nothing passes while Northgate → Solberg Soda" in read(pages[2])
    Campaign.objects.update(starts_at=NOW - 2 * DAY, ends_at=NOW - DAY)
    check_night()
    assert not BookingFinding.objects.exists()
    for address in pages:
        page = read(address)
        assert '<span class="badge ">Ended</span>' in page
        assert "badge good" not in page
    assert "Summer" in read("/campaigns/?status=ended")
    assert "Summer" not in read("/campaigns/?status=serving")
    assert "?status=ended" in read("/")

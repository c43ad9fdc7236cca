"""Checks bookings and keeps what was found: one when it is saved, all of them every night; those
that a change touches, soon after it (changed.py)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from django.db import connection, transaction
from django.utils import timezone

from exchange.findings.checking import Checker, Found
from exchange.findings.models import BookingFinding
from exchange.findings.traffic import never_matched
from exchange.market.models import Booking
from exchange.market.querysets import BookingQuerySet

CHUNK = 500
# Any number that nothing else in this database locks.
REPLACE_LOCK = 7_301_003
Kind = BookingFinding.Kind


def check_booking(*, booking: Booking) -> list[BookingFinding]:
    """What is wrong with it now; a booking that rests is not judged."""
    return check_bookings(booking_ids=[booking.pk])


def check_bookings(
    *, booking_ids: Iterable[int], checker: Checker | None = None
) -> list[BookingFinding]:
    ids, now = list(booking_ids), timezone.now()
    bookings = judged().filter(pk__in=ids).order_by("pk")
    silent = never_matched(bookings, today=now.date())
    silent_ids = set(silent.order_by().values_list("pk", flat=True))
    found: list[BookingFinding] = []
    for booking in bookings:
        checker = checker or Checker()
        troubles = list(checker.check(booking))
        if booking.pk in silent_ids:
            troubles.append(Found(Kind.NEVER_MATCHED))
        found += [as_row(booking, trouble, now) for trouble in troubles]
    return replace_findings(ids, found)


def check_all() -> int:
    """Says how many were found."""
    count = check_some(
        booking_ids=judged().order_by("pk").values_list("pk", flat=True).iterator(CHUNK)
    )
    BookingFinding.objects.exclude(booking__in=judged().order_by()).delete()
    return count


def check_some(*, booking_ids: Iterable[int]) -> int:
    """Chunk by chunk, so that the list is never empty meanwhile."""
    ids, checker, count = iter(booking_ids), None, 0
    while chunk := list(islice(ids, CHUNK)):
        checker = checker or Checker()
        count += len(check_bookings(booking_ids=chunk, checker=checker))
    return count


def judged() -> BookingQuerySet:
    """Bookings that are meant to be eligible."""
    active = Booking.objects.active().with_parties()
    return active.filter(campaign__status="live", campaign__retired_at=None)


def as_row(booking: Booking, found: Found, now: datetime) -> BookingFinding:
    return BookingFinding(
        booking=booking,
        kind=found.kind,
        edge_ids=list(found.edge_ids),
        party_ids=list(found.party_ids),
        conditions=[list(condition) for condition in found.conditions],
        checked_at=now,
    )


@transaction.atomic
def replace_findings(ids: list[int], found: list[BookingFinding]) -> list[BookingFinding]:
    """One caller at a time: where nothing was found before, there is no row that a second one would
    wait for, and both would write."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [REPLACE_LOCK])
    BookingFinding.objects.filter(booking_id__in=ids).delete()
    return BookingFinding.objects.bulk_create(found)

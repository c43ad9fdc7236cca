"""Checks bookings and keeps what was found: one when it is saved, all of them every night; those
that a change touches, soon after it (changed.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from exchange.findings.checking import Checker, Found
from exchange.findings.models import BLOCKING, BlockedCampaign, BookingFinding
from exchange.findings.traffic import never_matched
from exchange.market.models import Booking, Campaign
from exchange.market.querysets import BookingQuerySet

CHUNK = 500
CHECKED_AT_ONCE = 100  # bookings of a campaign, while somebody waits
# The key of the lock: any number that nothing else in this database locks.
REPLACE_LOCK = 7_301_003
Kind = BookingFinding.Kind


def check_booking(*, booking: Booking) -> list[BookingFinding]:
    """Finds what is wrong with a booking now; one that rests is not judged."""
    return check_bookings(booking_ids=[booking.pk])


def check_campaign(*, campaign: Campaign) -> None:
    """Checks a campaign when it is saved. What it has more of than a person waits for, the next
    sweep looks at."""
    bookings = campaign.bookings.kept().order_by("-pk").values_list("pk", flat=True)
    check_bookings(booking_ids=bookings[:CHECKED_AT_ONCE])
    note_blocked([campaign.pk])


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


def note_blocked(campaign_ids: Iterable[int] | None = None) -> None:
    """Notes which of these campaigns, or of all, have no booking that could be eligible."""
    blocked, before = find_blocked(), BlockedCampaign.objects.all()
    if campaign_ids is not None:
        ids = list(campaign_ids)
        blocked, before = blocked.filter(pk__in=ids), before.filter(campaign_id__in=ids)
    with replacing():
        before.delete()
        rows = (BlockedCampaign(campaign_id=pk, kind=kind) for pk, kind in blocked.iterator(CHUNK))
        while some := list(islice(rows, CHUNK)):
            BlockedCampaign.objects.bulk_create(some)


def find_blocked() -> QuerySet[Any]:
    """Finds ids of live campaigns, each with the kind of what blocks its first booking."""
    findings = BookingFinding.objects.filter(kind__in=BLOCKING).order_by("pk")
    bookings = Booking.objects.active().order_by().filter(campaign=OuterRef("pk"))
    open_ones = bookings.filter(~Exists(findings.filter(booking=OuterRef("pk"))))
    of_active = findings.filter(booking__is_active=True, booking__retired_at=None)
    kinds = of_active.filter(booking__campaign=OuterRef("pk")).values("kind")[:1]
    blocked = Campaign.objects.live().order_by().filter(~Exists(open_ones))
    return blocked.values_list("pk", Coalesce(Subquery(kinds), Value(BlockedCampaign.NOT_BOOKED)))


def check_all() -> int:
    """Checks all bookings; says how many findings there are."""
    count = check_some(
        booking_ids=judged().order_by("pk").values_list("pk", flat=True).iterator(CHUNK)
    )
    BookingFinding.objects.exclude(booking__in=judged().order_by()).delete()
    note_blocked()
    return count


def check_some(*, booking_ids: Iterable[int]) -> int:
    """Checks bookings chunk by chunk, so that the list is never empty meanwhile."""
    ids, checker, count = iter(booking_ids), None, 0
    while chunk := list(islice(ids, CHUNK)):
        checker = checker or Checker()
        count += len(check_bookings(booking_ids=chunk, checker=checker))
    return count


def judged() -> BookingQuerySet:
    """Chooses bookings that are meant to be eligible, now or later."""
    active = Booking.objects.active().with_parties()
    lasts = Q(campaign__ends_at=None) | Q(campaign__ends_at__gt=timezone.now())
    return active.filter(lasts, campaign__status="live", campaign__retired_at=None)


def as_row(booking: Booking, found: Found, now: datetime) -> BookingFinding:
    return BookingFinding(
        booking=booking,
        kind=found.kind,
        edge_ids=list(found.edge_ids),
        party_ids=list(found.party_ids),
        conditions=[list(condition) for condition in found.conditions],
        cause=name_cause(booking, found),
        checked_at=now,
    )


def name_cause(booking: Booking, found: Found) -> str:
    """Names the cause, the same for all that one change would help: an edge, a circle, a missing
    connection."""
    about: tuple[int, ...] = found.party_ids or found.edge_ids
    if not about:
        about = {
            Kind.NO_PATH: (booking.publisher_id, booking.advertiser_id),
            Kind.NEVER_MATCHED: (booking.publisher_id,),
        }.get(found.kind, (booking.campaign_id,))
    return f"{found.kind}:{'-'.join(map(str, about))}"


def replace_findings(ids: list[int], found: list[BookingFinding]) -> list[BookingFinding]:
    with replacing():
        BookingFinding.objects.filter(booking_id__in=ids).delete()
        kept = BookingFinding.objects.bulk_create(found)
    campaigns = Booking.objects.filter(pk__in=ids).order_by()
    note_blocked(campaigns.values_list("campaign_id", flat=True).distinct())
    return kept


@contextmanager
def replacing() -> Iterator[None]:
    """Lets in one caller at a time: where nothing was found before, there is no row that a second
    one would wait for, and both would write."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [REPLACE_LOCK])
        yield

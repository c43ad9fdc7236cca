"""Says what a campaign or a booking is doing now: the one place that does, for pages and lists.

Conditions for the database, of which exactly one holds for every row: lists filter by them, and
what a page shows is the same conditions, asked about its rows. Whether something is blocked is
what the last check of its bookings found.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db import models
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from exchange.findings.models import BLOCKING, BlockedCampaign, BookingFinding
from exchange.market.models import Booking, Campaign
from exchange.market.querysets import FEW_BOOKINGS, FEW_MARKED, few_ids, one_by_one

Rows = TypeVar("Rows", bound=QuerySet[Any])
Stored = Campaign.Status
RETIRED = Q(retired_at__isnull=False)


class Status(models.TextChoices):
    DRAFT = "draft", "Draft"
    SCHEDULED = "scheduled", "Scheduled"
    SERVING = "serving", "Serving"
    BLOCKED = "blocked", "Blocked"
    ENDED = "ended", "Ended"
    PAUSED = "paused", "Paused"


REASONS: dict[str, str] = {
    BookingFinding.Kind.NO_PATH: "no path",
    BookingFinding.Kind.BROKEN_PATH: "an edge is closed",
    BookingFinding.Kind.CONTRADICTION: "contradiction on its path",
    BookingFinding.Kind.QUARANTINED: "does not compile",
    BlockedCampaign.NOT_BOOKED: "no active booking",
}


def campaign_conditions(now: datetime) -> Mapping[Status, Q]:
    """Says which campaigns, of those that are kept, have which status."""
    live = Q(status=Stored.LIVE)
    running = live & (Q(ends_at__isnull=True) | Q(ends_at__gt=now))
    blocked, free = Q(blocked__isnull=False), Q(blocked__isnull=True)
    return {
        Status.DRAFT: Q(status=Stored.DRAFT),
        Status.PAUSED: Q(status=Stored.PAUSED),
        Status.ENDED: live & Q(ends_at__lte=now),
        Status.BLOCKED: running & blocked,
        Status.SCHEDULED: running & free & Q(starts_at__gt=now),
        Status.SERVING: running & free & Q(starts_at__lte=now),
    }


def booking_conditions(now: datetime) -> Mapping[Status, Q]:
    """Says which bookings have which status, of those that are kept, of campaigns that are."""
    kept = Q(campaign__retired_at=None)
    live = kept & Q(campaign__status=Stored.LIVE)
    on = live & Q(is_active=True)
    running = on & (Q(campaign__ends_at__isnull=True) | Q(campaign__ends_at__gt=now))
    blocked = Q(Exists(blocking_findings()))
    return {
        Status.DRAFT: kept & Q(campaign__status=Stored.DRAFT),
        Status.PAUSED: (kept & Q(campaign__status=Stored.PAUSED)) | (live & Q(is_active=False)),
        Status.ENDED: on & Q(campaign__ends_at__lte=now),
        Status.BLOCKED: running & blocked,
        Status.SCHEDULED: running & ~blocked & Q(campaign__starts_at__gt=now),
        Status.SERVING: running & ~blocked & Q(campaign__starts_at__lte=now),
    }


def blocking_findings() -> QuerySet[BookingFinding]:
    findings = BookingFinding.objects.filter(booking=OuterRef("pk"), kind__in=BLOCKING)
    return findings.order_by("pk")


def with_campaign_status(campaigns: Rows, now: datetime | None = None) -> Rows:
    """Adds `standing` to each and, where it is blocked, `blocked_by`."""
    conditions = campaign_conditions(now or timezone.now())
    return campaigns.annotate(standing=choose(conditions, RETIRED), blocked_by=F("blocked__kind"))


def with_booking_status(bookings: Rows, now: datetime | None = None) -> Rows:
    conditions = booking_conditions(now or timezone.now())
    kinds = blocking_findings().values("kind")[:1]
    retired = RETIRED | Q(campaign__retired_at__isnull=False)
    return bookings.annotate(standing=choose(conditions, retired), blocked_by=Subquery(kinds))


def with_finding_count(campaigns: Rows) -> Rows:
    """Counts the findings of each campaign's bookings, for the rows of the page only."""
    findings = BookingFinding.objects.order_by().filter(booking__campaign=OuterRef("pk"))
    counts = findings.values("booking__campaign").annotate(n=Count("pk")).values("n")
    count = Subquery(counts, output_field=models.IntegerField())
    return campaigns.annotate(finding_count=Coalesce(count, 0))


def choose(conditions: Mapping[Status, Q], retired: Q) -> Case:
    """Chooses the status whose condition holds; what is retired has ended, whatever it was."""
    ways = [When(condition, then=Value(status.value)) for status, condition in conditions.items()]
    ended = When(retired, then=Value(Status.ENDED.value))
    return Case(ended, *ways, output_field=models.CharField())


def campaigns_in(campaigns: Rows, status: str, now: datetime | None = None) -> Rows:
    """Chooses campaigns of a status; show them in the order of `order_of`, so that few rows are
    read among a million."""
    return campaigns.filter(campaign_conditions(now or timezone.now())[Status(status)])


def order_of(status: str | None, campaign: str = "") -> tuple[str, ...]:
    """Lists fields, all descending, by which campaigns of a status are soonest found, or bookings
    with `campaign` as the way to theirs: those that have ended are the oldest of all."""
    return (f"{campaign}ends_at", "id") if status == Status.ENDED else ("id",)


def bookings_in(bookings: Rows, status: str, now: datetime | None = None) -> Rows:
    """Chooses bookings by id where few can be in it; otherwise booking by booking, as a join would
    begin with all campaigns. That is right for those that have ended, in the order of
    `order_of`."""
    moment = now or timezone.now()
    condition = booking_conditions(moment)[Status(status)]
    if status == Status.ENDED:
        # Says twice whose they are, so that an advertiser's are found in an index of its own.
        return bookings.filter(condition, campaign__advertiser=F("advertiser"))
    few = find_few(bookings, Status(status), moment)
    if few is not None:
        return bookings.filter(few, condition)
    return bookings.filter(one_by_one(condition))


def find_few(bookings: QuerySet[Any], status: Status, now: datetime) -> Q | None:
    """Builds a condition with an index that leaves few of the reader's bookings, all of that status
    among them."""
    if status is Status.BLOCKED:
        found = BookingFinding.objects.filter(kind__in=BLOCKING).order_by()
        blocked = list(found.values_list("booking_id", flat=True)[: FEW_BOOKINGS + 1])
        return Q(pk__among=blocked) if len(blocked) <= FEW_BOOKINGS else None
    campaigns = Campaign.objects.order_by()
    ids = few_ids(campaigns.filter(narrow(status, now)), most=FEW_MARKED)
    if ids is None:
        return None
    if status is not Status.PAUSED:
        return Q(campaign__among=ids)
    # Looks at the reader's own only: others may have switched off very many.
    off, paused = bookings.filter(is_active=False), bookings.filter(campaign__among=ids)
    resting = few_ids(off, paused, most=FEW_MARKED)
    return None if resting is None else Q(pk__among=resting)


def narrow(status: Status, now: datetime) -> Q:
    """Builds what of a booking's status its campaign decides, blocked or not."""
    if status is Status.SCHEDULED:
        return Q(status=Stored.LIVE, retired_at=None, starts_at__gt=now)
    if status is Status.SERVING:
        return Q(status=Stored.LIVE, retired_at=None, starts_at__lte=now)
    return campaign_conditions(now)[status]


def tell_reason(row: Campaign | Booking) -> str:
    """Says in a few words why it does not serve; the row comes with its status."""
    standing = row.standing
    if standing == Status.BLOCKED:
        return REASONS[row.blocked_by]
    if not isinstance(row, Booking) or standing in {Status.SERVING, Status.SCHEDULED}:
        return ""
    if standing == Status.PAUSED and row.campaign.status == Stored.LIVE:
        return "switched off"
    if row.is_retired:
        return "retired"
    return {
        Status.DRAFT: "the campaign is a draft",
        Status.PAUSED: "the campaign is paused",
        Status.ENDED: "the campaign ended",
    }[Status(standing)]

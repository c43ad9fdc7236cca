"""Finds what is saved and not served yet, for people who compare the two."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from exchange.market.models import Campaign
from exchange.snapshots.changes import count_changes, read_changes
from exchange.snapshots.models import ChangeKind, DeltaLog
from exchange.snapshots.standing import estimate_build

NAMED = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits. `saved_at` is when the campaign in question was saved, if that is among what
    waits; `number` is the delta that brings it, `estimate` what a build takes, where one is waited
    for."""

    number: int
    saved_at: datetime | None
    is_held: bool
    waits_for_build: bool
    estimate: timedelta | None


def find_waiting(campaign: Campaign | None = None) -> Waiting | None:
    """Finds what waits; None: everything that is saved is in the last record."""
    log = DeltaLog.objects.first()
    if log is None:
        return None
    count = count_changes(log.position)
    if not count and not log.deferred_count:
        return None
    is_named = campaign is not None and 0 < count <= NAMED and is_among(campaign, log.position)
    return Waiting(
        number=log.number + 1,
        saved_at=campaign.updated_at if campaign is not None and is_named else None,
        is_held=log.is_held,
        waits_for_build=not count,
        estimate=estimate_build() if not count else None,
    )


def is_among(campaign: Campaign, position: str) -> bool:
    """Tells whether the campaign, or one of its bookings, changed since."""
    ids = read_changes(position).ids
    if campaign.pk in ids.get(ChangeKind.CAMPAIGN, ()):
        return True
    booked = ids.get(ChangeKind.BOOKING, ())
    return campaign.bookings.filter(pk__in=booked).exists()

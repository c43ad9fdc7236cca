"""Finds which bookings a change touches, in a market with millions of them.

Of a booking that changed, or whose campaign did, it matters whether it is served at all. No booking
ends because a path moved: there, those that are active will do, whatever their campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from exchange.market.models import Booking, Campaign
from exchange.snapshots.market import BOOKING_COLUMNS, BookedPair

MANY = 40_000  # bookings that are not looked at one by one
# The columns that decide whether a booking is served, and their values if it is.
DECIDING = ("is_active", "retired_at", "campaign__status", "campaign__retired_at")
SERVED = (True, None, str(Campaign.Status.LIVE), None)
# The inner limit is never reached: it keeps Postgres from reading the whole table instead of an
# index that has all that is asked for.
BETWEEN = """
    SELECT {columns} FROM unnest(%(publishers)s::bigint[], %(advertisers)s::bigint[])
        AS pair (publisher, advertiser)
    CROSS JOIN LATERAL (
        SELECT id, campaign_id, publisher_id, policy, hop_limit FROM market_booking
        WHERE publisher_id = pair.publisher AND advertiser_id = pair.advertiser
            AND policy = %(policy)s AND is_active AND retired_at IS NULL
        LIMIT 2147483647
    ) AS booking
"""
SELECT_BETWEEN = BETWEEN.format(
    columns="id, campaign_id, publisher_id, policy, ARRAY[]::bigint[], hop_limit"
)
COUNT_BETWEEN = BETWEEN.format(columns="count(*)")


@dataclass(frozen=True, slots=True)
class Touched:
    """What one change touches: bookings to be inserted again, by id, all of them or none; and
    others, which are dead at once. Too many to be in a delta anyhow are only counted."""

    why: str
    served: dict[int, BookedPair]
    dead: set[int]
    count: int


def look(why: str, bookings: QuerySet[Booking]) -> Touched:
    rows = list(bookings.order_by().values_list(*BOOKING_COLUMNS, *DECIDING)[:MANY])
    if len(rows) == MANY:
        dead = bookings.exclude(is_served()).values_list("pk", flat=True)
        return Touched(why, {}, set(dead), bookings.filter(is_served()).order_by().count())
    served, dead_ids = {}, set()
    for row in rows:
        if row[-len(DECIDING) :] == SERVED:
            served[row[0]] = BookedPair._make(row[: -len(DECIDING)])
        else:
            dead_ids.add(row[0])
    return Touched(why, served, dead_ids, len(served))


def look_at_active(why: str, bookings: QuerySet[Booking], limit: int) -> Touched:
    """Looks at active bookings; some of them may have campaigns that are not served."""
    active = bookings.filter(is_active=True, retired_at=None).order_by()
    rows = [BookedPair._make(row) for row in active.values_list(*BOOKING_COLUMNS)[:MANY]]
    return touch_active(why, rows, limit, active.count)


def look_between(
    why: str, policy: Booking.Policy, pairs: Collection[tuple[int, int]], limit: int
) -> Touched:
    """Looks at active bookings with this policy between pairs of publisher and advertiser."""
    publisher_ids, advertiser_ids = (list(ids) for ids in zip(*pairs, strict=True))
    given: dict[str, Any] = {
        "publishers": publisher_ids,
        "advertisers": advertiser_ids,
        "policy": str(policy),
    }
    with connection.cursor() as cursor:

        def count() -> int:
            cursor.execute(COUNT_BETWEEN, given)
            (counted,) = cursor.fetchone()
            return int(counted)

        cursor.execute(f"{SELECT_BETWEEN} LIMIT %(most)s", {**given, "most": MANY})
        return touch_active(why, [BookedPair._make(row) for row in cursor.fetchall()], limit, count)


def touch_active(
    why: str, pairs: list[BookedPair], limit: int, count: Callable[[], int]
) -> Touched:
    """Collects active bookings; looks at campaigns only where bookings may be too many."""
    if len(pairs) == MANY:
        return Touched(why, {}, set(), count())
    if len(pairs) > limit:
        campaign_ids = sorted({pair.campaign_id for pair in pairs})
        live = Campaign.objects.live().extra(where=["id = ANY(%s)"], params=[campaign_ids])
        live_ids = set(live.values_list("pk", flat=True))
        pairs = [pair for pair in pairs if pair.campaign_id in live_ids]
    if len(pairs) > limit:
        return Touched(why, {}, set(), len(pairs))
    return Touched(why, {pair.booking_id: pair for pair in pairs}, set(), len(pairs))


def is_served() -> Q:
    """Builds the condition that a booking belongs into what is served."""
    live = Campaign.objects.live().filter(pk=OuterRef("campaign_id"))
    return Q(Exists(live), is_active=True, retired_at=None)

"""Finds bookings that no visit of the last days was eligible for, by the reports' summary
tables."""

from __future__ import annotations

from datetime import date, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from exchange.market.models import Booking
from exchange.reports.models import DailyVisits, EligibleVisits

DAYS = 14


def never_matched(bookings: QuerySet[Booking], *, today: date) -> QuerySet[Booking]:
    """Chooses, of these, those that could have matched: booked and in flight all the time, at a
    publisher that had visits. Without a report of these days nothing can be said, and nothing
    is."""
    first = today - timedelta(days=DAYS)
    days = {"day__gte": first, "day__lt": today}
    visits = DailyVisits.objects.filter(publisher_id=OuterRef("publisher_id"), visits__gt=0, **days)
    eligible = EligibleVisits.objects.filter(
        campaign_id=OuterRef("campaign_id"),
        publisher_id=OuterRef("publisher_id"),
        eligible_visits__gt=0,
        **days,
    )
    return bookings.filter(
        Exists(visits),
        ~Exists(eligible),
        created_at__date__lt=first,
        campaign__starts_at__date__lte=first,
    )

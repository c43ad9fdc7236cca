"""Says how fresh the reports are: one answer, for their pages and for `/readyz`.

A day is over at midnight, UTC, and counted in the night after it. Until then the day before is the
newest that can be there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.utils import timezone

from exchange.reports.models import DailyVisits

# What a night may take.
PATIENCE = timedelta(hours=4)


@dataclass(frozen=True, slots=True)
class Freshness:
    """`counted_through` is the newest day that was loaded; `expected` the one that should be."""

    counted_through: date | None
    expected: date

    @property
    def is_late(self) -> bool:
        return self.counted_through is None or self.counted_through < self.expected

    @property
    def words(self) -> str:
        if self.counted_through is None:
            return "nothing counted yet"
        return f"counted through {self.counted_through}"


def read_freshness(now: datetime | None = None) -> Freshness:
    newest = DailyVisits.objects.order_by("-day").values_list("day", flat=True).first()
    return Freshness(newest, expected_day(now or timezone.now()))


def expected_day(now: datetime) -> date:
    """Gives the newest day whose night is over."""
    night_ends = timedelta(hours=settings.NIGHTLY_REPORT_HOUR_UTC) + PATIENCE
    return (now - night_ends).date() - timedelta(days=1)

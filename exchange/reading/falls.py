"""Finds campaigns that were eligible for less than half of the visits of the same weekday a week
before, by the nightly count. Those of the whole exchange are found once for each state of the two
days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.findings.models import BlockedCampaign
from exchange.market.models import Campaign
from exchange.market.visibility import owned
from exchange.reports.models import DailyVisits, EligibleSums, EligibleVisits
from exchange.reports.queries import last_reported_days

LEAST_VISITS = 20  # a week before: half of fewer is chance
LOOKED_AT = 300
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Fall:
    campaign: Campaign
    before: int
    after: int

    @property
    def lost(self) -> int:
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class Falls:
    """What fell on `day` against `day_before`, a week earlier; campaigns that lost most first."""

    day: date
    day_before: date
    falls: list[Fall]

    @property
    def lost(self) -> int:
        return sum(fall.lost for fall in self.falls)


# A campaign, its eligible visits a week before, and those on the day.
Row = tuple[int, int, int]


def find_falls(person: User) -> Falls | None:
    """Finds falls of campaigns that still serve, and that nothing blocks: what blocks is told as
    such. None if one of the two days was not counted."""
    days = last_reported_days()
    if days is None:
        return None
    day, before = days[1], days[1] - WEEK
    if not DailyVisits.objects.filter(day=before).exists():
        return None
    if is_exchange_operator(person):
        sums = EligibleSums.objects.filter(day__in=(day, before))
        rows = find_in_exchange(day, sums.aggregate(changes=Sum("changes"))["changes"] or 0)
    else:
        own = owned(Campaign.objects.kept(), person).order_by().values("pk")
        rows = tuple(find_rows(EligibleVisits.objects.filter(campaign__in=own), day))
    return Falls(day, before, as_falls(rows))


@lru_cache(maxsize=8)
def find_in_exchange(day: date, changes: int) -> tuple[Row, ...]:  # noqa: ARG001, of the two days
    return tuple(find_rows(EligibleVisits.objects.all(), day))


def find_rows(visits: QuerySet[EligibleVisits], day: date) -> list[Row]:
    grouped = visits.order_by().filter(day__in=(day, day - WEEK)).values_list("campaign_id")
    summed = grouped.annotate(
        was=Sum("eligible_visits", filter=Q(day=day - WEEK), default=0),
        now=Sum("eligible_visits", filter=Q(day=day), default=0),
    )
    fallen = summed.filter(was__gte=LEAST_VISITS, was__gt=2 * F("now"))
    return [(row[0], row[1], row[2]) for row in fallen.order_by(F("now") - F("was"))[:LOOKED_AT]]


def as_falls(rows: tuple[Row, ...]) -> list[Fall]:
    lasting = Q(ends_at=None) | Q(ends_at__gt=timezone.now())
    serving = Campaign.objects.live().with_advertiser().filter(lasting)
    blocked = BlockedCampaign.objects.values("campaign_id")
    found = serving.exclude(pk__in=blocked).in_bulk([row[0] for row in rows])
    return [Fall(found[pk], was, now) for pk, was, now in rows if pk in found]

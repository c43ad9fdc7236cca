"""Draws how the eligible visits of some campaigns went lately, small enough for a row of a list.

Pure geometry in SVG units, over the days that were reported last. A campaign without a row on a
reported day had none; before the first report nothing is known, and nothing is drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import Sum

from exchange.reports.models import EligibleVisits
from exchange.reports.queries import Selection, last_reported_days, sum_by, sum_by_cell

WIDTH, HEIGHT, MARGIN = 72, 18, 2


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Holds a polyline, `points`, from the oldest day to the newest, and its figures."""

    points: str
    newest: int
    total: int
    days: int

    @property
    def title(self) -> str:
        return f"{self.newest:,} on the last day, {self.total:,} in {self.days} days"


def draw_sparklines(campaign_ids: Collection[int]) -> dict[int, Sparkline]:
    """Draws one for each campaign; none while nothing was reported."""
    days = last_reported_days()
    if days is None or not campaign_ids:
        return {}
    shown = [days[0] + timedelta(days=n) for n in range((days[1] - days[0]).days + 1)]
    counts: dict[int, dict[date, int]] = defaultdict(dict)
    rows = EligibleVisits.objects.filter(campaign__among=campaign_ids, day__range=days)
    sums = rows.values_list("campaign_id", "day").annotate(n=Sum("eligible_visits")).order_by()
    for campaign_id, day, count in sums:
        counts[campaign_id][day] = count
    return {pk: draw_sparkline([counts[pk].get(day, 0) for day in shown]) for pk in campaign_ids}


def draw_total(selection: Selection) -> Sparkline:
    """Draws one for all that a person sees of some days."""
    rows = selection.sums() if selection.is_whole else selection.counted()
    sums = sum_by(sum_by_cell(rows, "eligible_visits"), 0)
    return draw_sparkline([sums.get(day, 0) for day in selection.days()])


def draw_sparkline(counts: list[int]) -> Sparkline:
    step = (WIDTH - 2 * MARGIN) / max(1, len(counts) - 1)
    highest = max(1, *counts)
    places = (
        f"{MARGIN + step * n:.1f},{HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * count / highest:.1f}"
        for n, count in enumerate(counts)
    )
    return Sparkline(" ".join(places), counts[-1], sum(counts), len(counts))

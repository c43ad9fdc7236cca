"""The impact of a campaign: what it reaches on the sample as it is saved, and what it would without
some of its conditions. Each try has an address of its own (`?without=0&without=2`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.market.models import Campaign
from exchange.reading.campaign_impact import CampaignImpact, Part, read_impact
from exchange.reading.impact import LEAST_PEOPLE, Reached
from exchange.reading.verdicts import say
from exchange.reports.queries import last_reported_days
from exchange.reports.sample_counting import Count
from exchange.reports.sparklines import draw_sparklines
from exchange.web.views.campaign_tabs import find_campaign
from targeting import ExpressionError

STAGES = {
    "targeting": "Targeting",
    "booked": "At booked publishers",
    "eligible": "Eligible, after edges",
}
MOST_LEFT_OUT = 20
MOST_DIGITS = 4
PUBLISHERS_SHOWN = 50
UNCLEAR = 0.5  # of the figure, to either side


@dataclass(frozen=True, slots=True)
class Bar:
    """A stage: visits a day, and how long it is drawn, of a hundred."""

    label: str
    visits: float
    length: float


@dataclass(frozen=True, slots=True)
class Row:
    """A condition, and the query of the page that leaves it out, or takes it back."""

    part: Part
    query: str


@require_safe
def show_impact(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = find_campaign(request, pk)
    context: dict[str, Any] = {"campaign": campaign, "tab": "impact"}
    try:
        impact = read_impact(campaign, read_places(request))
    except ExpressionError as error:
        return render(request, "market/campaign_impact.html", context | {"broken": str(error)})
    context |= describe(impact, campaign) | {
        "least_people": LEAST_PEOPLE,
        "spark": draw_sparklines([pk]).get(pk),
        "reported": last_reported_days(),
    }
    return render(request, "market/campaign_impact.html", context)


def read_places(request: HttpRequest) -> list[int]:
    asked = request.GET.getlist("without")[:MOST_LEFT_OUT]
    return [int(text) for text in asked if text.isdecimal() and len(text) <= MOST_DIGITS]


def describe(impact: CampaignImpact, campaign: Campaign) -> dict[str, Any]:
    out = impact.left_out
    reached = impact.reached
    return {
        "impact": impact,
        "reached": reached,
        "bars": draw_bars(reached) if reached else [],
        "interval": tell_interval(reached.count) if reached else "",
        "rows": [Row(part, write_query({*out} ^ {part.place})) for part in impact.parts],
        "can_leave_out": len(impact.parts) - len(out) > 1,
        "query": write_query(out),
        "publishers": impact.publishers[:PUBLISHERS_SHOWN],
        "version": "live" if campaign.status == Campaign.Status.LIVE else "saved",
    }


def write_query(places: Collection[int]) -> str:
    return urlencode([("without", place) for place in sorted(places)])


def draw_bars(reached: Reached) -> list[Bar]:
    most = max((visits for _, visits in reached.stages), default=0) or 1
    return [Bar(STAGES[name], visits, 100 * visits / most) for name, visits in reached.stages]


def tell_interval(count: Count) -> str:
    if not count.visits:
        return f"Not one visit of the sample: fewer than about {say(count.high)} a day."
    between = f"{count.low:,.0f} and {count.high:,.0f}"
    if count.high - count.visits > UNCLEAR * count.visits:
        return f"Few people of the sample: between {between}."
    return f"Between {between}, with 95 % certainty."

"""Shows the home of people who trade on the exchange: a publisher's bookings, edges and visits, an
advertiser's campaigns and their states. The exchange's own people have the dashboard."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from exchange.accounts.models import User
from exchange.findings.status import with_booking_status, with_campaign_status
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import owned, visible
from exchange.reading.paging import count_listed
from exchange.reading.passing import has_sample, measure_passing
from exchange.reading.paths import find_paths
from exchange.reports.models import EligibleVisits
from exchange.reports.queries import Selection, Sort, last_reported_days, read_report
from exchange.snapshots.models import SnapshotBuild

DAYS = 7
BOOKINGS_SHOWN = 8
EDGES_SHOWN = 10
CAMPAIGNS_SHOWN = 10


def show_house(
    request: HttpRequest, person: User, kinds: Collection[str], found: dict[str, Any]
) -> HttpResponse:
    """Shows the home; `found` is what needs the person (`today`), and their campaigns by status
    (`statuses`)."""
    builds = SnapshotBuild.objects.filter(status=SnapshotBuild.Status.LIVE).defer("skipped")
    context: dict[str, Any] = {"live": builds.first(), "today": found["today"]}
    if Party.Kind.PUBLISHER in kinds:
        context["publisher"] = read_publisher(person)
    if Party.Kind.ADVERTISER in kinds:
        context["advertiser"] = read_advertiser(person) | {"statuses": found["statuses"]}
    if Party.Kind.INTERMEDIARY in kinds:
        edges = visible(Edge.objects.active().with_parties(), person)
        context["edges"] = list(edges.order_by("-pk")[:EDGES_SHOWN])
    return render(request, "house.html", context)


def read_publisher(person: User) -> dict[str, Any]:
    own = owned(Party.objects.publishers(), person).order_by("name")
    bookings = visible(Booking.objects.active().with_parties(), person).filter(publisher__in=own)
    edges = owned(Edge.objects.active().with_parties(), person).filter(seller__in=own)
    passing = measure_passing(list(edges.order_by("-pk")[:EDGES_SHOWN]))
    return {
        "parties": list(own[:EDGES_SHOWN]),
        "booking_count": count_listed(bookings.order_by()),
        "paths": find_paths(with_booking_status(bookings).order_by("-pk")[:BOOKINGS_SHOWN], person),
        "edge_count": count_listed(edges.order_by()),
        "passing": passing,
        "has_sample": has_sample(passing),
        "report": read_last_days(person),
    }


def read_last_days(person: User) -> Any:
    """Reads the report of the newest reported days; None before the first report."""
    days = last_reported_days()
    if days is None:
        return None
    first = days[1] - timedelta(days=DAYS - 1)
    return read_report(Selection(first, days[1], person), Sort())


def read_advertiser(person: User) -> dict[str, Any]:
    own = owned(Campaign.objects.kept().with_advertiser(), person)
    shown = with_campaign_status(own.with_booking_count())
    campaigns = list(shown.order_by("-pk")[:CAMPAIGNS_SHOWN])
    bookings = owned(Booking.objects.active().order_by(), person)
    return {
        "campaigns": with_eligible(campaigns),
        "has_several": len({campaign.advertiser_id for campaign in campaigns}) > 1,
        "booking_count": count_listed(bookings),
        "days": DAYS,
    }


def with_eligible(campaigns: list[Campaign]) -> list[tuple[Campaign, int | None]]:
    """Counts how many visits of the newest reported days each was eligible for."""
    days = last_reported_days()
    if days is None:
        return [(campaign, None) for campaign in campaigns]
    first = days[1] - timedelta(days=DAYS - 1)
    rows = EligibleVisits.objects.filter(campaign__in=campaigns, day__range=(first, days[1]))
    sums = dict(rows.order_by().values_list("campaign").annotate(Sum("eligible_visits")))
    return [(campaign, sums.get(campaign.pk, 0)) for campaign in campaigns]

"""The dashboard: is the exchange healthy, and what of it is the person's. Each number leads to its
list."""

from __future__ import annotations

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import visible
from exchange.reports.models import ReportRun
from exchange.snapshots.models import SnapshotBuild
from exchange.web.views.listing import person_of

KIND_PLURALS = {
    Party.Kind.PUBLISHER: "Publishers",
    Party.Kind.INTERMEDIARY: "Intermediaries",
    Party.Kind.ADVERTISER: "Advertisers",
}


@require_safe
def show_dashboard(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    builds = SnapshotBuild.objects.select_related("requested_by").defer("skipped")
    context = {
        "live": builds.filter(status=SnapshotBuild.Status.LIVE).first(),
        "last_build": builds.order_by("-id").first(),
        "last_report": ReportRun.objects.order_by("-id").first(),
        "statuses": count_by_status(person),
        "kinds": count_by_kind(person),
        "edge_count": visible(Edge.objects.active(), person).count(),
        "booking_count": visible(Booking.objects.active(), person).count(),
    }
    return render(request, "dashboard.html", context)


def count_by_status(person: User) -> list[tuple[str, str, int]]:
    """(status, label, campaigns) for every status, also those without a campaign."""
    rows = (
        visible(Campaign.objects.order_by(), person)
        .values_list("status")
        .annotate(count=Count("pk"))
    )
    counts = dict(rows)
    return [(value, label, counts.get(value, 0)) for value, label in Campaign.Status.choices]


def count_by_kind(person: User) -> list[tuple[str, str, int]]:
    rows = visible(Party.objects.order_by(), person).values_list("kind").annotate(count=Count("pk"))
    counts = dict(rows)
    return [(kind, KIND_PLURALS[kind], counts.get(kind, 0)) for kind in Party.Kind]

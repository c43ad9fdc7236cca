"""The dashboard: is the exchange healthy, and what is on it. Each number leads to its list."""

from __future__ import annotations

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.reports.models import ReportRun
from exchange.snapshots.models import SnapshotBuild

KIND_PLURALS = {
    Party.Kind.PUBLISHER: "Publishers",
    Party.Kind.INTERMEDIARY: "Intermediaries",
    Party.Kind.ADVERTISER: "Advertisers",
}


@require_safe
def show_dashboard(request: HttpRequest) -> HttpResponse:
    builds = SnapshotBuild.objects.select_related("requested_by").defer("skipped")
    context = {
        "live": builds.filter(status=SnapshotBuild.Status.LIVE).first(),
        "last_build": builds.order_by("-id").first(),
        "last_report": ReportRun.objects.order_by("-id").first(),
        "statuses": count_by_status(),
        "kinds": count_by_kind(),
        "edge_count": Edge.objects.filter(is_active=True).count(),
        "booking_count": Booking.objects.filter(is_active=True).count(),
    }
    return render(request, "dashboard.html", context)


def count_by_status() -> list[tuple[str, str, int]]:
    """(status, label, campaigns) for every status, also those without a campaign."""
    rows = Campaign.objects.order_by().values_list("status").annotate(count=Count("pk"))
    counts = dict(rows)
    return [(value, label, counts.get(value, 0)) for value, label in Campaign.Status.choices]


def count_by_kind() -> list[tuple[str, str, int]]:
    rows = Party.objects.order_by().values_list("kind").annotate(count=Count("pk"))
    counts = dict(rows)
    return [(kind, KIND_PLURALS[kind], counts.get(kind, 0)) for kind in Party.Kind]

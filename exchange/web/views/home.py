"""Shows Today: what needs the person, by role, and the exchange in figures; people who trade find
their own house below it. Each number leads to its list."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.findings.status import Status, campaigns_in, order_of
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.querysets import CampaignQuerySet
from exchange.market.visibility import kinds_of, visible
from exchange.reading.paging import count_listed, count_roughly
from exchange.reports.models import ReportRun
from exchange.snapshots.models import SnapshotBuild
from exchange.web.today.homes import read_today
from exchange.web.views.houses import show_house
from exchange.web.views.listing import person_of

KIND_PLURALS = {
    Party.Kind.PUBLISHER: "Publishers",
    Party.Kind.INTERMEDIARY: "Intermediaries",
    Party.Kind.ADVERTISER: "Advertisers",
}


@require_safe
def show_dashboard(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    kinds = kinds_of(person)
    is_trader = not is_exchange_operator(person)
    today = {"today": read_today(person, is_trader=is_trader)}
    if kinds:
        return show_house(request, person, kinds, today | {"statuses": count_by_status(person)})
    return render(request, "dashboard.html", today | read_system(person))


def read_system(person: User) -> dict[str, Any]:
    """Reads the strip below the lists."""
    builds = SnapshotBuild.objects.select_related("requested_by").defer("skipped")
    return {
        "live": builds.filter(status=SnapshotBuild.Status.LIVE).first(),
        "last_build": builds.order_by("-id").first(),
        "last_report": ReportRun.objects.order_by("-id").first(),
        "statuses": count_by_status(person),
        "kinds": count_by_kind(person),
        "edge_count": count(Edge.objects.active().order_by(), person),
        "booking_count": count(Booking.objects.active().order_by(), person),
    }


def count(rows: QuerySet[Any], person: User) -> str:
    """Counts what the person sees. Whoever sees all of a large exchange is told about how much it
    is: nobody waits for a number to be counted that is another one a moment later."""
    seen = visible(rows, person)
    return count_roughly(seen) if is_exchange_operator(person) else count_listed(seen)


def count_by_status(person: User) -> list[tuple[str, str, str]]:
    """Lists (status, label, campaigns) for every status, also those without a campaign. Counted as
    far as its list counts, never guessed: Postgres is far off where several columns tell a
    status."""
    kept = visible(Campaign.objects.kept(), person)
    return [
        (value, label, count_listed(in_order(campaigns_in(kept, value), value)))
        for value, label in Status.choices
    ]


def in_order(campaigns: CampaignQuerySet, status: str) -> CampaignQuerySet:
    return campaigns.order_by(*(f"-{field}" for field in order_of(status)))


def count_by_kind(person: User) -> list[tuple[str, str, str]]:
    kept = Party.objects.kept().order_by()
    return [
        (kind, KIND_PLURALS[kind], count(kept.filter(kind=kind), person)) for kind in Party.Kind
    ]

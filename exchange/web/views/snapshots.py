"""Snapshots: what serving answers from, how it was built, and building it anew.

Everyone sees whether their change is live yet; how large the exchange is and why a build failed
are for its operators, and so is starting one by hand.
"""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator, may_start
from exchange.market.models import Booking
from exchange.market.visibility import owned
from exchange.snapshots.models import SnapshotBuild
from exchange.snapshots.requests import request_build
from exchange.web.filters import BuildFilter
from exchange.web.paging import Order
from exchange.web.views.listing import person_of, read_listing

NEWEST_FIRST = Order(("id",), is_descending=True)


@require_safe
def list_snapshots(request: HttpRequest) -> HttpResponse:
    filters = BuildFilter(request.GET)
    builds = SnapshotBuild.objects.select_related("requested_by").defer("skipped")
    listing = read_listing(request, filters, filters.apply(builds), NEWEST_FIRST)
    build = find_current_build()
    context = {"listing": listing, "build": build, "state": describe_state(build)}
    return render(request, "snapshots/build_list.html", context)


@require_safe
def show_snapshot(request: HttpRequest, pk: int) -> HttpResponse:
    build = get_object_or_404(SnapshotBuild.objects.select_related("requested_by"), pk=pk)
    context = {"build": build, "skipped": name_skipped(build, person_of(request))}
    return render(request, "snapshots/build_detail.html", context)


def name_skipped(build: SnapshotBuild, person: User) -> list[tuple[Booking | None, str]]:
    """The build keeps ids and reasons; the names are those of today. A reason may quote somebody's
    expression, so people get those of their own campaigns only."""
    bookings = owned(Booking.objects.with_parties(), person).in_bulk(
        [skipped["booking_id"] for skipped in build.skipped]
    )
    named = [(bookings.get(skipped["booking_id"]), skipped["reason"]) for skipped in build.skipped]
    return named if is_exchange_operator(person) else [row for row in named if row[0]]


@require_POST
def start_build(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    if not may_start(person, "snapshot_build"):
        raise PermissionDenied(
            "Only the exchange's operators start builds. A saved change starts its own."
        )
    request_build(requested_by=person)
    messages.success(request, "A new snapshot is on its way.")
    return redirect("snapshot-list")


@require_safe
def show_progress(request: HttpRequest) -> HttpResponse:
    """Polled by the page: often while a build runs, seldom otherwise. When a build has ended since
    the last look (`?seen=`), the lists on the page are told to read themselves anew."""
    build = find_current_build()
    state = describe_state(build)
    response = render(request, "snapshots/_progress.html", {"build": build, "state": state})
    if request.GET.get("seen", state) != state:
        response["HX-Trigger"] = "builds-changed"
    return response


def find_current_build() -> SnapshotBuild | None:
    """The one that runs, else the one that waits, else the last one."""
    builds = SnapshotBuild.objects.select_related("requested_by").defer("skipped")
    running = builds.filter(status=SnapshotBuild.Status.BUILDING).first()
    return running or builds.order_by("-id").first()


def describe_state(build: SnapshotBuild | None) -> str:
    return f"{build.pk}-{build.status}" if build else ""

"""Shows snapshots: what serving answers from, how it was built, building it anew, going back.

Everyone sees whether their change is live yet; how large the exchange is, what differs between two
snapshots and why a build failed are for its operators, and so is everything that starts something.
"""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import filesizeformat
from django.views.decorators.http import require_POST, require_safe

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator, may_start
from exchange.market.kinds import rows_of
from exchange.market.models import Booking, Campaign
from exchange.market.visibility import owned
from exchange.reading.build_visits import compare_visits
from exchange.reading.paging import Order
from exchange.serving.directory import DirectoryError, SnapshotInfo
from exchange.snapshots.activation import CannotActivateError, activate, roll_back
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.contents import Comparison, compare_snapshots
from exchange.snapshots.deltas import snapshot_directory
from exchange.snapshots.models import ChangeKind, Phase, Quarantined, SnapshotBuild
from exchange.snapshots.progress import BuildLostError
from exchange.snapshots.quarantine import MODELS as QUARANTINE_MODELS
from exchange.snapshots.standing import find_move, read_standing
from exchange.web.filters import BuildFilter
from exchange.web.kinds import KINDS
from exchange.web.views.listing import person_of, read_listing

Status = SnapshotBuild.Status
MAX_QUARANTINED_SHOWN = 100
# The rows of a kind that builds read.
READ = {ChangeKind.CAMPAIGN: Q(status=Campaign.Status.LIVE), ChangeKind.EDGE: Q(is_active=True)}
FIGURES: dict[str, Callable[[SnapshotInfo], str]] = {
    "Bookings": lambda info: f"{info.booking_count:,}",
    "Campaigns": lambda info: f"{info.campaign_count:,}",
    "Edges in use": lambda info: f"{info.edge_count:,}",
    "Left out": lambda info: f"{info.skipped_count:,}",
    "Nodes of the index": lambda info: f"{info.sharing.get('nodes', 0):,}",
    "Nodes per booking": lambda info: (
        f"{info.sharing.get('nodes', 0) / max(info.booking_count, 1):.2f}"
    ),
    "Distinct conditions": lambda info: f"{info.sharing.get('predicates', 0):,}",
    "Size": lambda info: filesizeformat(sum(info.file_bytes.values())),
}
NEWEST_FIRST = Order(("id",), is_descending=True)


@require_safe
def list_snapshots(request: HttpRequest) -> HttpResponse:
    filters = BuildFilter(request.GET)
    builds = SnapshotBuild.objects.select_related("requested_by").defer("skipped")
    listing = read_listing(request, filters, filters.apply(builds), NEWEST_FIRST)
    build, standing = find_current_build(), read_standing()
    kept = snapshot_directory().snapshot_ids()
    context = {
        "listing": listing,
        "rows": [(row, find_move(row, standing, kept)) for row in listing.page.rows],
        "build": build,
        "state": describe_state(build),
        "standing": standing,
        "quarantined": name_quarantined(person_of(request)),
    }
    return render(request, "snapshots/build_list.html", context)


@require_safe
def show_snapshot(request: HttpRequest, pk: int) -> HttpResponse:
    build = get_object_or_404(SnapshotBuild.objects.select_related("requested_by"), pk=pk)
    standing = read_standing()
    context = {
        "build": build,
        "skipped": name_skipped(build, person_of(request)),
        "standing": standing,
        "move": find_move(build, standing, snapshot_directory().snapshot_ids()),
        "phases": [
            (phase.label, build.phase_seconds[phase])
            for phase in Phase
            if phase in build.phase_seconds
        ],
        "others": find_comparable(build),
    }
    return render(request, "snapshots/build_detail.html", context)


def find_comparable(build: SnapshotBuild) -> list[SnapshotBuild]:
    kept = snapshot_directory().snapshot_ids()
    builds = SnapshotBuild.objects.filter(snapshot_id__in=kept).exclude(status=Status.FAILED)
    return list(builds.exclude(pk=build.pk).defer("skipped")) if build.snapshot_id in kept else []


def name_skipped(build: SnapshotBuild, person: User) -> list[tuple[Booking | None, str]]:
    """Names what a build left out. It keeps ids and reasons; the names are those of today. A reason
    may quote somebody's expression, so people get those of their own campaigns only."""
    bookings = owned(Booking.objects.with_parties(), person).in_bulk(
        [skipped["booking_id"] for skipped in build.skipped]
    )
    named = [(bookings.get(skipped["booking_id"]), skipped["reason"]) for skipped in build.skipped]
    return named if is_exchange_operator(person) else [row for row in named if row[0]]


def name_quarantined(person: User) -> list[tuple[Model, Quarantined]]:
    """Lists what is quarantined. Reasons quote expressions: people see those of their own, and as
    many of them as others'. What was stopped is served in no form, though it stays in quarantine
    until the next build."""
    named: list[tuple[Model, Quarantined]] = []
    for kind in QUARANTINE_MODELS:
        own = owned(rows_of(KINDS[kind]).order_by(), person).filter(READ.get(kind, Q()))
        own = own.filter(retired_at=None)
        found = Quarantined.objects.filter(kind=kind, object_id__in=own.values("pk"))
        shown = list(found.order_by("pk")[: MAX_QUARANTINED_SHOWN - len(named)])
        rows = own.in_bulk([row.object_id for row in shown])
        named += [(rows[row.object_id], row) for row in shown]
    return named


@require_POST
def start_build(request: HttpRequest) -> HttpResponse:
    person = require_builder(request)
    request_build(requested_by=person, reason="Asked for by hand.")
    messages.success(request, "A new snapshot is on its way.")
    return redirect("snapshot-list")


def require_builder(request: HttpRequest) -> User:
    person = person_of(request)
    if not may_start(person, "snapshot_build"):
        raise PermissionDenied(
            "Only the exchange's operators start builds and choose what is live. A saved change is"
            " live by itself."
        )
    return person


@require_POST
def activate_build(request: HttpRequest, pk: int) -> HttpResponse:
    require_builder(request)
    build = get_object_or_404(SnapshotBuild, pk=pk)
    said = f"Build {pk} is live, with everything that was saved since it was read."
    return switch(request, lambda: activate(build=build), said)


@require_POST
def roll_back_to(request: HttpRequest, pk: int) -> HttpResponse:
    require_builder(request)
    build = get_object_or_404(SnapshotBuild, pk=pk)
    said = f"Build {pk} is live as it was built. What was saved since is held back."
    return switch(request, lambda: roll_back(build=build), said)


def switch(request: HttpRequest, make_live: Callable[[], object], said: str) -> HttpResponse:
    try:
        make_live()
    except (CannotActivateError, BuildLostError, DirectoryError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, said)
    return redirect("snapshot-list")


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    require_builder(request)
    form = CompareForm(request.GET)
    if not form.is_valid():
        raise Http404("Choose two builds to compare.")
    before = get_object_or_404(
        SnapshotBuild.objects.defer("skipped"), pk=form.cleaned_data["before"]
    )
    after = get_object_or_404(SnapshotBuild.objects.defer("skipped"), pk=form.cleaned_data["after"])
    context: dict[str, object] = {"before": before, "after": after}
    try:
        found = compare_snapshots(snapshot_directory(), before.snapshot_id, after.snapshot_id)
    except DirectoryError:
        return render(request, "snapshots/comparison.html", context)
    context |= {"comparison": found, "figures": list_figures(found)}
    differences = {"Added": found.added, "Removed": found.removed, "Changed": found.changed}
    context["differences"] = differences.items()
    context["visits"] = compare_visits(
        snapshot_directory(),
        before.snapshot_id,
        after.snapshot_id,
        first=[pk for difference in differences.values() for pk, _ in difference.first],
    )
    return render(request, "snapshots/comparison.html", context)


def list_figures(found: Comparison) -> list[tuple[str, str, str]]:
    """Lists the same figures of both: how much there is, how much is shared, how large it is."""
    rows = []
    for label, read in FIGURES.items():
        rows.append((label, read(found.before), read(found.after)))
    return rows


class CompareForm(forms.Form):
    before = forms.IntegerField(min_value=1)
    after = forms.IntegerField(min_value=1)


@require_safe
def show_progress(request: HttpRequest) -> HttpResponse:
    """Shows progress to a page that polls: often while a build runs, seldom otherwise. When a build
    has ended since the last look (`?seen=`), the lists on the page are told to read themselves
    anew."""
    build = find_current_build()
    state = describe_state(build)
    context = {"build": build, "state": state, "standing": read_standing()}
    response = render(request, "snapshots/_progress.html", context)
    if request.GET.get("seen", state) != state:
        response["HX-Trigger"] = "builds-changed"
    return response


def find_current_build() -> SnapshotBuild | None:
    """Finds the build that runs, else the one that waits, else the last one."""
    builds = SnapshotBuild.objects.select_related("requested_by").defer("skipped")
    running = builds.filter(status=SnapshotBuild.Status.BUILDING).first()
    return running or builds.order_by("-id").first()


def describe_state(build: SnapshotBuild | None) -> str:
    return f"{build.pk}-{build.status}" if build else ""

"""Runs of the night's jobs: the list, each run's steps, jobs and log, running days again, and
counting days that are past."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import groupby
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from exchange.accounts.permissions import is_exchange_operator
from exchange.reading.night_chain import read_chain
from exchange.reports import services
from exchange.reports.freshness import read_freshness
from exchange.reports.models import JobRun, ReportRun, RunLog
from exchange.web.forms.reports import DaysForm
from exchange.web.views.listing import person_of

RUNS_SHOWN = 8
RUNS_PER_PAGE = 25
TELLING = {JobRun.Status.RUNNING, JobRun.Status.FAILED}


@require_safe
def list_runs(request: HttpRequest) -> HttpResponse:
    page = Paginator(with_jobs(), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    newest = ReportRun.objects.order_by("-pk").first()
    context = runs_context() | {
        "page": page,
        "newest": newest,
        "chain": read_chain(newest, list(newest.jobs.all())) if newest else [],
        "freshness": read_freshness(),
    }
    if page.number > 1:
        context["runs"] = list(page.object_list)
    return render(request, "reports/runs.html", context)


@require_safe
def show_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows a run of the reports. The page polls itself while the run is open."""
    run = get_object_or_404(ReportRun.objects.select_related("requested_by"), pk=pk)
    jobs = list(run.jobs.order_by("day", "pk"))
    is_ours = is_exchange_operator(person_of(request))
    log = RunLog.objects.filter(run=run).first() if is_ours else None
    context = {
        "run": run,
        "chain": read_chain(run, jobs),
        "days": list(by_day(jobs, run.last_day)),
        "log": log.text if log else "",
        "visits_read": sum(job.rows_read for job in jobs if job.job == services.COUNTING),
    }
    return render(request, "reports/run.html", context)


def by_day(jobs: list[JobRun], last_day: date) -> Iterator[tuple[date, list[JobRun], bool]]:
    """Gives each day with its jobs, and whether it is worth being open: the last one, and those
    where something is at work or went wrong."""
    for day, found in groupby(jobs, key=lambda job: job.day):
        of_day = list(found)
        is_telling = any(job.status in TELLING for job in of_day)
        yield day, of_day, day == last_day or is_telling


@require_POST
def start_run(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = DaysForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose the first and the last day to count.")
        return redirect("report-runs")
    try:
        services.request_run(**form.cleaned_data, requested_by=person)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The report is on its way. The list of runs shows how far it is.")
    return redirect(f"{reverse('report-runs')}#runs")


@require_safe
def show_progress(request: HttpRequest) -> HttpResponse:
    """Shows the runs of now, polled by the page; says when a run ended since the last look, so that
    the page reads anew."""
    context = runs_context()
    response = render(request, "reports/_runs.html", context)
    seen = request.GET.get("seen")
    if seen is not None and seen != context["seen"]:
        response["HX-Trigger"] = "reports-changed"
    return response


def with_jobs() -> Any:
    return ReportRun.objects.select_related("requested_by").prefetch_related("jobs")


def runs_context() -> dict[str, Any]:
    runs = list(with_jobs()[:RUNS_SHOWN])
    ended = [run.pk for run in runs if not run.is_open]
    logged = services.logged_days()
    return {
        "runs": runs,
        "is_running": any(run.is_open for run in runs),
        "seen": str(max(ended, default=0)),
        "nightly_hour": f"{settings.NIGHTLY_REPORT_HOUR_UTC:02}",
        "logged_first": logged[max(0, len(logged) - services.MAX_DAYS_PER_RUN)] if logged else None,
        "logged_last": logged[-1] if logged else None,
    }

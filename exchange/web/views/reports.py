"""The analyst's pages: eligible visits by day, publisher and campaign, and the runs behind them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from exchange.market.querysets import ID_DIGITS
from exchange.reports import services
from exchange.reports.charts import draw_chart
from exchange.reports.exports import MEANINGS, stream_csv
from exchange.reports.models import ReportRun
from exchange.reports.queries import (
    DEFAULT_DAYS,
    MOST_NAMED,
    Report,
    Selection,
    Sort,
    TooManyNamedError,
    last_reported_days,
    read_report,
)
from exchange.reports.zeros import explain_zero, find_zeros
from exchange.web.forms.reports import DaysForm, ReportForm
from exchange.web.views.listing import person_of

WIDE, NARROW = 960, 350
RUNS_SHOWN = 8


@require_safe
def show_eligible_visits(request: HttpRequest) -> HttpResponse:
    form = read_form(request)
    context: dict[str, Any] = {"form": form, "sort": Sort.of(request.GET.get("sort", ""))}
    if form.is_valid():
        context |= report_context(form.selection(), context["sort"])
        if "report" in context:
            context |= find_without(request, context["report"])
    return render(request, "reports/eligible_visits.html", context | runs_context())


def report_context(selection: Selection, sort: Sort) -> dict[str, Any]:
    """Reads the report, or what was chosen if that is more than anybody could wait for."""
    try:
        report = read_report(selection, sort)
    except TooManyNamedError:
        return {"selection": selection, "most_named": MOST_NAMED}
    is_one = selection.campaign is not None
    charts = {
        "wide": draw_chart(report.days, width=WIDE, has_shade=is_one),
        "narrow": draw_chart(report.days, width=NARROW, has_shade=is_one),
    }
    return {"report": report, "charts": charts, "columns": MEANINGS}


def find_without(request: HttpRequest, report: Report) -> dict[str, Any]:
    """Finds what has no eligible visit, and why: the campaign that was asked for, or all."""
    selection = report.selection
    if selection.campaign is None:
        before = request.GET.get("before", "")
        is_id = before.isdecimal() and len(before) <= ID_DIGITS
        return {"zeros": find_zeros(selection, before=int(before) if is_id else None)}
    return {} if report.total.eligible else {"zero": explain_zero(selection.campaign, selection)}


@require_safe
def download_csv(request: HttpRequest) -> HttpResponseBase:
    form = read_form(request)
    if not form.is_valid():
        raise BadRequest("The address of this download names days or filters that do not exist.")
    selection = form.selection()
    name = f"eligible-visits_{selection.first_day}_{selection.last_day}.csv"
    return StreamingHttpResponse(
        stream_csv(selection),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_POST
def start_run(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    form = DaysForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose the first and the last day to count.")
        return redirect("report-eligible-visits")
    try:
        services.request_run(**form.cleaned_data, requested_by=person)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The report is on its way. The list of runs shows how far it is.")
    return redirect(f"{reverse('report-eligible-visits')}#runs")


@require_safe
def show_runs(request: HttpRequest) -> HttpResponse:
    """Polled by the page; says when a run ended since the last look, so that it reads anew."""
    context = runs_context()
    response = render(request, "reports/_runs.html", context)
    seen = request.GET.get("seen")
    if seen is not None and seen != context["seen"]:
        response["HX-Trigger"] = "reports-changed"
    return response


def runs_context() -> dict[str, Any]:
    runs = list(
        ReportRun.objects.select_related("requested_by").prefetch_related("jobs")[:RUNS_SHOWN]
    )
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


def read_form(request: HttpRequest) -> ReportForm:
    days = last_reported_days() or last_days()
    return ReportForm(request.GET, days, viewer=person_of(request))


def last_days() -> tuple[date, date]:
    """Finds the days that the page shows before the first report."""
    yesterday = timezone.now().date() - timedelta(days=1)
    return yesterday - timedelta(days=DEFAULT_DAYS - 1), yesterday

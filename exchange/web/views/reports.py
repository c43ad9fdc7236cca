"""Shows the analyst's page of eligible visits by day, publisher and campaign, its download, and the
page about why figures differ."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from exchange.market.querysets import ID_DIGITS
from exchange.reports.charts import draw_chart
from exchange.reports.exports import MEANINGS, stream_csv
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
from exchange.web.documents import read_document
from exchange.web.forms.reports import ReportForm
from exchange.web.views.listing import person_of
from exchange.web.views.report_runs import runs_context

WIDE, NARROW = 960, 350


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


@require_safe
def show_figures(request: HttpRequest) -> HttpResponse:
    """Shows why the editor, the reports and the servers say different numbers."""
    return render(request, "reports/figures.html", {"document": read_document("figures.md")})


def read_form(request: HttpRequest) -> ReportForm:
    days = last_reported_days() or last_days()
    return ReportForm(request.GET, days, viewer=person_of(request))


def last_days() -> tuple[date, date]:
    """Finds the days that the page shows before the first report."""
    yesterday = timezone.now().date() - timedelta(days=1)
    return yesterday - timedelta(days=DEFAULT_DAYS - 1), yesterday

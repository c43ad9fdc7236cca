"""Shows the catalogue of reports, and the page of each of the night's tables: filters in the
address, a chart, the rows behind it, downloads, and the code that opens it in a notebook."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pyarrow as pa
from django.core.exceptions import BadRequest
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.reports.freshness import read_freshness
from exchange.reports.night.asking import Answer, Question, ask
from exchange.reports.night.bars import draw_bars
from exchange.reports.night.catalogue import REPORTS
from exchange.reports.night.charting import PICTURE_BARS, chart_rows, legend_of
from exchange.reports.night.downloads import name_file, stream_csv, write_parquet
from exchange.reports.night.notebooks import write_cell, write_notebook, write_table_cell
from exchange.reports.night.seeing import may_read
from exchange.reports.night.shapes import NightReport
from exchange.reports.night.tables import Night, find_night, list_nights
from exchange.reports.night.wording import look_up_names
from exchange.reports.queries import (
    MOST_NAMED,
    Selection,
    Sort,
    TooManyNamedError,
    last_reported_days,
)
from exchange.reports.sparklines import draw_total
from exchange.reports.zeros import explain_zero
from exchange.web.forms.night_reports import NightForm
from exchange.web.views.listing import person_of

WIDE, NARROW, SMALL = 920, 330, 260
UNREADABLE = (OSError, ValueError, KeyError, pa.ArrowException)


@require_safe
def show_catalogue(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    seen = [report for report in REPORTS.values() if may_read(person, report)]
    entries = [(report, find_night(report.job, table=report.table)) for report in seen]
    groups = [
        (group, list(found)) for group, found in groupby(entries, key=lambda entry: entry[0].group)
    ]
    days = last_reported_days()
    context = {
        "groups": groups,
        "freshness": read_freshness(),
        "total": draw_total(Selection(*days, person)) if days else None,
    }
    return render(request, "reports/catalogue.html", context)


@require_safe
def show_report(request: HttpRequest, slug: str) -> HttpResponse:
    person = person_of(request)
    report = find_report(person, slug)
    form = read_form(request, report, person)
    context: dict[str, Any] = {"report": report, "form": form, "freshness": read_freshness()}
    try:
        context |= report_context(form)
    except TooManyNamedError:
        context["most_named"] = MOST_NAMED
    except UNREADABLE as error:
        context["unreadable"] = str(error) if is_exchange_operator(person) else ""
        context["is_unreadable"] = True
    return render(request, "reports/night/report.html", context)


def report_context(form: NightForm) -> dict[str, Any]:
    question = form.question()
    answer = ask(question)
    campaign = form.find_campaign()
    if answer is None:
        return {"campaign": campaign}
    names = look_up_names([*answer.rows, *answer.bars], answer.columns, question.person)
    bars = chart_rows(answer, names)
    day = answer.night.day
    is_zero = campaign is not None and not answer.total
    return {
        "answer": answer,
        "night": answer.night,
        "campaign": campaign,
        "sort": read_sort(question),
        "rows": [names.write(row, answer.columns) for row in answer.rows],
        "legend": legend_of(question.report),
        "charts": {
            "wide": draw_bars(bars, width=WIDE),
            "narrow": draw_bars(bars, width=NARROW),
        }
        if bars
        else None,
        "zero": explain_zero(campaign, Selection(day, day, question.person))
        if campaign and is_zero
        else None,
        **notebook_context(question, answer),
    }


def notebook_context(question: Question, answer: Answer) -> dict[str, Any]:
    is_ours = is_exchange_operator(question.person)
    return {
        "cell": write_cell(question, answer.night),
        "table_cell": write_table_cell(question, answer.night) if is_ours else "",
        "file_name": name_file(question, answer.night, "parquet"),
    }


def read_sort(question: Question) -> Sort:
    sort = question.sort or question.report.sort
    return Sort(sort.removeprefix("-"), sort.startswith("-"))


@require_safe
def show_picture(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the report's chart in small, for the catalogue: its largest bars of the newest
    night."""
    person = person_of(request)
    report = find_report(person, slug)
    default = report.choice.default if report.choice else ""
    drawing = None
    try:
        answer = ask(Question(report, person, choice=default))
        if answer is not None:
            names = look_up_names(answer.bars, answer.columns, person)
            bars = chart_rows(answer, names)[:PICTURE_BARS]
            drawing = draw_bars(bars, width=SMALL) if bars else None
    except UNREADABLE:
        answer = None
    context = {"report": report, "answer": answer, "drawing": drawing}
    return render(request, "reports/night/_picture.html", context)


@require_safe
def download_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    question, night = read_download(request, slug)
    return StreamingHttpResponse(
        stream_csv(question, night),
        content_type="text/csv; charset=utf-8",
        headers=attach(name_file(question, night, "csv")),
    )


@require_safe
def download_parquet(request: HttpRequest, slug: str) -> HttpResponseBase:
    question, night = read_download(request, slug)
    return FileResponse(
        write_parquet(question, night),
        as_attachment=True,
        filename=name_file(question, night, "parquet"),
        content_type="application/vnd.apache.parquet",
    )


@require_safe
def download_notebook(request: HttpRequest, slug: str) -> HttpResponseBase:
    question, night = read_download(request, slug)
    headers = attach(name_file(question, night, "ipynb"))
    return JsonResponse(
        write_notebook(question, night), headers=headers, content_type="application/x-ipynb+json"
    )


def attach(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def read_download(request: HttpRequest, slug: str) -> tuple[Question, Night]:
    """Reads the question of a download: what the page of the same address shows."""
    person = person_of(request)
    form = read_form(request, find_report(person, slug), person)
    try:
        question = form.question()
    except TooManyNamedError:
        raise BadRequest("Name the campaigns more closely, then download them.") from None
    night = find_night(question.report.job, question.day, table=question.report.table)
    if night is None:
        raise Http404("No such night was counted.")
    return question, night


def find_report(person: User, slug: str) -> NightReport:
    """Finds a report. What is not theirs does not exist for people."""
    report = REPORTS.get(slug)
    if report is None or not may_read(person, report):
        raise Http404("There is no such report.")
    return report


def read_form(request: HttpRequest, report: NightReport, person: User) -> NightForm:
    return NightForm(request.GET, report=report, days=list_nights(report.job), viewer=person)

"""Shows the list of campaigns, its CSV, and the views of it that people keep."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from exchange.accounts.saved_views import forget_view, keep_view, tidy, views_of
from exchange.findings.changed import last_checked
from exchange.reports.sparklines import draw_sparklines
from exchange.web.campaign_lists import (
    MOST_SORTED,
    choose_campaigns,
    stream_campaigns,
    with_details,
)
from exchange.web.sentences import say_all
from exchange.web.views.listing import person_of, read_listing

PAGE = "campaign-list"


@require_safe
def list_campaigns(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    chosen = choose_campaigns(request.GET, person)
    shown = with_details(chosen.campaigns)
    listing = read_listing(request, chosen.filters, shown, chosen.order)
    rows = listing.page.rows
    context = {
        "listing": listing,
        "sort": chosen.sort,
        "unsorted_by": chosen.unsorted_by,
        "most_sorted": MOST_SORTED,
        "sentences": say_all(rows),
        "sparklines": draw_sparklines([campaign.pk for campaign in rows]),
        "views": views_of(person, PAGE),
        "view_query": tidy(request.GET.urlencode()),
        "checked_at": last_checked(),
    }
    return render(request, "market/campaign_list.html", context)


@require_safe
def download_campaigns(request: HttpRequest) -> HttpResponseBase:
    """Sends what the list shows, all pages of it."""
    return StreamingHttpResponse(
        stream_campaigns(choose_campaigns(request.GET, person_of(request))),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="campaigns.csv"'},
    )


@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    query = tidy(request.POST.get("query", ""))
    try:
        view = keep_view(
            person=person_of(request), page=PAGE, name=request.POST.get("name", ""), query=query
        )
    except ValidationError as error:
        messages.error(request, f"The view is not saved. {' '.join(error.messages)}")
    else:
        messages.success(request, f"The view {view.name} is saved, for you alone.")
    return redirect(f"{reverse(PAGE)}?{query}")


@require_POST
def remove_view(request: HttpRequest, pk: int) -> HttpResponse:
    forget_view(person=person_of(request), page=PAGE, view_id=pk)
    return redirect(PAGE)

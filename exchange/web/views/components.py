"""Shows every component that pages share, side by side, with made-up contents. For developers: the
page has an address in debug only."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.findings.status import Status
from exchange.reports.sparklines import draw_sparkline
from exchange.web.campaign_lists import Sort

COUNTS = [120, 180, 90, 240, 260, 300, 210, 120, 190, 95, 250, 270, 330, 12_480]


@require_safe
def show_components(request: HttpRequest) -> HttpResponse:
    context = {
        "statuses": [(status.value, status.label) for status in Status],
        "sparkline": draw_sparkline(COUNTS),
        "flat": draw_sparkline([0] * len(COUNTS)),
        "sort": Sort("name", is_descending=False),
    }
    return render(request, "components.html", context)

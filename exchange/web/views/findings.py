"""Findings: bookings that can never be eligible, or were not for weeks, and why."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.findings.checking import EDGES_LOOKED_AT
from exchange.findings.models import BookingFinding
from exchange.findings.wording import tell
from exchange.market.models import Booking
from exchange.market.visibility import visible
from exchange.web.filters import FindingFilter
from exchange.web.paging import Order
from exchange.web.views.listing import person_of, read_listing

NEWEST_FIRST = Order(("id",), is_descending=True)


@require_safe
def list_findings(request: HttpRequest) -> HttpResponse:
    person, filters = person_of(request), FindingFilter(request.GET)
    bookings = visible(Booking.objects.kept(), person).order_by()
    findings = BookingFinding.objects.filter(booking__in=bookings.values("pk")).select_related(
        "booking__campaign__advertiser", "booking__publisher"
    )
    listing = read_listing(request, filters, filters.apply(findings), NEWEST_FIRST)
    context = {
        "listing": listing,
        "told": tell(listing.page.rows, person),
        "edges_looked_at": EDGES_LOOKED_AT,
    }
    return render(request, "findings/finding_list.html", context)

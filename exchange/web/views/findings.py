"""Shows findings: bookings that can never be eligible, or were not for weeks, and why; one row for
each cause, which opens to its bookings."""

from __future__ import annotations

from django.db.models import Count, IntegerField, Max, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from exchange.findings.changed import last_checked
from exchange.findings.checking import EDGES_LOOKED_AT
from exchange.findings.models import BookingFinding
from exchange.findings.wording import tell
from exchange.market.models import Booking
from exchange.market.visibility import visible
from exchange.reading.paging import Order
from exchange.web.filters import FindingFilter
from exchange.web.views.listing import person_of, read_listing

NEWEST_FIRST = Order(("id",), is_descending=True)
LARGEST_FIRST = Order(("size", "id"), is_descending=True)


@require_safe
def list_findings(request: HttpRequest) -> HttpResponse:
    person, filters = person_of(request), FindingFilter(request.GET)
    bookings = visible(Booking.objects.kept(), person).order_by()
    findings = BookingFinding.objects.filter(booking__in=bookings.values("pk"))
    found = filters.apply(findings)
    rows, order = (
        (found, NEWEST_FIRST) if filters.is_opened else (group_by_cause(found), LARGEST_FIRST)
    )
    joined = rows.select_related("booking__campaign__advertiser", "booking__publisher")
    listing = read_listing(request, filters, joined, order)
    context = {
        "listing": listing,
        "told": tell(listing.page.rows, person),
        "is_opened": filters.is_opened,
        "edges_looked_at": EDGES_LOOKED_AT,
        "checked_at": last_checked(),
    }
    return render(request, "findings/finding_list.html", context)


def group_by_cause(findings: QuerySet[BookingFinding]) -> QuerySet[BookingFinding]:
    """Finds the newest of each cause, which stands for all `size` of them."""
    causes = findings.order_by().values("cause")
    sizes = causes.filter(cause=OuterRef("cause")).annotate(size=Count("pk")).values("size")
    newest = causes.annotate(newest=Max("pk")).values("newest")
    size = Subquery(sizes, output_field=IntegerField())
    return BookingFinding.objects.filter(pk__in=newest).annotate(size=size)

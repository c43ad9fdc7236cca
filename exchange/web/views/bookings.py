"""Shows and edits bookings: a campaign with a publisher, and the path between the two."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from exchange.findings.changed import last_checked
from exchange.findings.services import check_booking
from exchange.findings.status import Status, order_of, with_booking_status
from exchange.findings.wording import tell
from exchange.market.models import Booking, Campaign
from exchange.market.services import save_booking
from exchange.market.visibility import explainable, owned, visible
from exchange.reading.paging import Order
from exchange.reading.paths import find_paths
from exchange.web.filters import BookingFilter
from exchange.web.forms import BookingForm, save_form
from exchange.web.views.listing import (
    find_visible,
    open_for_edit,
    person_of,
    read_listing,
    show_form,
)


@require_safe
def list_bookings(request: HttpRequest) -> HttpResponse:
    filters = BookingFilter(request.GET)
    person = person_of(request)
    # People see only their own drafts: nobody shall wait while a publisher's are looked through.
    see = owned if filters.chosen.get("status") == Status.DRAFT else visible
    bookings = filters.apply(
        see(Booking.objects.kept().with_parties(), person),
        explainable(Campaign.objects.order_by(), person),
    )
    order = Order(order_of(filters.chosen.get("status"), "campaign__"), is_descending=True)
    listing = read_listing(request, filters, with_booking_status(bookings), order)
    context = {
        "listing": listing,
        "paths": find_paths(listing.page.rows, person),
        "checked_at": last_checked(),
    }
    return render(request, "market/booking_list.html", context)


@require_safe
def show_booking(request: HttpRequest, pk: int) -> HttpResponse:
    person = person_of(request)
    booking = find_visible(with_booking_status(Booking.objects.with_parties()), person, pk)
    context = {
        "booking": booking,
        "path": find_paths([booking], person)[0],
        "told": tell(list(booking.findings.order_by("pk")), person),
        "checked_at": last_checked(),
    }
    return render(request, "market/booking_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_booking(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    booking = open_for_edit(Booking.objects.with_parties(), person, pk, Booking())
    form = BookingForm(
        request.POST or None, person=person, instance=booking, initial=request.GET.dict()
    )
    if request.method == "POST" and save_form(form, partial(save_booking, by=person)):
        messages.success(
            request,
            f"{booking.campaign.name} is booked with {booking.publisher.name}."
            if booking.is_active
            else f"The booking with {booking.publisher.name} is switched off.",
        )
        for told in tell(check_booking(booking=booking), person):
            messages.warning(request, told.message)
        return redirect("campaign-bookings", booking.campaign_id)
    return show_form(request, "market/booking_form.html", form, booking=booking)

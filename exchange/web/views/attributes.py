"""Shows the attribute catalogue, one for all: what a visit may carry and expressions may ask."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from exchange.accounts.permissions import may_edit
from exchange.market.impact import impact_of_attribute
from exchange.market.models import Attribute
from exchange.market.services import save_attribute
from exchange.reading.paging import Order
from exchange.reports.data_quality import read_quality
from exchange.web.attribute_traffic import read_carried
from exchange.web.filters import AttributeFilter
from exchange.web.forms import AttributeForm, save_form
from exchange.web.rehearsing import is_rehearsed
from exchange.web.views.listing import (
    find_visible,
    open_for_edit,
    person_of,
    read_listing,
    show_form,
)

BY_NAME = Order(("name",))
LONGEST_NAME = 80


@require_safe
def list_attributes(request: HttpRequest) -> HttpResponse:
    filters = AttributeFilter(request.GET)
    attributes = filters.apply(Attribute.objects.kept())
    listing = read_listing(request, filters, attributes, BY_NAME)
    sample, carried = read_carried(listing.page.rows)
    context = {
        "listing": listing,
        "sample": sample,
        "carried": carried,
        "quality": read_quality() if may_edit(request.user, "attribute") else None,
    }
    return render(request, "market/attribute_list.html", context)


@require_safe
def show_attribute(request: HttpRequest, pk: int) -> HttpResponse:
    attribute = find_visible(Attribute.objects.all(), person_of(request), pk)
    sample, carried = read_carried([attribute])
    quality = read_quality()
    context = {
        "attribute": attribute,
        "impact": impact_of_attribute(attribute),
        "sample": sample,
        "carried": carried.get(attribute.pk),
        "quality": quality,
        "measured": quality.attributes.get(attribute.name) if quality else None,
    }
    return render(request, "market/attribute_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_attribute(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    # A key that the traffic has and the catalogue does not, from the list.
    named = Attribute(name=request.GET.get("name", "")[:LONGEST_NAME])
    attribute = open_for_edit(Attribute.objects.all(), person, pk, named)
    form = AttributeForm(request.POST or None, person=person, instance=attribute)
    is_due = request.method == "POST" and is_rehearsed(request, form)
    if is_due and save_form(form, partial(save_attribute, by=person)):
        messages.success(request, f"{attribute.name} is saved.")
        return redirect("attribute-detail", attribute.pk)
    return show_form(
        request,
        "market/attribute_form.html",
        form,
        attribute=attribute,
        impact=impact_of_attribute(attribute) if pk else None,
    )

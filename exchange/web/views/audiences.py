"""Shows and edits audiences: expressions kept once and used by many, as `@name`."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from exchange.market.impact import impact_of_audience
from exchange.market.models import Audience
from exchange.market.services import save_audience
from exchange.market.visibility import visible
from exchange.reading.library_reach import reach_of_audience
from exchange.reading.paging import Order
from exchange.web.filters import AudienceFilter
from exchange.web.forms import AudienceForm, save_form
from exchange.web.rehearsing import is_rehearsed
from exchange.web.sentences import say_audiences
from exchange.web.views.listing import (
    find_visible,
    open_for_edit,
    person_of,
    read_listing,
    show_form,
)

BY_NAME = Order(("name", "id"))


@require_safe
def list_audiences(request: HttpRequest) -> HttpResponse:
    filters = AudienceFilter(request.GET)
    audiences = visible(Audience.objects.kept().select_related("organisation"), request.user)
    listing = read_listing(request, filters, filters.apply(audiences), BY_NAME)
    context = {"listing": listing, "sentences": say_audiences(listing.page.rows)}
    return render(request, "market/audience_list.html", context)


@require_safe
def show_audience(request: HttpRequest, pk: int) -> HttpResponse:
    audiences = Audience.objects.select_related("organisation")
    audience = find_visible(audiences, person_of(request), pk)
    context = {
        "audience": audience,
        "sentence": say_audiences([audience]).get(audience.pk),
        "impact": impact_of_audience(audience),
        "reached": reach_of_audience(audience),
    }
    return render(request, "market/audience_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_audience(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    new = Audience(organisation=person.organisation)
    audience = open_for_edit(Audience.objects.select_related("organisation"), person, pk, new)
    form = AudienceForm(request.POST or None, person=person, instance=audience)
    is_due = request.method == "POST" and is_rehearsed(request, form)
    if is_due and save_form(form, partial(save_audience, by=person)):
        messages.success(request, f"@{audience.name} is saved.")
        return redirect("audience-detail", audience.pk)
    return show_form(
        request,
        "market/audience_form.html",
        form,
        audience=audience,
        impact=impact_of_audience(audience) if pk else None,
    )

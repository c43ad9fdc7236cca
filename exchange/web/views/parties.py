"""Shows and edits parties: the publishers, intermediaries and advertisers of the graph."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from exchange.market.models import Booking, Campaign, Party
from exchange.market.querysets import count_of
from exchange.market.services import save_party
from exchange.market.visibility import SIDES, owned, visible
from exchange.reading.paging import Order, count_listed
from exchange.web.filters import PartyFilter
from exchange.web.forms import PartyForm, save_form
from exchange.web.views.listing import (
    find_visible,
    open_for_edit,
    person_of,
    read_listing,
    show_form,
)

BY_NAME = Order(("name",))
EDGES_SHOWN = 25
SUGGESTIONS = 12
# Sides of a trade that are one's own: a form offers the person's own parties there.
OWN_SIDES = {"seller", "advertiser"}


@require_safe
def list_parties(request: HttpRequest) -> HttpResponse:
    filters = PartyFilter(request.GET)
    parties = visible(Party.objects.kept(), request.user).annotate(
        sale_count=count_of("Edge", "seller"), purchase_count=count_of("Edge", "buyer")
    )
    listing = read_listing(request, filters, filters.apply(parties), BY_NAME)
    return render(request, "market/party_list.html", {"listing": listing})


@require_safe
def show_party(request: HttpRequest, pk: int) -> HttpResponse:
    person = person_of(request)
    parties = Party.objects.select_related("organisation").annotate(
        sale_count=count_of("Edge", "seller"), purchase_count=count_of("Edge", "buyer")
    )
    party = find_visible(parties, person, pk)
    sales = party.sales.kept().select_related("buyer").order_by("buyer__name")[:EDGES_SHOWN]
    purchases = party.purchases.kept().select_related("seller").order_by("seller__name")
    context = {
        "party": party,
        "sales": sales,
        "purchases": purchases[:EDGES_SHOWN],
        "campaign_count": count_listed(
            visible(Campaign.objects.kept(), person).filter(advertiser=pk)
        ),
        "booking_count": count_listed(visible(Booking.objects.kept(), person).filter(publisher=pk)),
    }
    return render(request, "market/party_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_party(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    party = open_for_edit(Party.objects.all(), person, pk, Party(organisation=person.organisation))
    form = PartyForm(request.POST or None, person=person, instance=party)
    if request.method == "POST" and save_form(form, partial(save_party, by=person)):
        messages.success(request, f"{party.name} is saved.")
        return redirect("party-detail", party.pk)
    return show_form(request, "market/party_form.html", form, party=party)


@require_safe
def suggest_parties(request: HttpRequest) -> HttpResponse:
    """Lists options for a field that takes a party by typing: those that can stand at `?side=`,
    where a form asks for the person's own side only theirs, with `?all=1` also retired ones."""
    side = request.GET.get("side", "")
    parties = Party.objects.filter(kind__in=SIDES.get(side, Party.Kind))
    if not request.GET.get("all"):
        parties = parties.kept()
        parties = owned(parties, request.user) if side in OWN_SIDES else parties
    named = parties.filter(name__icontains=request.GET.get(side, "").strip()).order_by("name")
    labels = list(named.values_list("name", flat=True)[:SUGGESTIONS])
    return render(request, "parts/_options.html", {"labels": labels})

"""Campaigns: what an advertiser wants to show, to which visits, when, and over which paths."""

from __future__ import annotations

from functools import partial

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from exchange.findings.changed import last_checked
from exchange.findings.models import BookingFinding
from exchange.findings.services import check_campaign
from exchange.findings.status import (
    order_of,
    with_booking_status,
    with_campaign_status,
    with_finding_count,
)
from exchange.findings.wording import tell_by_booking
from exchange.market.models import Campaign, Party
from exchange.market.services import FailingVisitsError, Outcome, run_test_visits, save_campaign
from exchange.market.visibility import explainable, owned, visible
from exchange.reading.paging import Order
from exchange.reading.paths import find_paths
from exchange.web.filters import CampaignFilter
from exchange.web.forms import CampaignForm, campaign_label, save_form
from exchange.web.views.listing import (
    find_visible,
    load_reference,
    open_for_edit,
    person_of,
    read_listing,
    show_form,
)
from targeting import ExpressionError

SUGGESTIONS = 12


@require_safe
def list_campaigns(request: HttpRequest) -> HttpResponse:
    filters = CampaignFilter(request.GET)
    campaigns = filters.apply(visible(Campaign.objects.kept().with_advertiser(), request.user))
    shown = with_finding_count(with_campaign_status(campaigns.with_booking_count()))
    order = Order(order_of(filters.chosen.get("status")), is_descending=True)
    listing = read_listing(request, filters, shown, order)
    context = {"listing": listing, "checked_at": last_checked()}
    return render(request, "market/campaign_list.html", context)


@require_safe
def show_campaign(request: HttpRequest, pk: int) -> HttpResponse:
    person = person_of(request)
    campaign = find_visible(with_campaign_status(Campaign.objects.with_advertiser()), person, pk)
    bookings = campaign.bookings.kept().with_parties().order_by("publisher__name")
    paths = find_paths(with_booking_status(bookings), person)
    booked = {path.booking.publisher_id for path in paths}
    free = Party.objects.publishers().exclude(pk__in=booked).order_by("name")
    findings = BookingFinding.objects.filter(booking__campaign=campaign).order_by("pk")
    context = {
        "campaign": campaign,
        "paths": paths,
        "publishers": free,
        "told": tell_by_booking(findings, person),
        "checked_at": last_checked(),
        **try_targeting(campaign),
    }
    return render(request, "market/campaign_detail.html", context)


def try_targeting(campaign: Campaign) -> dict[str, list[Outcome] | str]:
    """How its test visits come out, or what is wrong with an expression that no longer compiles:
    the page is needed to repair it."""
    try:
        return {"outcomes": run_test_visits(campaign=campaign)}
    except ExpressionError as error:
        return {"broken": str(error)}


@require_http_methods(["GET", "HEAD", "POST"])
def edit_campaign(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    campaign = open_for_edit(Campaign.objects.with_advertiser(), person, pk, Campaign())
    form = CampaignForm(
        request.POST or None, person=person, instance=campaign, initial=request.GET.dict()
    )
    if request.method == "POST" and save_form(form, partial(save_campaign, by=person)):
        check_campaign(campaign=campaign)
        messages.success(request, f"{campaign.name} is saved.")
        return redirect("campaign-detail", campaign.pk)
    return show_form(
        request,
        "market/campaign_form.html",
        form,
        campaign=campaign,
        reference=load_reference(),
    )


@require_POST
def set_status(request: HttpRequest, pk: int) -> HttpResponse:
    """Go live or pause, from the campaign's page."""
    person = person_of(request)
    campaign = open_for_edit(Campaign.objects.with_advertiser(), person, pk, Campaign())
    status = request.POST.get("status", "")
    if status not in Campaign.Status.values:
        return HttpResponseBadRequest("There is no such status.")
    campaign.status = Campaign.Status(status)
    try:
        save_campaign(campaign=campaign, by=person)
    except FailingVisitsError as error:
        failing = " ".join(error.messages)
        messages.error(request, f"Not saved: {failing} Edit the campaign to save it all the same.")
    except ExpressionError as error:
        messages.error(
            request, f"Not saved: the targeting no longer compiles. {error}. Edit it first."
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        check_campaign(campaign=campaign)
        said = campaign.get_status_display().lower()
        messages.success(request, f"{campaign.name} is now {said}.")
    return redirect("campaign-detail", campaign.pk)


@require_safe
def suggest_campaigns(request: HttpRequest) -> HttpResponse:
    """Options for a campaign picker, as the person types: campaigns to book, or with `?explain=1`
    also those of others that are booked with the person's publishers."""
    offer = explainable if request.GET.get("explain") else owned
    campaigns = offer(Campaign.objects.kept().with_advertiser(), request.user)
    campaigns = campaigns.search(request.GET.get("campaign", "")).order_by("-id")
    labels = [campaign_label(campaign) for campaign in campaigns[:SUGGESTIONS]]
    return render(request, "parts/_options.html", {"labels": labels})

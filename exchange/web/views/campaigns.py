"""Shows and edits campaigns: what an advertiser wants to show, to which visits, when, over which
paths."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from exchange.findings.changed import last_checked
from exchange.findings.services import check_campaign
from exchange.market.models import Campaign
from exchange.market.querysets import ID_DIGITS
from exchange.market.services import FailingVisitsError, save_campaign
from exchange.market.visibility import explainable, owned
from exchange.reading.campaign_impact import write_without
from exchange.web.forms import CampaignForm, campaign_label, save_form
from exchange.web.sentences import say_all
from exchange.web.views.campaign_impact import read_places
from exchange.web.views.campaign_tabs import find_campaign, follow, try_targeting
from exchange.web.views.listing import (
    open_for_edit,
    person_of,
    show_form,
)
from targeting import ExpressionError

SUGGESTIONS = 12
CLONED = ("advertiser", "starts_at", "ends_at", "bid_cpm", "priority", "labels", "expression")
OF_CLONE = " (copy)"
NAME_LENGTH = 160


@require_safe
def show_campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows its targeting, the first of its tabs (`campaign_tabs`)."""
    campaign = find_campaign(request, pk)
    context = {
        "campaign": campaign,
        "tab": "targeting",
        "sentence": say_all([campaign]).get(campaign.pk),
        "checked_at": last_checked(),
        "booking_count": campaign.bookings.kept().count(),
        **try_targeting(campaign),
        **follow(campaign),
    }
    return render(request, "market/campaign_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_campaign(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    campaign = open_for_edit(Campaign.objects.with_advertiser(), person, pk, Campaign())
    form = CampaignForm(
        request.POST or None,
        person=person,
        instance=campaign,
        initial=read_initial(request, campaign),
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
    )


def read_initial(request: HttpRequest, campaign: Campaign) -> dict[str, Any]:
    """Takes what the address says: fields, conditions to disable, or the campaign to clone, which
    is always a draft."""
    places = read_places(request)
    if places and campaign.pk:
        with suppress(ExpressionError):  # the form says so itself
            return {"expression": write_without(campaign, places)}
    source = request.GET.get("from", "")
    if not source.isdecimal() or len(source) > ID_DIGITS:
        return request.GET.dict()
    rows = owned(Campaign.objects.with_advertiser(), request.user)
    campaign = get_object_or_404(rows, pk=source)
    copied = {name: getattr(campaign, name) for name in CLONED}
    name = f"{campaign.name[: NAME_LENGTH - len(OF_CLONE)]}{OF_CLONE}"
    return copied | {"name": name, "status": Campaign.Status.DRAFT}


@require_POST
def set_status(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets a campaign live or pauses it, from its page."""
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
    """Lists options for a campaign picker, as the person types: campaigns to book, or with
    `?explain=1` also those of others that are booked with the person's publishers."""
    offer = explainable if request.GET.get("explain") else owned
    campaigns = offer(Campaign.objects.kept().with_advertiser(), request.user)
    campaigns = campaigns.search(request.GET.get("campaign", "")).order_by("-id")
    labels = [campaign_label(campaign) for campaign in campaigns[:SUGGESTIONS]]
    return render(request, "parts/_options.html", {"labels": labels})

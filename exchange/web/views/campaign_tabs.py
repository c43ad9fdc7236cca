"""Shows the tabs of a campaign beside its targeting: bookings with their offers, and the API."""

from __future__ import annotations

import json
import shlex
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from exchange.accounts.models import User
from exchange.accounts.ownership import may_change
from exchange.findings.changed import last_checked
from exchange.findings.models import BookingFinding
from exchange.findings.services import check_bookings, note_blocked
from exchange.findings.status import with_booking_status, with_campaign_status
from exchange.findings.wording import tell_by_booking
from exchange.market.models import Campaign, Party
from exchange.market.querysets import ID_DIGITS
from exchange.market.services import book_publishers, run_test_visits
from exchange.reading.offers import read_offers
from exchange.reading.paging import Order, read_page
from exchange.reading.paths import find_paths
from exchange.reports.sample_table import open_sample
from exchange.serving.eligibility import service_for
from exchange.serving.endpoint import PATH
from exchange.snapshots.waiting import find_waiting
from exchange.web.views.listing import find_visible, open_for_edit, person_of
from exchange.web.visit_texts import write_example
from targeting import ExpressionError

BY_NAME = Order(("name",))
BOOKED_SHOWN = 100
OFFERS_SHOWN = 20  # each is judged, and counted on the sample
MOST_BOOKED_AT_ONCE = 50
EXPLAIN_PATH = f"{PATH}:explain"
FOLLOWED = timedelta(minutes=1)


def find_campaign(request: HttpRequest, pk: int) -> Campaign:
    rows = with_campaign_status(Campaign.objects.with_advertiser())
    return find_visible(rows, person_of(request), pk)


@require_safe
def show_bookings(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows what is booked, and below it where it could be: a page of publishers at a time."""
    person, campaign = person_of(request), find_campaign(request, pk)
    booked = campaign.bookings.kept().with_parties().order_by("publisher__name")
    paths = find_paths(with_booking_status(booked)[:BOOKED_SHOWN], person)
    shown = [path.booking.pk for path in paths]
    findings = BookingFinding.objects.filter(booking__in=shown).order_by("pk")
    context = {
        "campaign": campaign,
        "tab": "bookings",
        "paths": paths,
        "may_book": may_change(person, campaign) and not campaign.is_retired,
        "booked_count": booked.count(),
        "told": tell_by_booking(findings, person),
        "checked_at": last_checked(),
        **offer_publishers(request, campaign, person),
        **follow(campaign),
    }
    return render(request, "market/campaign_bookings.html", context)


def offer_publishers(request: HttpRequest, campaign: Campaign, person: User) -> dict[str, Any]:
    booked = campaign.bookings.kept().values("publisher_id")
    searched = request.GET.get("q", "")[:200]
    publishers = Party.objects.publishers().exclude(pk__in=booked).search(searched)
    page = read_page(publishers, BY_NAME, request.GET, size=OFFERS_SHOWN)
    return {
        "offered": page,
        "offers": read_offers(campaign, page.rows, person),
        "q": searched,
        "sample": open_sample(),
    }


@require_POST
def book(request: HttpRequest, pk: int) -> HttpResponse:
    """Books several publishers at once: all of them, or none."""
    person = person_of(request)
    campaign = open_for_edit(Campaign.objects.with_advertiser(), person, pk, Campaign())
    chosen = [text for text in request.POST.getlist("publisher") if is_id(text)]
    if len(chosen) > MOST_BOOKED_AT_ONCE:
        return HttpResponseBadRequest(f"Book at most {MOST_BOOKED_AT_ONCE} at once.")
    publishers = list(Party.objects.publishers().filter(pk__in=chosen).order_by("name"))
    if not publishers:
        messages.warning(request, "Choose the publishers to book first.")
        return redirect("campaign-bookings", pk)
    try:
        booked = book_publishers(campaign=campaign, publishers=publishers, by=person)
    except ValidationError as error:
        messages.error(request, f"Nothing is booked. {' '.join(error.messages)}")
    else:
        check_bookings(booking_ids=[booking.pk for booking in booked])
        note_blocked([campaign.pk])
        named = ", ".join(publisher.name for publisher in publishers)
        messages.success(request, f"{campaign.name} is booked with {named}.")
    return redirect("campaign-bookings", pk)


def is_id(text: str) -> bool:
    return text.isdecimal() and len(text) <= ID_DIGITS


@require_safe
def show_served(request: HttpRequest, pk: int) -> HttpResponse:
    """Answers the page that looks, after a save, until ad servers answer what was saved."""
    campaign = find_visible(Campaign.objects.with_advertiser(), person_of(request), pk)
    context = {"campaign": campaign, **follow(campaign)}
    context["served_after"] = (timezone.now() - last_saved(campaign)).total_seconds()
    return render(request, "market/_served.html", context)


def follow(campaign: Campaign) -> dict[str, Any]:
    """Tells how what was saved last about it gets to ad servers. `served` is empty where that was
    so long ago that nobody waits for it."""
    waiting = find_waiting(campaign)
    if waiting is not None and waiting.saved_at:
        return {"served": "held" if waiting.is_held else "waiting"}
    if timezone.now() - last_saved(campaign) > FOLLOWED:
        return {"served": ""}
    service = service_for(settings.SNAPSHOT_DIR)
    service.refresh()
    return {"served": "nothing" if service.live is None else "answered"}


def last_saved(campaign: Campaign) -> datetime:
    """Returns when it, or one of its bookings, was saved last."""
    booked: datetime | None = campaign.bookings.aggregate(last=Max("updated_at"))["last"]
    return max(campaign.updated_at, booked) if booked else campaign.updated_at


def try_targeting(campaign: Campaign) -> dict[str, Any]:
    """Tells how its test visits come out, or what is wrong with an expression that no longer
    compiles: the page is needed to repair it."""
    try:
        outcomes = run_test_visits(campaign=campaign)
    except ExpressionError as error:
        return {"broken": str(error)}
    failing = [outcome for outcome in outcomes if not outcome.is_as_expected]
    return {"outcomes": outcomes, "failing_count": len(failing)}


@require_safe
def show_api(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows what ad servers and scripts ask, about this campaign, to be pasted."""
    campaign = find_campaign(request, pk)
    booking = campaign.bookings.active().select_related("publisher").order_by("pk").first()
    asked = {
        "publisher": booking.publisher.seller_id if booking else "PUBLISHER",
        "visit": json.loads(write_example()),
        "campaigns": [campaign.pk],
    }
    context = {
        "campaign": campaign,
        "tab": "api",
        "is_booked": booking is not None,
        "curls": [
            ("Is it eligible for a visit?", write_curl(f"{settings.SERVING_URL}{PATH}", asked)),
            ("Why, or why not?", write_curl(request.build_absolute_uri(EXPLAIN_PATH), asked)),
        ],
    }
    return render(request, "market/campaign_api.html", context)


def write_curl(address: str, body: dict[str, Any]) -> str:
    lines = [
        f"curl -s {shlex.quote(address)}",
        "-H 'Authorization: Api-Key YOUR-KEY'",
        "-H 'Content-Type: application/json'",
        f"-d {shlex.quote(json.dumps(body, indent=2))}",
    ]
    return " \\\n  ".join(lines)

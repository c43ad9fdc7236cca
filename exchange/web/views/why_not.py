"""Shows why a campaign does not serve at a publisher, or serves so little: now, or on a counted
night; and the question to whoever owns the edge that is in the way.

Advertisers ask about their campaigns, publishers about what is booked with them: they read the
verdict on the campaign, and not what it asks for.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from exchange.accounts.models import User
from exchange.accounts.ownership import may_change, require_change
from exchange.findings.models import OwnerQuestion
from exchange.findings.questions import ask_owner, questions_of, settle_question
from exchange.findings.status import with_booking_status, with_campaign_status
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign, Edge
from exchange.market.visibility import explainable, visible
from exchange.reading.losses import Losses
from exchange.reading.verdicts import judge
from exchange.reading.why_not import WhyNot, find_worst_publisher
from exchange.reports.sample_visits import show_visits
from exchange.web.views.campaign_tabs import find_campaign, is_id
from exchange.web.views.listing import person_of
from exchange.web.why.rows import (
    list_blockers,
    list_night_blockers,
    list_night_steps,
    list_steps,
    title_blocker,
)
from exchange.web.why.time_lines import draw_time_line
from exchange.web.why.trying import read_tried

MOST_OFFERED = 200  # publishers to choose from
NIGHTS_OFFERED = 45


@require_safe
def show_why(request: HttpRequest, pk: int) -> HttpResponse:
    person = person_of(request)
    rows = with_campaign_status(Campaign.objects.with_advertiser())
    campaign = get_object_or_404(explainable(rows, person), pk=pk)
    bookings = list(list_bookings(campaign, person))
    booking = choose_booking(bookings, campaign, request.GET.get("publisher", ""))
    context: dict[str, Any] = {"campaign": campaign, "tab": "why", "bookings": bookings}
    if booking is not None:
        why = WhyNot(booking, person, read_day(request))
        context |= {"why": why, "booking": booking, **describe(request, why)}
    is_fragment = request.htmx and "visits" in request.GET  # type: ignore[attr-defined]
    return render(request, "why/_visits.html" if is_fragment else "why/why.html", context)


def list_bookings(campaign: Campaign, person: User) -> QuerySet[Booking]:
    seen = visible(with_booking_status(campaign.bookings.kept().with_parties()), person)
    return seen.order_by("publisher__name")[:MOST_OFFERED]


def choose_booking(bookings: list[Booking], campaign: Campaign, text: str) -> Booking | None:
    """Chooses the booking that the address names; else where the campaign lost most, or the
    first."""
    by_publisher = {booking.publisher_id: booking for booking in bookings}
    if text:
        found = by_publisher.get(int(text)) if is_id(text) else None
        if found is None:
            raise Http404("The campaign is not booked with this publisher.")
        return found
    worst = find_worst_publisher(campaign) if bookings else None
    return by_publisher.get(worst or 0) or (bookings[0] if bookings else None)


def read_day(request: HttpRequest) -> date | None:
    text = request.GET.get("day", "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise Http404("There is no such day.") from error


def describe(request: HttpRequest, why: WhyNot) -> dict[str, Any]:
    context: dict[str, Any] = {
        "verdict": judge(why),
        "nights": why.nights[:NIGHTS_OFFERED],
        "line": why.time_line,
        "drawing": draw_time_line(why.time_line),
        "may_ask": may_change(why.person, why.booking),
        "at_publisher": urlencode({"publisher": why.booking.publisher_id}),
    }
    if why.day is not None:
        return context | describe_night(why)
    if why.losses is None or why.losses.is_hidden:
        return context
    return context | describe_now(request, why, why.losses)


def describe_night(why: WhyNot) -> dict[str, Any]:
    night = why.night
    if night is None or not night.steps:
        return {}
    return {
        "steps": list(list_night_steps(night)),
        "eligible": night.eligible,
        "blockers": list(list_night_blockers(night, why)),
    }


def describe_now(request: HttpRequest, why: WhyNot, losses: Losses) -> dict[str, Any]:
    questions = questions_of(why.booking)
    first = losses.blockers[0].lost if losses.blockers else 0.0
    most = max([first, *(one.lost for one in losses.next_blockers[:1])])
    return {
        "sample": losses.sample,
        "steps": list(list_steps(losses)),
        "eligible": losses.eligible,
        "cause": why.cause,
        "blockers": list(list_blockers(losses.blockers, losses, why.person, questions, most)),
        "next_blockers": list(
            list_blockers(
                losses.next_blockers,
                losses,
                why.person,
                questions,
                most,
                along=losses.blockers[0].condition.key if losses.blockers else "",
            )
        ),
        "pair": tell_pair(losses),
        "tried": read_tried(request, losses),
        **describe_visits(request, losses),
    }


def tell_pair(losses: Losses) -> tuple[str, str, float] | None:
    """Tells the two conditions that together keep most out, where none does so alone."""
    pair = None if losses.blockers else losses.pair
    if pair is None:
        return None
    return title_blocker(pair.first), title_blocker(pair.second), pair.lost


def describe_visits(request: HttpRequest, losses: Losses) -> dict[str, Any]:
    """Shows some visits that only the condition in the address keeps out, with what they say of
    what the campaign and readable rules ask for."""
    key = request.GET.get("visits", "")
    blocker = next((one for one in losses.blockers if one.condition.key == key), None)
    if blocker is None:
        return {}
    names = losses.list_attributes(blocker.condition)
    if not names:
        return {}
    return {
        "visits_key": key,
        "visits_title": title_blocker(blocker.condition),
        "visits_names": names,
        "visits": show_visits(losses.sample, blocker.places, names, load_catalog()),
        "visits_of": len(blocker.places),
    }


@require_POST
def ask(request: HttpRequest, pk: int) -> HttpResponse:
    person, campaign = person_of(request), find_campaign(request, pk)
    require_change(person, campaign)
    bookings = list(list_bookings(campaign, person))
    booking = choose_booking(bookings, campaign, request.POST.get("publisher", ""))
    if booking is None or not is_id(request.POST.get("edge", "")):
        messages.warning(request, "Choose what to ask about.")
        return redirect("campaign-why", pk)
    why = WhyNot(booking, person)
    edge = next((one for one in why.edges if one.pk == int(request.POST["edge"])), None)
    if edge is None:
        raise Http404("There is no such edge on the way of this booking.")
    send_question(request, why, edge, person)
    page = reverse("campaign-why", args=[pk])
    return redirect(f"{page}?{urlencode({'publisher': booking.publisher_id})}")


def send_question(request: HttpRequest, why: WhyNot, edge: Edge, person: User) -> None:
    losses = why.losses
    without = losses.count_without([f"e{edge.pk}"]) if losses else None
    visits = None if without is None or losses is None else round(without - losses.eligible)
    try:
        ask_owner(
            booking=why.booking,
            edge=edge,
            on_way=why.way.edge_ids,
            by=person,
            text=request.POST.get("text", ""),
            visits=visits,
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{edge.seller.name} finds your question on its page Today.")


@require_POST
def settle(request: HttpRequest, pk: int) -> HttpResponse:
    person = person_of(request)
    edges = visible(Edge.objects.order_by(), person).values("pk")
    rows = OwnerQuestion.objects.select_related("edge__seller", "edge__buyer")
    question = get_object_or_404(rows.filter(edge__in=edges), pk=pk)
    settle_question(question=question, by=person)
    messages.success(request, f"The question about {question.edge} is settled.")
    return redirect("dashboard")

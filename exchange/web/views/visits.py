"""Tries a visit: what is eligible for it, by the service that answers ad servers, and why.

People of a publisher see all that is eligible there, as their ad server does; everyone else sees
their own campaigns, and the others are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from exchange.accounts.models import User
from exchange.accounts.ownership import owns
from exchange.market.given_visits import GivenVisit
from exchange.market.models import Campaign, Party
from exchange.market.visibility import sight_price, visible
from exchange.reading.explaining import Explanation, explain_campaign
from exchange.serving.answers import Options, Paths, WarningNote
from exchange.serving.eligibility import service_for
from exchange.serving.problems import ProblemError
from exchange.snapshots.waiting import find_waiting
from exchange.web.forms import VisitForm
from exchange.web.templatetags.treeline import describe_seconds
from exchange.web.views.listing import person_of
from exchange.web.visit_texts import write_example

SHOWN = 100
WARNINGS = {
    "unknown_attribute": "no such attribute in the catalogue, so it is ignored",
    "malformed_attribute": "the value has the wrong type, so it counts as missing",
    "other_publisher": "the publisher chosen above counts, so it is ignored",
    "deprecated_attribute": "OpenRTB 2.6 discourages it; it is read all the same",
    "floor_not_in_usd": "the floor is not in US dollars, so it counts as missing",
    "recovered_state": "an older state is answered from, without what was stopped since, until the "
    "next build",
}


@require_http_methods(["GET", "HEAD", "POST"])
def try_visit(request: HttpRequest) -> HttpResponse:
    """Answers an htmx request with the answer alone, everyone else with the whole page and what
    they typed."""
    person = person_of(request)
    is_asked = request.method == "POST"
    form = (
        VisitForm(read_post(request), person=person)
        if is_asked
        else VisitForm(initial=read_initial(request, person), person=person)
    )
    context: dict[str, Any] = {"form": form, "example": write_example()}
    if is_asked and form.is_valid():
        chosen = form.cleaned_data
        given: GivenVisit = chosen["visit"][chosen["imp"] - 1]
        context |= {"given": given, "imps": chosen["visit"], "imp": chosen["imp"]}
        context |= ask(chosen["publisher"], given, person)
        context["waiting"] = find_waiting(chosen["campaign"])
        if chosen["campaign"]:
            context |= explain(chosen["campaign"], chosen["publisher"], given, person)
    template = "visits/_answer.html" if request.headers.get("HX-Request") else "visits/try.html"
    return render(request, template, context, status=422 if is_asked and form.errors else 200)


def read_post(request: HttpRequest) -> dict[str, str]:
    """Reads the form. `why` is the button beside an eligible campaign, `imp_chosen` that of an
    impression; they win over the picker and over the impression that was shown."""
    names = ("publisher", "visit", "campaign", "imp")
    given = {name: request.POST.get(name, "") for name in names}
    given["imp"] = request.POST.get("imp_chosen") or given["imp"]
    if why := request.POST.get("why"):
        given["campaign"] = f"#{why}"
    return given


def read_initial(request: HttpRequest, person: User) -> dict[str, Any]:
    """Reads what the form begins with: `?campaign=12` comes from a campaign's page."""
    number = request.GET.get("campaign", "")
    if not number.isdecimal() or len(number) > 18:
        return {}
    campaigns = visible(Campaign.objects.with_advertiser(), person)
    campaign = campaigns.filter(pk=int(number)).first()
    booking = campaign.bookings.active().first() if campaign else None
    return {"campaign": campaign, "publisher": booking.publisher_id if booking else None}


def ask(publisher: Party, given: GivenVisit, person: User) -> dict[str, Any]:
    service = service_for(settings.SNAPSHOT_DIR)
    # A person who has just seen a build end expects its snapshot, not the one of a moment ago.
    service.refresh()
    notes = given.notes_at(publisher.seller_id)
    sees_all = owns(person, publisher)
    options = Options(limit=SHOWN if sees_all else None)
    try:
        answer = service.answer(publisher.seller_id, given.flat, options, given.at)
    except ProblemError as problem:
        return {"refusal": problem.detail, "warnings": describe_warnings(notes)}
    document = answer.document()
    if not sees_all:
        leave_out_others(document, person)
    name_paths(document["eligible"], person)
    noted = [(warning["code"], warning["attribute"]) for warning in document["warnings"]]
    return {
        "answer": document,
        "sees_all": sees_all,
        "own_campaigns": find_own({item["campaign_id"] for item in document["eligible"]}, person),
        "warnings": describe_warnings(dict.fromkeys([*noted, *notes])),
        "snapshot_age": describe_seconds(document["snapshot_age_seconds"]),
    }


def leave_out_others(document: dict[str, Any], person: User) -> None:
    own = find_own({item["campaign_id"] for item in document["eligible"]}, person)
    eligible = [item for item in document["eligible"] if item["campaign_id"] in own]
    document["count"] = len(eligible)
    document["eligible"] = eligible[:SHOWN]


def name_paths(items: list[dict[str, Any]], person: User) -> None:
    """Puts names of parties on paths, and drops a net CPM that would tell another's fee."""
    wanted = {seller_id for item in items for seller_id in item["path"]}
    parties = {party.seller_id: party for party in Party.objects.filter(seller_id__in=wanted)}
    for item in items:
        path = [parties[seller_id] for seller_id in item["path"] if seller_id in parties]
        is_known = len(path) == len(item["path"])  # it is not if a seller id was changed since
        if is_known:
            item["path"] = [party.name for party in path]
        if not is_known or not sight_price(person, path).reads_net:
            item["net_cpm"] = None


def find_own(campaign_ids: set[int], person: User) -> set[int]:
    """Finds those that have a page for this person."""
    campaigns = visible(Campaign.objects.order_by(), person).filter(pk__in=campaign_ids)
    return set(campaigns.values_list("pk", flat=True))


def explain(
    campaign: Campaign, publisher: Party, given: GivenVisit, person: User
) -> dict[str, Any]:
    """Explains a campaign; `is_served` is what ad servers are answered; None: nothing yet."""
    explanation = explain_campaign(
        campaign=campaign, publisher=publisher, visit=given.flat, viewer=person, at=given.at
    )
    return {"explanation": explanation, "is_served": find_served(explanation, given)}


def find_served(explanation: Explanation, given: GivenVisit) -> bool | None:
    service = service_for(settings.SNAPSHOT_DIR)
    if service.live is None:
        return None
    only_this = Options(campaigns=[explanation.campaign.pk], paths=Paths.NONE)
    seller_id = explanation.publisher.seller_id
    return service.answer(seller_id, given.flat, only_this, given.at).count > 0


def describe_warnings(notes: Iterable[WarningNote]) -> list[str]:
    return [
        f"{name or 'The live snapshot is damaged'}: {WARNINGS.get(code, code.replace('_', ' '))}."
        for code, name in notes
    ]

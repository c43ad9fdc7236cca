"""Shows the rehearsal beside a form: asked while it is filled in, and nothing is saved. Shows also
the page that asks for the tick where there is no form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from exchange.accounts.models import User
from exchange.market.models import Attribute, Audience, Edge, Revised, ValueList
from exchange.reading.drafted_market import Draft
from exchange.reading.rehearsal import Rehearsal, rehearse
from exchange.web.forms import AttributeForm, AudienceForm, EdgeForm, SavingForm, ValueListForm
from exchange.web.rehearsing import describe, is_decided, values_of
from exchange.web.views.listing import open_for_edit, person_of

Opener = Callable[[HttpRequest, User, int | None], SavingForm]


def open_edge(request: HttpRequest, person: User, pk: int | None) -> SavingForm:
    edge = open_for_edit(Edge.objects.with_parties(), person, pk, Edge())
    return EdgeForm(request.POST, person=person, instance=edge)


def open_audience(request: HttpRequest, person: User, pk: int | None) -> SavingForm:
    rows = Audience.objects.select_related("organisation")
    audience = open_for_edit(rows, person, pk, Audience(organisation=person.organisation))
    return AudienceForm(request.POST, person=person, instance=audience)


def open_value_list(request: HttpRequest, person: User, pk: int | None) -> SavingForm:
    rows = ValueList.objects.select_related("organisation")
    value_list = open_for_edit(rows, person, pk, ValueList(organisation=person.organisation))
    return ValueListForm(request.POST, request.FILES, person=person, instance=value_list)


def open_attribute(request: HttpRequest, person: User, pk: int | None) -> SavingForm:
    attribute = open_for_edit(Attribute.objects.all(), person, pk, Attribute())
    return AttributeForm(request.POST, person=person, instance=attribute)


OPENERS: dict[str, Opener] = {
    "edge": open_edge,
    "audience": open_audience,
    "value-list": open_value_list,
    "attribute": open_attribute,
}


@require_POST
def rehearse_form(request: HttpRequest, slug: str, pk: int | None = None) -> HttpResponse:
    person = person_of(request)
    form = OPENERS[slug](request, person, pk)
    context: dict[str, Any] = {"word": slug.replace("value-", ""), "is_fragment": True}
    try:
        if not form.is_valid():
            context["is_invalid"] = True
        elif not is_decided(form):
            context["is_as_saved"] = True
        else:
            draft = Draft(form.instance, values_of(form))
            context |= describe(rehearse(draft, person), person)
    except ValidationError:
        context["is_invalid"] = True
    return render(request, "rehearsal/_rehearsal.html", context)


def ask_for_tick(
    request: HttpRequest, rehearsal: Rehearsal, action: str, row: Revised, back: str
) -> HttpResponse:
    """Shows what the same request would do, to be sent once more with the tick."""
    context = {
        "action": action,
        "row": row,
        "back": back,
        "is_confirmed": "confirmed" in request.POST,
        **describe(rehearsal, person_of(request)),
    }
    return render(request, "rehearsal/waiting.html", context, status=422)

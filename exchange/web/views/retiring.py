"""Retires what people keep. Nothing is deleted, and no number is given again."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from exchange.market import kinds
from exchange.market.kinds import model_of, rows_of
from exchange.web.kinds import KINDS, address_of
from exchange.web.rehearsing import find_stops_of_retiring
from exchange.web.views.listing import open_for_edit, person_of
from exchange.web.views.rehearsals import ask_for_tick


@require_POST
def retire(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Retires a row; refuses, with what stands in the way, while something uses it. An edge that
    bookings stop with needs a tick."""
    kind, person = KINDS[slug], person_of(request)
    row = open_for_edit(rows_of(kind), person, pk, model_of(kind)())
    rehearsal = find_stops_of_retiring(request, row, person)
    if rehearsal is not None:
        return ask_for_tick(request, rehearsal, "Retire it", row, address_of(kind, row))
    try:
        kinds.retire(kind, row, by=person)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{row} is retired.")
    return redirect(address_of(kind, row))

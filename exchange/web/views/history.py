"""Shows the past of one thing: who changed what, when and from where, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from exchange.kinds import Kind
from exchange.market.catalog import load_catalog
from exchange.market.history import Revision, difference, revert, revisions_of
from exchange.market.kinds import model_of, rows_of
from exchange.market.models import Revised
from exchange.market.services import FailingVisitsError, Outcome
from exchange.market.visibility import sight
from exchange.web.kinds import KINDS, address_of
from exchange.web.rehearsing import TICK, find_stops_of_revert
from exchange.web.views.campaign_tabs import find_campaign
from exchange.web.views.listing import find_visible, open_for_edit, person_of
from exchange.web.views.rehearsals import ask_for_tick
from targeting import ExpressionError

PAGE_SIZE = 30


@dataclass(frozen=True, slots=True)
class Step:
    """A revision and what it changed; the first one has nothing before it."""

    revision: Revision
    changes: list[str]
    is_first: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """Says that going back to `number` would make test visits fail; it waits to be confirmed."""

    number: int
    failing: tuple[Outcome, ...]
    run_count: int


@require_safe
def show_history(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    row = find_visible(rows_of(KINDS[slug]), person_of(request), pk)
    return render_history(request, KINDS[slug], row)


def render_history(
    request: HttpRequest, kind: Kind, row: Revised, refusal: Refusal | None = None
) -> HttpResponse:
    person = person_of(request)
    seen = sight(person, row)
    steps = read_steps(row, read_before(request))
    shown = [
        Step(step.revision, seen.redact_lines(step.changes), step.is_first)
        for step in steps[:PAGE_SIZE]
    ]
    context = {
        "kind": kind,
        "row": row,
        "row_url": address_of(kind, row),
        "steps": shown,
        "seen": seen,
        "older": shown[-1].revision.number if len(steps) > PAGE_SIZE else None,
        "refusal": refusal,
        "ticked": request.POST.get(TICK, ""),
        "tab": "history",
        # A campaign's history is shown among the tabs of its page.
        "campaign": find_campaign(request, row.pk) if kind.name == "campaign" else None,
    }
    return render(request, "market/history.html", context, status=422 if refusal else 200)


def read_before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    if not text:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise Http404("This page of the history does not exist.")
    return int(text)


def read_steps(row: Revised, before: int | None) -> list[Step]:
    """Reads steps, newest first; one more than a page, to compare the last one with."""
    revisions = revisions_of(row, limit=PAGE_SIZE + 2, before=before)
    catalog = load_catalog()
    steps = [
        Step(after, difference(earlier, after, catalog=catalog), is_first=False)
        for after, earlier in pairwise(revisions)
    ]
    if revisions and revisions[-1].number == 1:
        steps.append(Step(revisions[-1], [], is_first=True))
    return steps


@require_POST
def revert_to(request: HttpRequest, slug: str, pk: int, number: int) -> HttpResponse:
    kind, person = KINDS[slug], person_of(request)
    row = open_for_edit(rows_of(kind), person, pk, model_of(kind)())
    rehearsal = find_stops_of_revert(request, row, number, person)
    if rehearsal is not None:
        history = reverse(f"{slug}-history", args=[pk])
        return ask_for_tick(request, rehearsal, f"Go back to version {number}", row, history)
    try:
        revert(obj=row, to=number, by=person, confirmed="confirmed" in request.POST)
    except FailingVisitsError as error:
        refusal = Refusal(number, error.outcomes, error.run_count)
        now = find_visible(rows_of(kind), person, pk)
        return render_history(request, kind, now, refusal)
    except ExpressionError as error:
        problem = error.errors[0].message
        messages.error(request, f"Version {number} can no longer be used: {problem}.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{row} is back as it was in version {number}.")
    return redirect(f"{slug}-history", pk)

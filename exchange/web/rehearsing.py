"""Rehearses a form: what saving it would do, while it is filled in and once more on the save.

A save that would stop more bookings than the person's organisation lets pass unasked needs a tick.
The tick says how many were seen to stop: if meanwhile it would be more, it is asked again. Going
back to an earlier version is a save, and so is retiring an edge.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from exchange.accounts.models import User
from exchange.market.history import find_revision
from exchange.market.models import Attribute, Audience, Edge, Revised, ValueList
from exchange.market.names import Values
from exchange.market.querysets import ID_DIGITS
from exchange.market.services.value_lists import clean_whole
from exchange.reading.drafted_market import Draft, as_it_was
from exchange.reading.rehearsal import Fate, Outcome, Rehearsal, rehearse
from exchange.web.forms import ChangeValuesForm, SavingForm, ValueListForm

TICK = "stops_confirmed"
FIRST_SHOWN = 12
MOST_SHOWN = 100
# Fields that decide about visits and paths: a change of anything else needs no rehearsal.
DECIDING = {
    Edge: {"seller", "buyer", "fee_percent", "is_active", "expression"},
    Audience: {"expression"},
    ValueList: {"text", "upload"},
    Attribute: {"is_required"},
}
WORDS = {
    Outcome.STOPS: "stop",
    Outcome.HALVES: "lose over half",
    Outcome.LOSES: "lose some",
    Outcome.GAINS: "gain",
    Outcome.STAYS: "stay as they are",
    Outcome.HAD_NONE: "have no visits anyway",
}


@dataclass(frozen=True, slots=True)
class Share:
    """One part of the bar over all bookings, in percent of its width."""

    outcome: str
    words: str
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Row:
    """A booking's two figures as places on a line, in percent."""

    fate: Fate
    was: float
    will: float

    @property
    def left(self) -> float:
        return min(self.was, self.will)

    @property
    def right(self) -> float:
        return max(self.was, self.will)


def is_rehearsed(request: HttpRequest, form: SavingForm) -> bool:
    """Tells whether the save may go on; if not, the form says why and shows the rehearsal. What
    cannot be read is the save's to complain about."""
    if not form.is_valid() or not is_decided(form):
        return True
    try:
        draft = Draft(form.instance, values_of(form))
    except ValidationError:
        return True
    return is_granted(request, form, draft, form.person)


def is_change_rehearsed(
    request: HttpRequest, form: ChangeValuesForm, value_list: ValueList, person: User
) -> bool:
    """Tells whether some values may be added to a list or taken from it, like `is_rehearsed`."""
    values = form.values_after(value_list)
    return values is None or is_granted(request, form, Draft(value_list, values), person)


def values_of(form: SavingForm) -> Values | None:
    """Gives the values of a list's form, cleaned as the save does; None where they stay. Raises
    `ValidationError` for what cannot be read."""
    if not isinstance(form, ValueListForm):
        return None
    given = form.given()
    return None if given is None else clean_whole(form.instance, given.values).values


def is_granted(
    request: HttpRequest, form: SavingForm | ChangeValuesForm, draft: Draft, person: User
) -> bool:
    form.rehearsal = find_stops(request, draft, person)
    if form.rehearsal is None:
        return True
    bookings = say_stopped(form.rehearsal)
    form.add_error(None, f"Nothing is saved yet: it would stop {bookings}. Tick the box below.")
    return False


def find_stops(request: HttpRequest, draft: Draft, person: User) -> Rehearsal | None:
    """Rehearses a save that waits for a tick; gives None if it may go on."""
    rehearsal = rehearse(draft, person)
    unasked = max(allowed(person), ticked(request))
    return rehearsal if len(rehearsal.stopped) > unasked else None


def find_stops_of_revert(
    request: HttpRequest, row: Revised, number: int, person: User
) -> Rehearsal | None:
    """Rehearses going back to a version. A missing one is the revert's to complain about."""
    if not isinstance(row, Edge | Audience | ValueList | Attribute):
        return None
    try:
        draft = as_it_was(row, find_revision(row, number))
    except ValidationError:
        return None
    draft.row.retired_at = row.retired_at  # a revert leaves that alone
    return find_stops(request, draft, person)


def find_stops_of_retiring(request: HttpRequest, row: Revised, person: User) -> Rehearsal | None:
    """Rehearses the retiring of an edge. Nothing else that is used can be retired."""
    if not isinstance(row, Edge):
        return None
    former = copy.copy(row)
    former.retired_at = timezone.now()
    return find_stops(request, Draft(former), person)


def say_stopped(rehearsal: Rehearsal) -> str:
    stopped = len(rehearsal.stopped)
    least = "at least " * rehearsal.concerned.has_more
    return f"{least}{stopped:,} booking{'s' * (stopped != 1)}"


def is_decided(form: SavingForm) -> bool:
    return not DECIDING[type(form.instance)].isdisjoint(form.changed_data)


def allowed(person: User) -> int:
    """Gives how many bookings a save of this person may stop unasked."""
    return person.organisation.unasked_stops if person.organisation else 0


def ticked(request: HttpRequest) -> int:
    text = request.POST.get(TICK, "")
    return int(text) if text.isdecimal() and len(text) <= ID_DIGITS else 0


def describe(rehearsal: Rehearsal, person: User) -> dict[str, Any]:
    """Gives what the fragment shows."""
    stopped = len(rehearsal.stopped)
    rows = draw_rows(rehearsal)
    return {
        "rehearsal": rehearsal,
        "stopped": stopped,
        "stops": say_stopped(rehearsal) if stopped else "",
        "needs_tick": stopped > allowed(person),
        "shares": draw_shares(rehearsal),
        "rows": rows[:FIRST_SHOWN],
        "more_rows": rows[FIRST_SHOWN:MOST_SHOWN],
        "hidden_rows": max(0, len(rows) - MOST_SHOWN),
    }


def draw_shares(rehearsal: Rehearsal) -> list[Share]:
    total, start, found = max(len(rehearsal.fates), 1), 0.0, []
    for outcome in Outcome:
        count = rehearsal.counts[outcome]
        width = 100 * count / total
        found.append(Share(outcome, WORDS[outcome], count, round(start, 2), round(width, 2)))
        start += width
    return [share for share in found if share.count]


def draw_rows(rehearsal: Rehearsal) -> list[Row]:
    """Draws the largest of each outcome first, so that the first rows show more than one."""
    fates = [fate for fate in rehearsal.fates if fate.outcome is not Outcome.HAD_NONE]
    most = max((max(fate.before or 0, fate.after or 0) for fate in fates), default=0) or 1
    groups = [list(group) for _, group in groupby(fates, key=lambda fate: fate.outcome)]
    first = [fate for group in groups for fate in group[: share_of(len(groups))]]
    rest = [fate for fate in fates if fate not in first]
    return [
        Row(fate, place(fate.before, most), place(fate.after, most)) for fate in [*first, *rest]
    ]


def share_of(groups: int) -> int:
    return max(2, FIRST_SHOWN // max(groups, 1))


def place(visits: float | None, most: float) -> float:
    """Leaves room for the dots at both ends."""
    return round(1 + 98 * (visits or 0) / most, 2)

"""Reads a booking's eligible visits of the last 45 days by the nightly count, with every change of
what it depends on: its campaign, itself, the edges that it may take, and their audiences and lists.

Changes are told as far as the person may read them. A change of an audience or list that is used
only by a rule or a campaign which the person may not read is told as a change of that: its name
would tell about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

from django.apps import apps

from exchange.accounts.models import User
from exchange.market.catalog import load_catalog
from exchange.market.history import Revision, difference, read_revision
from exchange.market.models import Audience, Booking, Campaign, Edge, Revised, ValueList
from exchange.market.visibility import REDACTED, sight
from exchange.reports.models import DailyVisits, EligibleVisits

DAYS = 45
MOST_MARKS = 30
AROUND = 7  # days whose mean is told before and after a change

Asking = Campaign | Edge  # what has an expression of its own
Thing = Asking | Booking | Audience | ValueList


@dataclass(frozen=True, slots=True)
class Day:
    """`eligible` is None where the day was not counted."""

    day: date
    visits: int | None
    eligible: int | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A change of `row`, which is as it is now. Where the person may not know what it was, only
    what it is `of` is to be named. `before` and `after` are means of eligible visits a day."""

    number: int
    kind: str
    row: Thing
    of: Asking | None
    revision: Revision
    earlier: Revision
    words: list[str]
    before: float | None = None
    after: float | None = None

    @property
    def at(self) -> datetime:
        return self.revision.at

    @property
    def named(self) -> Thing:
        return self.of or self.row


@dataclass(frozen=True, slots=True)
class TimeLine:
    days: list[Day]
    marks: list[Mark]
    has_more: bool

    @property
    def is_counted(self) -> bool:
        return any(day.eligible is not None for day in self.days)


def read_time_line(booking: Booking, edges: Sequence[Edge], last: date, person: User) -> TimeLine:
    """Reads the days of a booking and what changed on them; `edges` are those that it may take."""
    days = read_days(booking, last)
    marks = read_marks(booking, edges, days[0].day, person)
    shown = marks[-MOST_MARKS:]
    told = [tell_means(mark, number, days) for number, mark in enumerate(shown, 1)]
    return TimeLine(days, told, len(marks) > len(shown))


def read_days(booking: Booking, last: date) -> list[Day]:
    days = [last - timedelta(days=back) for back in reversed(range(DAYS))]
    span = {"day__range": (days[0], last), "publisher": booking.publisher_id}
    visits = dict(DailyVisits.objects.filter(**span).values_list("day", "visits"))
    counted = EligibleVisits.objects.filter(**span, campaign=booking.campaign_id)
    eligible = dict(counted.values_list("day", "eligible_visits"))
    return [
        Day(day, visits.get(day), eligible.get(day, 0) if day in visits else None) for day in days
    ]


def read_marks(booking: Booking, edges: Sequence[Edge], first: date, person: User) -> list[Mark]:
    """Reads what changed, the oldest first."""
    start = datetime.combine(first, time.min, UTC)
    catalog = load_catalog()
    found: list[Mark] = []
    for row, of in list_things(booking, edges, person):
        seen = sight(person, of or row)
        for before, after in read_pairs(row, start):
            told = difference(before, after, catalog=catalog)
            words = [REDACTED] if of else seen.redact_lines(told)
            kind = type(of or row).__name__.lower()
            found.append(Mark(0, kind, row, of, after, before, words))
    return sorted(found, key=lambda mark: mark.at)


def list_things(
    booking: Booking, edges: Sequence[Edge], person: User
) -> Iterable[tuple[Thing, Asking | None]]:
    """Lists what the booking depends on; with what to name instead where the person may not know
    it."""
    asking: list[Asking] = [booking.campaign, *edges]
    readable = [one for one in asking if sight(person, one).reads_conditions]
    yield booking.campaign, None
    yield booking, None
    yield from ((edge, None) for edge in edges)
    named = list(find_used({word for one in readable for word in one.uses}))
    yield from ((row, None) for row in named)
    known = {(type(row), row.pk) for row in named}
    for one in asking:
        for row in find_used(set(one.uses)) if one not in readable else ():
            if (type(row), row.pk) not in known:
                known.add((type(row), row.pk))
                yield row, one


def find_used(words: set[str]) -> Iterable[Audience | ValueList]:
    """Finds audiences and lists that these words name, and what those audiences use, in rounds."""
    seen: set[str] = set()
    while fresh := {word for word in words - seen if is_plain(word)}:
        seen |= fresh
        audiences = list(Audience.objects.filter(pk__in=ids_in(fresh, "audience")))
        yield from audiences
        yield from ValueList.objects.filter(pk__in=ids_in(fresh, "list"))
        words = {word for audience in audiences for word in audience.uses}


def is_plain(word: str) -> bool:
    """Lists are also named with how they are used: `list:5:geo.city:in`."""
    kind, _, number = word.partition(":")
    return kind in ("audience", "list") and number.isdecimal()


def ids_in(words: Iterable[str], kind: str) -> list[int]:
    return [int(word.removeprefix(f"{kind}:")) for word in words if word.startswith(f"{kind}:")]


def read_pairs(row: Revised, start: datetime) -> Iterable[tuple[Revision, Revision]]:
    """Reads each change since then, with the version that it replaced."""
    model = apps.get_model("market", f"{type(row).__name__}Event")
    events = model._default_manager.filter(pgh_obj_id=row.pk).order_by("-version", "-pgh_id")
    recent = list(events.filter(pgh_created_at__gte=start)[:MOST_MARKS])
    if not recent:
        return []
    older = events.filter(version__lt=recent[-1].version).first()
    found = [*([older] if older else []), *reversed(recent)]
    people = User.objects.in_bulk({event.updated_by_id for event in found if event.updated_by_id})
    revisions = [read_revision(event, people) for event in found]
    return pairwise(revisions)


def tell_means(mark: Mark, number: int, days: Sequence[Day]) -> Mark:
    at = mark.at.date()
    before = [day for day in days if at - timedelta(days=AROUND) <= day.day < at]
    after = [day for day in days if at < day.day <= at + timedelta(days=AROUND)]
    return replace(mark, number=number, before=mean(before), after=mean(after))


def mean(days: Sequence[Day]) -> float | None:
    counted = [day.eligible for day in days if day.eligible is not None]
    return sum(counted) / len(counted) if counted else None

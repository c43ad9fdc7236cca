"""Finds what blocks bookings, one row for each cause: how many it hits, what they had before, and
the last change of the edges that it is about. Bounded: of all causes, the largest are told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from django.apps import apps
from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import RowNumber

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.findings.models import BLOCKING, BookingFinding
from exchange.findings.wording import Told, tell
from exchange.market.catalog import load_catalog
from exchange.market.history import Revision, difference, read_revision
from exchange.market.models import Booking, Edge
from exchange.market.visibility import sight, visible
from exchange.reports.models import EligibleVisits
from exchange.reports.queries import last_reported_days

CAUSES_TOLD = 10
BOOKINGS_SUMMED = 100  # of each cause; more are told as at least
DAYS = 7


@dataclass(frozen=True, slots=True)
class Change:
    """The last change of an edge, as far as the person may read it; `before` is the version that it
    replaced."""

    edge: Edge
    revision: Revision
    before: int
    words: list[str]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A cause that blocks `size` bookings, and is about `edges`. `visits` are the eligible ones of
    their best day among the last counted ones; None where they had none, or nothing was counted."""

    told: Told
    edges: tuple[Edge, ...]
    size: int
    visits: int | None
    is_at_least: bool
    change: Change | None

    @property
    def finding(self) -> BookingFinding:
        return self.told.finding


def seen_findings(person: User) -> QuerySet[BookingFinding]:
    """Finds findings of bookings that the person sees."""
    findings = BookingFinding.objects.order_by()
    if is_exchange_operator(person):
        return findings
    bookings = visible(Booking.objects.kept(), person).order_by()
    return findings.filter(booking__in=bookings.values("pk"))


def find_troubles(person: User, kinds: Sequence[str] = BLOCKING) -> list[Trouble]:
    """Finds causes, those that cost most visits first, then those that hit most bookings."""
    findings = seen_findings(person).filter(kind__in=kinds)
    causes = findings.values("cause").annotate(size=Count("pk"), newest=Max("pk"))
    largest = list(causes.order_by("-size", "cause")[:CAUSES_TOLD])
    sizes = {row["newest"]: row["size"] for row in largest}
    joined = BookingFinding.objects.select_related(
        "booking__campaign__advertiser", "booking__publisher"
    )
    told = tell(list(joined.filter(pk__in=sizes)), person)
    visits = sum_visits(findings, [row["cause"] for row in largest])
    edges = Edge.objects.with_parties().in_bulk({pk for one in told for pk in one.finding.edge_ids})
    changes = read_changes(edges, person)
    troubles = [
        Trouble(
            told=one,
            edges=tuple(edges[pk] for pk in one.finding.edge_ids if pk in edges),
            size=sizes[one.finding.pk],
            visits=visits.get(one.finding.cause),
            is_at_least=sizes[one.finding.pk] > BOOKINGS_SUMMED,
            change=newest_of(one.finding.edge_ids, changes),
        )
        for one in told
    ]
    return sorted(troubles, key=lambda one: (-(one.visits or 0), -one.size, one.finding.cause))


def sum_visits(findings: QuerySet[BookingFinding], causes: Sequence[str]) -> dict[str, int]:
    """Sums, by cause, the eligible visits of its newest bookings on their best counted day."""
    days = last_reported_days()
    if days is None or not causes:
        return {}
    place = Window(RowNumber(), partition_by=["cause"], order_by=F("pk").desc())
    some = (
        findings.filter(cause__in=causes).annotate(place=place).filter(place__lte=BOOKINGS_SUMMED)
    )
    pairs: dict[tuple[int, int], str] = {
        (campaign, publisher): cause
        for cause, campaign, publisher in some.values_list(
            "cause", "booking__campaign_id", "booking__publisher_id"
        )
    }
    by_day: dict[tuple[str, date], int] = defaultdict(int)
    for campaign, publisher, day, visits in read_eligible(pairs, days[1]):
        if (campaign, publisher) in pairs:
            by_day[pairs[campaign, publisher], day] += visits
    best: dict[str, int] = {}
    for (cause, _), visits in by_day.items():
        best[cause] = max(best.get(cause, 0), visits)
    return best


def read_eligible(
    pairs: Iterable[tuple[int, int]], last: date
) -> Iterable[tuple[int, int, date, int]]:
    rows = EligibleVisits.objects.order_by().filter(
        campaign__in={campaign for campaign, _ in pairs},
        day__range=(last - timedelta(days=DAYS - 1), last),
    )
    found: Iterable[tuple[int, int, date, int]] = rows.values_list(
        "campaign_id", "publisher_id", "day", "eligible_visits"
    )
    return found


def newest_of(edge_ids: Iterable[int], changes: Mapping[int, Change]) -> Change | None:
    found = [changes[pk] for pk in edge_ids if pk in changes]
    return max(found, key=lambda change: change.revision.at, default=None)


def read_changes(edges: Mapping[int, Edge], person: User) -> dict[int, Change]:
    """Reads the last change of each edge that was changed at all; two queries and the catalogue."""
    place = Window(
        RowNumber(), partition_by=["pgh_obj_id"], order_by=[F("version").desc(), F("pgh_id").desc()]
    )
    events = apps.get_model("market", "EdgeEvent")._default_manager
    newest = events.filter(pgh_obj_id__in=edges).annotate(place=place).filter(place__lte=2)
    found = list(newest.order_by("pgh_obj_id", "place"))
    people = User.objects.in_bulk({event.updated_by_id for event in found if event.updated_by_id})
    catalog = load_catalog() if found else None
    changes: dict[int, Change] = {}
    for pk, own in groupby(found, key=lambda event: event.pgh_obj_id):
        revisions = [read_revision(event, people) for event in own]
        if len(revisions) == 2:
            after, before = revisions
            words = difference(before, after, catalog=catalog)
            told = sight(person, edges[pk]).redact_lines(words)
            changes[pk] = Change(edges[pk], after, before.number, told)
    return changes

"""Finds who would notice a change: what uses an attribute, an audience, a list, an edge.

Found through the kept `uses`, never by parsing texts; counts stop at a limit. What would break
something that is in use is refused here, for the services.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import F, Q, QuerySet

from exchange.market.catalog import as_engine_attribute, load_catalog
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    TestVisit,
    UsedValue,
    ValueList,
)
from exchange.market.names import Values, load_values
from exchange.market.saved_graph import Passing, SavedGraph, load_graph
from exchange.market.uses import refresh_uses
from matcher_ext.language import check_text
from targeting import Attribute as EngineAttribute
from targeting import Catalog, ExpressionError, parse

COUNT_LIMIT = 10_000
NAMES_SHOWN = 5
CONFLICTS_SHOWN = 5
# A million bookings may pass an edge in the middle of the exchange: nobody waits for that count.
EDGE_COUNT_LIMIT = 1_000
PAIRS_ASKED = 4_000
SELECT_BOOKED = """
    SELECT publisher_id, advertiser_id
    FROM unnest(%s::bigint[], %s::bigint[], %s::int[], %s::int[])
            AS pair (publisher_id, advertiser_id, fewest, most)
        JOIN market_booking USING (publisher_id, advertiser_id)
    WHERE is_active AND retired_at IS NULL AND policy <> 'pinned'
        AND hop_limit BETWEEN fewest AND most
    LIMIT %s
"""
# Where very many campaigns use an audience or list, only the oldest ones' test visits are run.
MAX_REHEARSED = 500


@dataclass(frozen=True, slots=True)
class Impact:
    """Whom a change would hit. Counts stop at `COUNT_LIMIT`; `first` names some of them."""

    campaign_count: int = 0
    edge_count: int = 0
    audience_count: int = 0
    booking_count: int = 0
    test_visit_count: int = 0
    first: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (
            self.campaign_count or self.edge_count or self.audience_count or self.booking_count
        )

    @property
    def rehearsal(self) -> str:
        """Says how many test visits a save runs; empty if there are none."""
        if self.test_visit_count > MAX_REHEARSED:
            return f"{MAX_REHEARSED} of {say_count(self.test_visit_count, 'test visit')}"
        return say_count(self.test_visit_count, "test visit") if self.test_visit_count else ""

    def __str__(self) -> str:
        counts = {
            "campaign": self.campaign_count,
            "edge": self.edge_count,
            "audience": self.audience_count,
            "booking": self.booking_count,
        }
        return ", ".join(say_count(n, word) for word, n in counts.items() if n) or "nothing"


class InUseError(ValidationError):
    """Refuses a change that would break what uses the thing; `impact` says what that is."""

    def __init__(self, message: str, impact: Impact) -> None:
        super().__init__(message, code="in_use")
        self.impact = impact


def say_count(count: int, word: str) -> str:
    if count > COUNT_LIMIT:
        return f"more than {COUNT_LIMIT:,} {word}s"
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def impact_of_attribute(attribute: Attribute) -> Impact:
    return impact_of({f"attribute:{attribute.name}"})


def impact_of_audience(audience: Audience) -> Impact:
    return impact_of({f"audience:{audience.pk}"})


def impact_of_value_list(value_list: ValueList) -> Impact:
    return impact_of({f"list:{value_list.pk}"})


def impact_of(words: set[str]) -> Impact:
    """Finds everything that uses one of the words, directly or through audiences."""
    reached = reach(words)
    audiences, edges, campaigns = (
        Found.among(users(model, reached)) for model in (Audience, Edge, Campaign)
    )
    return Impact(
        campaign_count=campaigns.count,
        edge_count=edges.count,
        audience_count=audiences.count,
        booking_count=count_up(Booking.objects.active().filter(campaigns.are("campaign"))),
        test_visit_count=count_up(TestVisit.objects.kept().filter(campaigns.are("campaign"))),
        first=tuple(str(row) for found in (campaigns, edges, audiences) for row in found.first())[
            :NAMES_SHOWN
        ],
    )


@dataclass(frozen=True, slots=True)
class Found:
    """Rows that use a word. Few are named by their ids: Postgres takes a word that nobody uses for
    one of average frequency, and would look through a whole table for the first that does."""

    rows: QuerySet[Any]
    ids: list[int]

    @classmethod
    def among(cls, rows: QuerySet[Any]) -> Found:
        found = rows.order_by().values_list("pk", flat=True)[: COUNT_LIMIT + 1]
        return cls(rows, sorted(found))

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def is_few(self) -> bool:
        return self.count <= COUNT_LIMIT

    def are(self, side: str) -> Q:
        if self.is_few:
            return Q(**{f"{side}__among": self.ids})
        return Q(**{f"{side}__in": self.rows.values("pk")})

    def first(self) -> QuerySet[Any]:
        rows = self.rows
        if self.is_few:
            rows = rows.model._default_manager.filter(pk__in=self.ids[:NAMES_SHOWN])
        joined = rows.select_related("seller", "buyer") if rows.model is Edge else rows
        return joined.order_by("pk")[:NAMES_SHOWN]


def reach(words: set[str]) -> set[str]:
    """Adds to the words those of all audiences that use them, directly or through others."""
    refresh_uses()
    return words | {f"audience:{pk}" for pk in reach_audiences(words)}


def reach_audiences(words: set[str]) -> set[int]:
    """Finds audiences that use a word, those that use them, and so on, in a few rounds."""
    reached: set[int] = set()
    wanted = set(words)
    while wanted:
        found = set(users(Audience, wanted).values_list("pk", flat=True)) - reached
        reached |= found
        wanted = {f"audience:{pk}" for pk in found}
    return reached


def users(model: type[Any], words: Iterable[str]) -> QuerySet[Any]:
    rows: QuerySet[Any] = model._default_manager.filter(retired_at=None)
    return rows.filter(uses__overlap=sorted(words))


def count_up(rows: QuerySet[Any]) -> int:
    return rows.order_by()[: COUNT_LIMIT + 1].count()


def refuse_if_used(impact: Impact, refusal: str) -> None:
    if not impact.is_empty:
        raise InUseError(f"{refusal}: {impact} use it, such as {impact.first[0]}.", impact)


def count_uses_of_organisation(party: Party) -> int:
    """Counts expressions of the party that use what its organisation alone has."""
    refresh_uses()
    owned = {"organisation_id": party.organisation_id, "organisation__is_operator": False}
    words = [
        f"audience:{pk}" for pk in Audience.objects.filter(**owned).values_list("pk", flat=True)
    ]
    words += [f"list:{pk}" for pk in ValueList.objects.filter(**owned).values_list("pk", flat=True)]
    sold = Edge.objects.kept().filter(seller=party, uses__overlap=words)
    return sold.count() + count_up(
        Campaign.objects.kept().filter(advertiser=party, uses__overlap=words)
    )


def check_list_users(value_list: ValueList, values: Values) -> None:
    """Refuses new values that do not fit a condition that uses the list: its attribute's domain,
    its operator's form. Checks each kind of condition once, however many expressions have it."""
    refresh_uses()
    catalog = load_catalog()
    for attribute, operator in conditions_with(value_list):
        misfit = attribute in catalog and find_misfit(catalog, attribute, operator, values)
        if misfit:
            raise InUseError(
                f"Conditions `{attribute} {operator} ${value_list.name}` are in use, and these"
                f" values do not fit: {misfit}.",
                impact_of_value_list(value_list),
            )


def find_misfit(catalog: Catalog, attribute: str, operator: str, values: Values) -> str:
    domain = catalog[attribute].domain
    strange = next((v for v in values if domain is not None and v not in domain), None)
    if strange is not None:
        return f"“{strange}” is not in the domain of {attribute}"
    try:
        parse(f"{attribute} {operator} $it", catalog, lists={"it": values})
    except ExpressionError as error:
        return error.errors[0].message
    return ""


def conditions_with(value_list: ValueList) -> set[tuple[str, str]]:
    start = f"list:{value_list.pk}:"
    found: set[tuple[str, str]] = set()
    for model in (Audience, Edge, Campaign):
        rows = users(model, [f"list:{value_list.pk}"])
        for uses in rows.values_list("uses", flat=True).distinct().iterator():
            words = (word.removeprefix(start) for word in uses if word.startswith(start))
            found |= {tuple(word.split(":", 1)) for word in words}
    return found


def check_domain_users(before: Attribute, after: Attribute) -> None:
    """Refuses to close or narrow a domain while expressions or lists name other values."""
    lost = not before.values or set(before.values) - set(after.values)
    if not after.values or not lost:
        return
    refresh_uses()
    allowed = [str(value) for value in after.values]
    if UsedValue.objects.filter(attribute=before).exclude(value__in=allowed).exists():
        refuse_conflicts(after, find_conflicts(after))
    refuse_conflicts(after, find_conflicting_lists(after))


def refuse_conflicts(attribute: Attribute, conflicts: list[str]) -> None:
    if conflicts:
        raise InUseError(
            f"{attribute.name} cannot be closed over values in use: {'; '.join(conflicts)}.",
            impact_of_attribute(attribute),
        )


def find_conflicts(attribute: Attribute) -> list[str]:
    """Finds the first expressions that would no longer compile, with what is wrong."""
    closed = Catalog([*others_than(attribute), as_engine_attribute(attribute)]).compiled
    found: list[str] = []
    for model in (Audience, Edge, Campaign):
        rows = users(model, [f"attribute:{attribute.name}"])
        if model is Edge:
            rows = rows.select_related("seller", "buyer")
        for row in rows.iterator():
            try:
                check_text(closed, row.expression)
            except ExpressionError as error:
                found.append(f"{row}: {error.errors[0].message}")
                if len(found) >= CONFLICTS_SHOWN:
                    return found
    return found


def others_than(attribute: Attribute) -> Iterable[EngineAttribute]:
    return (other for other in load_catalog() if other.name != attribute.name)


def find_conflicting_lists(attribute: Attribute) -> list[str]:
    allowed = set(attribute.values)
    found = []
    for value_list in ValueList.objects.kept():
        if attribute.name not in {name for name, _ in conditions_with(value_list)}:
            continue
        values = load_values(value_list.pk, value_list.current_number, value_list.type)
        strange = next((value for value in values if value not in allowed), None)
        if strange is not None:
            found.append(f"the list ${value_list.name} has “{strange}”")
    return found[:CONFLICTS_SHOWN]


def pinned_bookings(edge: Edge) -> QuerySet[Booking]:
    return Booking.objects.kept().filter(policy="pinned", pinned_edges__contains=[edge.pk])


Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EdgeUse:
    """Who would notice if an edge changed: bookings whose path passes it, and how many pairs of
    publisher and advertiser they are between. Counting ends with the first booking more than
    `EDGE_COUNT_LIMIT`."""

    booking_count: int
    pair_count: int

    def __bool__(self) -> bool:
        return self.booking_count > 0

    def __str__(self) -> str:
        is_exact = self.booking_count <= EDGE_COUNT_LIMIT
        bookings = min(self.booking_count, EDGE_COUNT_LIMIT)
        more = "" if is_exact else "more than "
        said = f"{more}{say_count(bookings, 'active booking')}, between "
        pairs = f"{say_count(self.pair_count, 'pair')} of publisher and advertiser"
        return said + (pairs if is_exact else f"at least {pairs}")


def impact_of_edge(edge: Edge) -> EdgeUse:
    """Counts bookings over an edge. Those over the cheapest path within their limit of hops are
    found by the pairs that it leads over this edge; pinned ones by their pins."""
    pinned = pinned_bookings(edge).filter(is_active=True).order_by()
    within = pinned.filter(pinned_edges__len__lte=F("hop_limit"))
    found: list[Pair] = list(
        within.values_list("publisher_id", "advertiser_id")[: EDGE_COUNT_LIMIT + 1]
    )
    graph = load_graph()
    passing = graph.find_passing(edge.pk, among=find_sources(graph, edge.pk))
    while len(found) <= EDGE_COUNT_LIMIT and (some := list(islice(passing, PAIRS_ASKED))):
        found += find_booked(some, EDGE_COUNT_LIMIT + 1 - len(found))
    return EdgeUse(len(found), len(set(found)))


def find_sources(graph: SavedGraph, edge_id: int) -> set[int] | None:
    """Finds where paths with bookings over the edge can begin; None: anywhere. Over an edge to an
    advertiser, who sells to nobody, it is where it has booked. The edge counts as it is saved: in a
    form it may have got another buyer."""
    if edge_id not in graph.links:
        return None
    buyer_id = graph.links.buyer_of(edge_id)
    if not Party.objects.filter(pk=buyer_id, kind=Party.Kind.ADVERTISER).exists():
        return None
    booked = Booking.objects.active().filter(advertiser=buyer_id).order_by()
    return set(booked.values_list("publisher_id", flat=True).distinct())


def find_booked(passing: list[Passing], limit: int) -> list[Pair]:
    """Finds one pair for each booking that takes one of these paths, at most `limit`."""
    columns = [list(column) for column in zip(*passing, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(SELECT_BOOKED, [*columns, limit])
        found: list[Pair] = cursor.fetchall()
        return found

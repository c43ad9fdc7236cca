"""Picks the rows that pages are asked about: of each kind a usual one, a large one, an odd one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import Count, Model, QuerySet
from django.db.models.functions import Length

from exchange.accounts.models import Organisation, User
from exchange.findings.models import BookingFinding
from exchange.keys.models import ApiKey
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    TestVisit,
    ValueList,
)
from exchange.market.visibility import owned, visible

Picked = Iterator[tuple[str, Any]]


def see(rows: QuerySet[Any], person: User, is_edit: bool) -> QuerySet[Any]:
    return owned(rows, person) if is_edit else visible(rows, person)


def first_of(**ordered: QuerySet[Any]) -> Picked:
    """Picks the first row of each query that has one, each row once."""
    seen: set[int] = set()
    for what, rows in ordered.items():
        row = rows.first()
        if row is not None and row.pk not in seen:
            seen.add(row.pk)
            yield what.replace("_", " "), row


def pick_parties(person: User, is_edit: bool) -> Picked:
    rows = see(Party.objects.kept(), person, is_edit)
    sizes = rows.annotate(size=Count("sales", distinct=True) + Count("purchases", distinct=True))
    return first_of(
        most_edges=sizes.order_by("-size", "pk"),
        publisher=rows.filter(kind="publisher").order_by("pk"),
        advertiser=rows.filter(kind="advertiser").order_by("pk"),
        last=rows.order_by("-pk"),
    )


def pick_edges(person: User, is_edit: bool) -> Picked:
    rows = see(Edge.objects.active(), person, is_edit).order_by("pk")
    inner = rows.filter(seller__kind="intermediary", buyer__kind="intermediary")
    busiest = inner.annotate(size=Count("buyer__sales")).order_by("-size", "pk")
    return first_of(
        busy_middle=busiest,
        of_a_publisher=rows.filter(seller__kind="publisher"),
        last_middle=inner.order_by("-pk"),
        to_an_advertiser=rows.filter(buyer__kind="advertiser"),
        switched_off=see(Edge.objects.filter(is_active=False), person, is_edit).order_by("pk"),
        long_rule=rows.annotate(size=Length("expression")).order_by("-size", "pk"),
    )


def pick_campaigns(person: User, is_edit: bool) -> Picked:
    rows = see(Campaign.objects.kept(), person, is_edit)
    booked = Booking.objects.values("campaign").annotate(n=Count("pk")).order_by("-n", "campaign")
    most = [row["campaign"] for row in booked[:1]]
    return first_of(
        most_bookings=rows.filter(pk__in=most).order_by("pk"),
        first=rows.order_by("pk"),
        long_targeting=rows.annotate(size=Length("expression")).order_by("-size", "pk"),
        newest=rows.order_by("-pk"),
    )


def pick_bookings(person: User, is_edit: bool) -> Picked:
    rows = see(Booking.objects.kept(), person, is_edit).order_by("-pk")
    found = BookingFinding.objects.order_by("-pk").values("booking")[:1]
    return first_of(
        **{policy: rows.filter(policy=policy) for policy in Booking.Policy.values},
        wide=rows.filter(policy="any").order_by("-hop_limit", "pk"),
        with_a_finding=rows.filter(pk__in=found),
    )


def pick_used(model: type[Model], prefix: str, key: str) -> Callable[[User, bool], Picked]:
    """Picks the row that most campaigns use, the first and the last."""

    def pick(person: User, is_edit: bool) -> Picked:
        rows: QuerySet[Any] = see(model._default_manager.all(), person, is_edit).order_by("pk")
        uses = Campaign.objects.order_by()[:5_000].values_list("uses", flat=True)
        words = [
            word.removeprefix(prefix) for found in uses for word in found if word.startswith(prefix)
        ]
        plain = [word for word in words if ":" not in word]  # others say how a list is used
        common = max(set(plain), key=plain.count) if plain else None
        most = rows.filter(**{key: common}) if common else rows.none()
        return first_of(most_used=most, first=rows, last=rows.order_by("-pk"))

    return pick


def pick_any(model: type[Model]) -> Callable[[User, bool], Picked]:
    def pick(person: User, is_edit: bool) -> Picked:
        rows: QuerySet[Any] = see(model._default_manager.all(), person, is_edit)
        return first_of(first=rows.order_by("pk"), last=rows.order_by("-pk"))

    return pick


PICKS: dict[str, Callable[[User, bool], Picked]] = {
    "party": pick_parties,
    "edge": pick_edges,
    "campaign": pick_campaigns,
    "booking": pick_bookings,
    "audience": pick_used(Audience, "audience:", "pk"),
    "value-list": pick_used(ValueList, "list:", "pk"),
    "attribute": pick_used(Attribute, "attribute:", "name"),
    "test-visit": pick_any(TestVisit),
    "api-key": pick_any(ApiKey),
    "person": pick_any(User),
    "organisation": lambda *_: first_of(first=Organisation.objects.order_by("pk")),
}

"""Decides what a person sees of the market: which rows, and how much of each.

`visible` narrows a query, `sight` says how much of one object a person sees, `sight_price` how much
of what a path costs, `may_name` whom. Whose an object is says the table of `exchange.kinds`, and
`accounts.ownership` who may change it; nothing else decides about organisations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.lookups import Exact

from exchange.accounts.models import Organisation, User
from exchange.accounts.ownership import (
    Person,
    belonging_of,
    may_see,
    organisation_id_of,
    owns,
)
from exchange.accounts.permissions import is_exchange_operator, may_edit
from exchange.kinds import KINDS, KindName
from exchange.market.models import Booking, Campaign, Party
from exchange.market.querysets import ID_DIGITS

Rows = TypeVar("Rows", bound=QuerySet[Any])

REDACTED = "Only the parties to it and the exchange see these conditions."


# The kinds of party that can stand at a side.
SIDES = {
    "seller": (Party.Kind.PUBLISHER, Party.Kind.INTERMEDIARY),
    "buyer": (Party.Kind.INTERMEDIARY, Party.Kind.ADVERTISER),
    "advertiser": (Party.Kind.ADVERTISER,),
    "publisher": (Party.Kind.PUBLISHER,),
}


# The kinds of party whose people can make something: a campaign is an advertiser's.
MAKERS: dict[KindName, tuple[Party.Kind, ...]] = {
    kind.name: SIDES[kind.made_by] for kind in KINDS.values() if kind.made_by
}


def visible(rows: Rows, user: Person) -> Rows:
    """Leaves those of `rows` that the person may see: their organisation's, and those they trade
    in."""
    belonging = belonging_of(rows.model)
    owner = belonging.owner_in_queries
    if owner is None or is_exchange_operator(user):
        return rows
    hidden = is_of_draft() if belonging.is_of_campaign else None
    seen = belong_to(user, owner, *belonging.readers, hidden=hidden)
    if seen is not None and belonging.is_shared:
        seen |= Q(organisation__is_operator=True)
    return rows.none() if seen is None else rows.filter(seen)


def owned(rows: Rows, user: Person) -> Rows:
    """Leaves those that belong to the person's organisation: what a form offers to work with."""
    if is_exchange_operator(user):
        return rows
    owner = belonging_of(rows.model).owner_in_queries
    mine = belong_to(user, owner) if owner else None
    return rows.none() if mine is None else rows.filter(mine)


def belong_to(user: Person, *paths: str, hidden: Q | None = None) -> Q | None:
    """Builds a condition for rows that one of the paths leads from to the person's organisation;
    None if no row can fulfil it. Rows that are `hidden` are found by the first path, the owner's,
    only.

    Parties are looked up first and named by id: with ids Postgres uses the indexes of the rows that
    name them, with a join it reads through millions of them. Sides that none of the organisation's
    parties can take are left out: an `or` over two tables is what no index answers.
    """
    organisation_id = organisation_id_of(user)
    if organisation_id is None:
        return None
    found = Party.objects.filter(organisation=organisation_id).order_by()
    parties = None if "organisation" in paths else list(found.values_list("pk", "kind"))
    conditions = []
    for path in paths:
        side = path.removesuffix("__organisation")
        if parties is None or side == path:
            condition = Q(**{path: organisation_id})
        elif ids := [pk for pk, kind in parties if kind in SIDES[side.rpartition("__")[2]]]:
            condition = Q(**{f"{side}__in": ids})
        else:
            continue
        is_owners = path == paths[0]
        conditions.append(condition if is_owners or hidden is None else condition & ~hidden)
    return reduce(or_, conditions) if conditions else None


def explainable(campaigns: Rows, user: Person) -> Rows:
    """Leaves campaigns whose eligibility the person may ask about: their own, and those booked with
    their publishers, which they know by name only."""
    if is_exchange_operator(user):
        return campaigns
    own = belong_to(user, "advertiser__organisation") or Q(pk__in=[])
    sold = belong_to(user, "publisher__organisation")
    if sold is None:
        return campaigns.filter(own)
    booked = Booking.objects.order_by().filter(sold, campaign=OuterRef("pk"))
    return campaigns.filter(own | (Exists(booked) & ~Q(status=Campaign.Status.DRAFT)))


def is_of_draft() -> Q:
    """Builds a condition, asked row by row: with a join Postgres would begin with all drafts of the
    exchange."""
    campaign = Campaign.objects.order_by().filter(pk=OuterRef("campaign"))
    return Q(Exact(Subquery(campaign.values("status")), Campaign.Status.DRAFT))


def kinds_of(user: Person) -> frozenset[str]:
    """Finds what the person's organisation is on the exchange; empty for the operator."""
    organisation_id = organisation_id_of(user)
    if organisation_id is None or is_exchange_operator(user):
        return frozenset()
    parties = Party.objects.kept().filter(organisation=organisation_id).order_by()
    return frozenset(parties.values_list("kind", flat=True).distinct())


def may_create(user: Person, kind: KindName) -> bool:
    """Decides about buttons: offers nothing whose form would have nobody to choose."""
    if not may_edit(user, kind):
        return False
    return is_exchange_operator(user) or not kinds_of(user).isdisjoint(MAKERS[kind])


@dataclass(frozen=True, slots=True)
class Sight:
    """How much of an object a person sees. Its name and verdict are seen by all on the path."""

    has_page: bool
    reads_conditions: bool
    reads_terms: bool

    def redact(self, text: str) -> str:
        return text if self.reads_conditions else REDACTED

    def redact_lines(self, lines: Iterable[str]) -> list[str]:
        """Redacts differences in words: that something changed is said, what it was is not."""
        return list(lines) if self.reads_conditions else [REDACTED]


WHOLE = Sight(has_page=True, reads_conditions=True, reads_terms=True)
CONDITIONS = Sight(has_page=False, reads_conditions=True, reads_terms=False)
OUTLINE = Sight(has_page=False, reads_conditions=False, reads_terms=False)


def sight(user: Person, obj: Model) -> Sight:
    """Decides what of `obj` (expression, fee, bid) is shown to a person who has met it on a path,
    in a list or in a difference; nothing else redacts. A disclosed edge shows its conditions to all
    on the path."""
    model_name = obj._meta.model_name
    if may_see(user, obj) and (model_name != "booking" or owns(user, obj)):
        return WHOLE
    if model_name == "edge" and getattr(obj, "is_disclosed", False):
        return CONDITIONS
    return OUTLINE


@dataclass(frozen=True, slots=True)
class PriceSight:
    """What a person sees of a path's price: all fees together, and what of the bid is left."""

    reads_total: bool
    reads_net: bool


def sight_price(user: Person, parties: Sequence[Party]) -> PriceSight:
    """Decides how much of the price of a path the person sees; `parties` run from publisher to
    advertiser.

    A total is shown to those who see every fee in it. One hidden fee would follow by subtraction;
    several would follow from the totals of several paths that share edges. With the bid, which the
    advertiser knows, what is left is the same as the total. The publisher is told what is left, as
    its ad server is: it is its own price, and without the bid it is no total.
    """
    if is_exchange_operator(user):
        return PriceSight(reads_total=True, reads_net=True)
    is_own = [owns(user, party) for party in parties]
    reads_total = all(seller or buyer for seller, buyer in pairwise(is_own))
    is_publishers_alone = is_own[0] and not is_own[-1]
    return PriceSight(reads_total, reads_net=reads_total or is_publishers_alone)


def may_name(user: Person, other: User | None) -> bool:
    """Tells whether a person may be named: colleagues know each other, others do not."""
    if other is None or not isinstance(user, User):
        return False
    return is_exchange_operator(user) or other.organisation_id == user.organisation_id


def find_owner_id(person: User, *, party: str = "", organisation: str = "") -> int | None:
    """Finds whose audiences and lists an expression may use that the person is writing: those of
    the party or the organisation, by number or name, if the person acts for them, else their
    own."""
    for rows, text, column in (
        (Party.objects.kept(), party, "organisation_id"),
        (Organisation.objects.all(), organisation, "pk"),
    ):
        text = text.strip()
        is_id = text.isdecimal() and len(text) <= ID_DIGITS
        wanted = Q(pk=int(text)) if is_id else Q(name__iexact=text)
        found = rows.filter(wanted).values_list(column, flat=True).first() if text else None
        if found is not None and (is_exchange_operator(person) or found == person.organisation_id):
            return int(found)
    return person.organisation_id

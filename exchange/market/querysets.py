"""Reads the market: what lists, builds and pages ask for, each in one query.

Lists are ordered by a unique, indexed column, so that they can be paged by key, never by offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.apps import apps
from django.db.models import (
    BooleanField,
    Case,
    Count,
    ExpressionWrapper,
    IntegerField,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from exchange.market import among  # noqa: F401, the lookup
from exchange.market.aims import Aim, aim_words, all_of, read_aims
from exchange.market.words import Words, in_index, in_text
from exchange.routing import Link

if TYPE_CHECKING:
    from exchange.market.models import (  # noqa: F401, in strings
        Attribute,
        Audience,
        Booking,
        Campaign,
        Edge,
        Party,
        TestVisit,
        ValueList,
    )

ID_DIGITS = 18  # always below 2**63
# A search is tried on the newest rows first: if one in a hundred is wanted, looking through rows in
# order fills a page soonest; otherwise indexes give the ids of all. Postgres cannot know which: it
# takes a word that few names have for one of average frequency, and looks through a million rows.
NEWEST_TRIED = 2_000
FREQUENT_SHARE = 0.01
FEW = 12_000
FEW_BOOKINGS = 30_000  # of as many campaigns
FEW_MARKED = 2_000
FEW_PARTIES = 1_000
# Sorts campaigns without an end after those that have one.
OPEN_END = datetime(9999, 12, 31, tzinfo=UTC)

Row = TypeVar("Row", bound=Model)


def rows_of(model: str) -> Any:
    """Finds a model's rows by its name, because the models import this module."""
    return apps.get_model("market", model)._default_manager.order_by()


def count_of(model: str, key: str) -> Coalesce:
    """Counts in a subquery: unlike a join it does not multiply with its neighbours, and Postgres
    runs it for the rows of the page only."""
    rows = rows_of(model).filter(**{key: OuterRef("pk")})
    counts = rows.values(key).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counts, output_field=IntegerField()), 0)


def end_or_open() -> Coalesce:
    return Coalesce("ends_at", OPEN_END)


def has_id(text: str) -> Q:
    """Takes a number in the search box for an id, too."""
    is_id = text.isdecimal() and len(text) <= ID_DIGITS
    return Q(pk=int(text)) if is_id else Q(pk__in=[])


def parties_named(text: str, *kinds: str) -> list[int] | QuerySet[Any]:
    """Reads ids of parties at once: there are few, and with their ids Postgres uses the indexes of
    the rows that name them (a miss among a million bookings: 14 s with joins, 0.7 s with
    subqueries, below a millisecond with ids). Gives a subquery where most names have the text: rows
    are then found at once, while naming 15,000 ids would take 0.2 s."""
    parties = rows_of("Party").filter(name__icontains=text)
    if kinds:
        parties = parties.filter(kind__in=kinds)
    ids = list(parties.values_list("pk", flat=True)[: FEW_PARTIES + 1])
    return ids if len(ids) <= FEW_PARTIES else parties.values("pk")


def is_frequent(rows: Any, condition: Q) -> bool:
    """Tells whether many of the newest rows are hits, or rows are too few for it to matter."""
    hit = ExpressionWrapper(condition, output_field=BooleanField())
    newest = rows.order_by("-pk").annotate(hit=hit).values("hit")[:NEWEST_TRIED]
    seen = newest.aggregate(tried=Count("*"), hits=Count("hit", filter=Q(hit=True)))
    is_small: bool = seen["tried"] < NEWEST_TRIED
    return is_small or seen["hits"] >= FREQUENT_SHARE * NEWEST_TRIED


def one_by_one(condition: Q) -> Q:
    """Wraps a condition, for rows that are looked through in order until a page is full. Postgres
    takes words of a name for rare, and would collect all rows first; a case it takes for a toss of
    a coin."""
    is_true = When(condition, then=Value(True))
    return Q(Case(is_true, default=Value(False), output_field=BooleanField()))


def few_ids(*branches: Any, most: int | None = None) -> list[int] | None:
    """Finds the ids of all rows of these queries, each of which has an index of its own; None if
    there are more than few."""
    found: set[int] = set()
    most = FEW if most is None else most
    for rows in branches:
        found.update(rows.order_by().values_list("pk", flat=True)[: most + 1])
        if len(found) > most:
            return None
    return sorted(found)


class LockingQuerySet(QuerySet[Row]):
    def kept(self) -> Self:
        """Leaves out what is retired."""
        return self.filter(retired_at=None)

    def locked(self, pk: int | None) -> Row | None:
        """Reads and locks the row as it is before a save; None if it is new."""
        return self.select_for_update().filter(pk=pk).first()


class PartyQuerySet(LockingQuerySet["Party"]):
    def of_kind(self, *kinds: str) -> Self:
        """Leaves those that may still be chosen: kept parties of these kinds."""
        return self.kept().filter(kind__in=kinds)

    def publishers(self) -> Self:
        return self.of_kind("publisher")

    def advertisers(self) -> Self:
        return self.of_kind("advertiser")

    def sellers(self) -> Self:
        return self.of_kind("publisher", "intermediary")

    def buyers(self) -> Self:
        return self.of_kind("intermediary", "advertiser")

    def search(self, text: str) -> Self:
        text = text.strip()
        if not text:
            return self
        return self.filter(
            Q(name__icontains=text) | Q(seller_id__iexact=text) | Q(domain__icontains=text)
        )


class EdgeQuerySet(LockingQuerySet["Edge"]):
    def active(self) -> Self:
        return self.kept().filter(is_active=True)

    def with_parties(self) -> Self:
        return self.select_related("seller", "buyer")

    def as_links(self) -> Iterator[Link]:
        """Yields links for `routing`; fees turn from percent into exact fractions."""
        rows = self.order_by("pk").values_list("pk", "seller_id", "buyer_id", "fee_percent")
        for edge_id, seller_id, buyer_id, percent in rows.iterator():
            yield Link(edge_id, seller_id, buyer_id, Fraction(percent) / 100)

    def search(self, text: str) -> Self:
        text = text.strip()
        if not text:
            return self
        parties = parties_named(text)
        names = Q(seller_id__in=parties) | Q(buyer_id__in=parties)
        return self.filter(names | Q(expression__icontains=text) | has_id(text))


class CampaignQuerySet(LockingQuerySet["Campaign"]):
    def live(self) -> Self:
        return self.kept().filter(status="live")

    def with_advertiser(self) -> Self:
        return self.select_related("advertiser")

    def with_booking_count(self) -> Self:
        return self.annotate(booking_count=count_of("Booking", "campaign"))

    def search(self, text: str) -> Self:
        """Finds campaigns by name, advertiser or id. Must be asked of what the person sees, before
        further filters: it tries the newest."""
        text = text.strip()
        if not text:
            return self
        by_party = Q(advertiser_id__in=parties_named(text, "advertiser"))
        condition = in_text("name", text) | by_party | has_id(text)
        if is_frequent(self, condition):
            return self.filter(one_by_one(condition))
        ids = few_ids(self.filter(has_id(text)), self.named(text), self.filter(by_party))
        return self.filter(one_by_one(condition) if ids is None else Q(pk__among=ids))

    def labelled(self, label: str) -> Self:
        """Finds campaigns with a label, by id where few have it: Postgres would take a rare label
        for one of average frequency."""
        has_label = Q(labels__contains=[label])
        ids = few_ids(rows_of("Campaign").filter(has_label), most=FEW_MARKED)
        return self.filter(has_label if ids is None else Q(pk__among=ids))

    def with_end(self) -> Self:
        """Gives each campaign `ends`, by which they can be sorted."""
        return self.annotate(ends=end_or_open())

    def aimed_at(self, text: str) -> Self:
        """Finds by words of the targeting or of its sentence; to be asked as `search` is."""
        aims = read_aims(text)
        if not aims:
            return self
        condition = all_of(aims, Aim.in_text)
        if is_frequent(self, condition):
            return self.filter(one_by_one(condition))
        ids = few_ids(self.aimed(aims))
        return self.filter(one_by_one(condition) if ids is None else Q(pk__among=ids))

    def find_aimed(self, text: str, *, most: int) -> list[int] | None:
        """Finds the same as ids; None if there are more."""
        aims = read_aims(text)
        return few_ids(self.aimed(aims) if aims else self, most=most)

    def aimed(self, aims: list[Aim]) -> Self:
        """Asks the index of words."""
        return self.alias(aims=aim_words()).filter(all_of(aims, Aim.in_index))

    def find_named(self, text: str, *, most: int) -> list[int] | None:
        """Finds ids by the campaign's name or the advertiser's, as `search` does; None if there are
        more. Serves rows of other tables, which are found by the campaign's id."""
        by_party = Q(advertiser_id__in=parties_named(text, "advertiser"))
        return few_ids(self.named(text), self.filter(by_party), most=most)

    def find_searched(self, text: str, *, most: int) -> list[int] | None:
        """Finds all that `search` does, as ids; None if there are more."""
        named = self.find_named(text, most=most)
        if named is None:
            return None
        numbered = self.filter(has_id(text)).order_by().values_list("pk", flat=True)
        return sorted({*named, *numbered})

    def named(self, text: str) -> Self:
        """Finds by name, through the index of words."""
        return self.alias(words=Words("name")).filter(in_index(text))


class BookingQuerySet(LockingQuerySet["Booking"]):
    def active(self) -> Self:
        return self.kept().filter(is_active=True)

    def with_parties(self) -> Self:
        return self.select_related("campaign__advertiser", "publisher")

    def search(self, text: str, campaigns: Any = None) -> Self:
        """Finds bookings by campaign, party or id. Must be asked of what the person sees, before
        further filters: it tries the newest. All of it is of these `campaigns`, if they are given:
        a name that is frequent elsewhere may be rare among them."""
        text = text.strip()
        if not text:
            return self
        campaigns = rows_of("Campaign") if campaigns is None else campaigns
        publishers = Q(publisher_id__in=parties_named(text, "publisher"))
        advertisers = Q(advertiser_id__in=parties_named(text, "advertiser"))
        condition = in_text("campaign_name", text) | publishers | advertisers | has_id(text)
        rows = self.with_campaign_name()
        in_order = rows.filter(one_by_one(condition))
        if is_frequent(rows, condition):
            return in_order
        # Asks for everybody's first: for some people's only, Postgres looks up whose each one is.
        named = few_ids(rows_of("Campaign").named(text))
        if named is None:
            named = few_ids(campaigns.named(text))
        if named is None:
            return in_order
        branches = (has_id(text), Q(campaign__among=named), publishers, advertisers)
        ids = few_ids(*(self.filter(branch) for branch in branches), most=FEW_BOOKINGS)
        return in_order if ids is None else self.filter(pk__among=ids)

    def with_campaign_name(self) -> Self:
        """Adds the campaign's name, booking by booking. A join would let Postgres begin with all
        campaigns of that name."""
        campaign = rows_of("Campaign").filter(pk=OuterRef("campaign_id"))
        return self.alias(campaign_name=Subquery(campaign.values("name")))


class AudienceQuerySet(LockingQuerySet["Audience"]):
    def search(self, text: str) -> Self:
        text = text.strip()
        if not text:
            return self
        said = Q(name__icontains=text) | Q(description__icontains=text)
        return self.filter(said | Q(expression__icontains=text))


class ValueListQuerySet(LockingQuerySet["ValueList"]):
    def search(self, text: str) -> Self:
        text = text.strip()
        if not text:
            return self
        return self.filter(Q(name__icontains=text) | Q(description__icontains=text))


class AttributeQuerySet(LockingQuerySet["Attribute"]):
    def search(self, text: str) -> Self:
        text = text.strip()
        if not text:
            return self
        said = Q(name__icontains=text) | Q(description__icontains=text)
        return self.filter(said | Q(openrtb_path__icontains=text))


class TestVisitQuerySet(LockingQuerySet["TestVisit"]):
    __test__ = False  # no test case, whatever pytest thinks of the name

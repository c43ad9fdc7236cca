"""Reads the summaries for pages and downloads: one selection, a handful of queries.

Sums over several campaigns count a visit once for each campaign that is eligible for it, so they
are compared with visits as "campaigns per visit"; only one campaign's sum is a share of visits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum, Window

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.models import Booking, Campaign, Party
from exchange.market.visibility import owned, visible
from exchange.market.words import in_text
from exchange.reports.models import (
    DailyVisits,
    DaySnapshot,
    EligibleSums,
    EligibleVisits,
    KeptCampaigns,
)

TOP_CAMPAIGNS = 25
DEFAULT_DAYS = 14
# Bounds what a search may mean in the rows of the whole exchange: 0.1 s for two weeks.
MOST_NAMED = 2_000
KEPT = 500  # tables of campaigns; the oldest go first
SORT_FIELDS = {
    "eligible": "total",
    "campaign": "campaign__name",
    "advertiser": "campaign__advertiser__name",
    "publishers": "publishers",
}
Cell = tuple[date, int]


class TooManyNamedError(Exception):
    """Says that the text means more campaigns than are summed up while somebody waits."""


@dataclass(frozen=True, slots=True)
class Sort:
    """The order of the campaigns' table; ties always by campaign id, so that pages are stable."""

    key: str = "eligible"
    is_descending: bool = True

    @classmethod
    def of(cls, text: str) -> Sort:
        key = text.removeprefix("-")
        return cls(key, text.startswith("-")) if key in SORT_FIELDS else cls()

    def order(self) -> list[str]:
        return [("-" if self.is_descending else "") + SORT_FIELDS[self.key], "campaign_id"]


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for, and by whom: people read about their own campaigns and publishers."""

    first_day: date
    last_day: date
    viewer: User
    publisher: Party | None = None
    campaign: Campaign | None = None
    text: str = ""

    def days(self) -> Iterator[date]:
        for offset in range((self.last_day - self.first_day).days + 1):
            yield self.first_day + timedelta(days=offset)

    def eligible(self, *, most_named: int | None = None) -> QuerySet[EligibleVisits]:
        """Looks up which campaigns the text means: to be asked once. Raises `TooManyNamedError`."""
        rows = self.counted()
        if not self.is_search:
            return rows
        most = MOST_NAMED if most_named is None else most_named
        return rows.filter(campaign__among=self.find_named(rows, most))

    def counted(self) -> QuerySet[EligibleVisits]:
        """Chooses rows as if nothing were searched for."""
        rows = visible(EligibleVisits.objects.all(), self.viewer)
        rows = rows.filter(day__range=(self.first_day, self.last_day))
        if self.publisher is not None:
            rows = rows.filter(publisher=self.publisher)
        return rows if self.campaign is None else rows.filter(campaign=self.campaign)

    @property
    def is_search(self) -> bool:
        return self.campaign is None and bool(self.text)

    def find_named(self, rows: QuerySet[EligibleVisits], most: int) -> Collection[int]:
        """Finds the campaigns that the text means, as in their list, but also retired ones. For
        rows of the whole exchange through indexes, up to a bound: summing up half of its rows takes
        seconds. The campaigns of one organisation, or at one publisher, are few enough to be looked
        at one by one, whatever the text."""
        if not is_exchange_operator(self.viewer) or self.publisher is not None:
            campaigns = rows.order_by().values_list("campaign_id", flat=True).distinct()
            return self.name_some(list(campaigns))
        found = Campaign.objects.find_named(self.text, most=most)
        if found is None:
            raise TooManyNamedError
        return found

    def name_some(self, campaigns: Collection[int]) -> dict[int, tuple[str, str]]:
        """Finds name and advertiser of those of them that are meant."""
        rows = Campaign.objects.filter(pk__among=campaigns).order_by()
        if self.is_search:
            by_name = in_text("name", self.text)
            rows = rows.filter(by_name | Q(advertiser__name__icontains=self.text))
        named = rows.values_list("pk", "name", "advertiser__name")
        return {pk: (name, advertiser) for pk, name, advertiser in named}

    @property
    def is_whole(self) -> bool:
        """Tells whether it is all that was counted on these days, at any or one publisher."""
        is_narrow = self.campaign is not None or self.text
        return not is_narrow and is_exchange_operator(self.viewer)

    def sums(self) -> QuerySet[EligibleSums]:
        rows = EligibleSums.objects.filter(day__range=(self.first_day, self.last_day))
        return rows if self.publisher is None else rows.filter(publisher=self.publisher)

    def visits(self) -> QuerySet[DailyVisits]:
        """Chooses the visits that eligible ones are part of: of one campaign, where booked."""
        rows = DailyVisits.objects.filter(day__range=(self.first_day, self.last_day))
        if not is_exchange_operator(self.viewer):
            rows = rows.filter(publisher__in=traded_publishers(self.viewer))
        if self.publisher is not None:
            return rows.filter(publisher=self.publisher)
        if self.campaign is not None:
            booked = Booking.objects.filter(campaign=self.campaign).values("publisher")
            return rows.filter(publisher__in=booked)
        return rows


def traded_publishers(viewer: User) -> QuerySet[Party]:
    """Chooses their own publishers, and those that their campaigns are booked with."""
    booked = owned(Booking.objects.order_by(), viewer).values("publisher")
    publishers = Party.objects.publishers()
    return owned(publishers, viewer) | publishers.filter(pk__in=booked)


@dataclass(frozen=True, slots=True)
class Tally:
    """Eligible visits beside the visits they are taken from; None where no report was run."""

    eligible: int
    visits: int | None

    @property
    def ratio(self) -> float | None:
        return self.eligible / self.visits if self.visits else None

    @property
    def percent(self) -> float | None:
        return None if self.ratio is None else 100 * self.ratio


@dataclass(frozen=True, slots=True)
class DayTally(Tally):
    day: date


@dataclass(frozen=True, slots=True)
class PublisherTally(Tally):
    publisher: Party


@dataclass(frozen=True, slots=True)
class CampaignTally(Tally):
    campaign_id: int
    campaign: str
    advertiser: str
    publishers: int


@dataclass(frozen=True, slots=True)
class Report:
    selection: Selection
    days: list[DayTally]
    publishers: list[PublisherTally]
    campaigns: list[CampaignTally]
    campaign_count: int
    snapshot_ids: list[str]

    @property
    def total(self) -> Tally:
        return Tally(
            eligible=sum(day.eligible for day in self.days),
            visits=sum(day.visits or 0 for day in self.days),
        )

    @property
    def is_reported(self) -> bool:
        """Tells whether any of the days was ever counted."""
        return any(day.visits is not None for day in self.days)

    @property
    def missing_days(self) -> int:
        return sum(day.visits is None for day in self.days)


def last_reported_days() -> tuple[date, date] | None:
    """Finds the newest stretch that is worth showing first; None before the first report."""
    last = DailyVisits.objects.order_by("-day").values_list("day", flat=True).first()
    return None if last is None else (last - timedelta(days=DEFAULT_DAYS - 1), last)


def read_report(selection: Selection, sort: Sort) -> Report:
    """Reads the report of a selection. Raises `TooManyNamedError`."""
    visits = sum_by_cell(selection.visits(), "visits")
    rows = selection.eligible()
    eligible = sum_by_cell(
        selection.sums().exclude(eligible_visits=0) if selection.is_whole else rows,
        "eligible_visits",
    )
    total_visits = sum(visits.values())
    first, count = find_campaigns(selection, rows, sort)
    return Report(
        selection=selection,
        days=tally_days(selection, visits, eligible),
        publishers=tally_publishers(visits, eligible),
        campaigns=read_campaigns(first, total_visits),
        campaign_count=count,
        snapshot_ids=read_snapshot_ids(selection),
    )


def sum_by_cell(rows: QuerySet[Any], field: str) -> dict[Cell, int]:
    """Sums by (day, publisher)."""
    sums = rows.values_list("day", "publisher_id").annotate(total=Sum(field)).order_by()
    return {(day, publisher): total for day, publisher, total in sums}


def tally_days(
    selection: Selection, visits: dict[Cell, int], eligible: dict[Cell, int]
) -> list[DayTally]:
    reported = sum_by(visits, 0)
    found = sum_by(eligible, 0)
    return [DayTally(found.get(day, 0), reported.get(day), day) for day in selection.days()]


def tally_publishers(visits: dict[Cell, int], eligible: dict[Cell, int]) -> list[PublisherTally]:
    held = sum_by(visits, 1)
    found = sum_by(eligible, 1)
    parties = Party.objects.in_bulk(held.keys() | found.keys())
    tallies = [
        PublisherTally(found.get(key, 0), held.get(key), party) for key, party in parties.items()
    ]
    return sorted(tallies, key=lambda tally: (-tally.eligible, tally.publisher.name))


def sum_by(cells: dict[Cell, int], position: int) -> dict[Any, int]:
    sums: dict[Any, int] = defaultdict(int)
    for cell, amount in cells.items():
        sums[cell[position]] += amount
    return dict(sums)


# A campaign, its eligible visits, and how many publishers they are at.
Sums = tuple[int, int, int]


def find_campaigns(
    selection: Selection, rows: QuerySet[EligibleVisits], sort: Sort
) -> tuple[list[Sums], int]:
    """Finds the first campaigns, and how many there are."""
    if selection.is_whole and selection.publisher is None:
        return find_kept(selection.first_day, selection.last_day, sort)
    return count_campaigns(rows, sort)


def count_campaigns(rows: QuerySet[EligibleVisits], sort: Sort) -> tuple[list[Sums], int]:
    """Counts in one pass: the count, the same in each row, is of all campaigns before the limit."""
    sums = (
        rows.values("campaign_id")
        .annotate(
            total=Sum("eligible_visits"),
            publishers=Count("publisher", distinct=True),
            campaigns=Window(Count("*")),
        )
        .order_by(*sort.order())
        .values_list("campaign_id", "total", "publishers", "campaigns")[:TOP_CAMPAIGNS]
    )
    found = list(sums)
    return [row[:3] for row in found], found[0][3] if found else 0


def find_kept(first_day: date, last_day: date, sort: Sort) -> tuple[list[Sums], int]:
    """Finds those of the whole exchange, which are counted once: they are the same for all who
    look, until one of the days is counted again. Names that decide an order are those of then."""
    days = {"day__range": (first_day, last_day)}
    changes = EligibleSums.objects.filter(**days).aggregate(changes=Sum("changes"))["changes"]
    key = f"{first_day} {last_day} {'-' * sort.is_descending}{sort.key} {changes or 0}"
    kept = KeptCampaigns.objects.filter(key=key).first()
    if kept is not None:
        return [(row[0], row[1], row[2]) for row in kept.first], kept.count
    first, count = count_campaigns(EligibleVisits.objects.filter(**days), sort)
    keep_campaigns(key, first, count)
    return first, count


def keep_newest_days() -> None:
    """Counts what the page shows first, in every order, so that nobody waits for it."""
    days = last_reported_days()
    if days is not None:
        for key in SORT_FIELDS:
            for is_descending in (True, False):
                find_kept(*days, Sort(key, is_descending))


def keep_campaigns(key: str, first: list[Sums], count: int) -> None:
    kept = KeptCampaigns(key=key, count=count, first=first)
    KeptCampaigns.objects.bulk_create([kept], ignore_conflicts=True)
    newest = KeptCampaigns.objects.order_by("-pk").values_list("pk", flat=True)
    for oldest in newest[KEPT : KEPT + 1]:
        KeptCampaigns.objects.filter(pk__lte=oldest).delete()


def read_campaigns(first: list[Sums], total_visits: int) -> list[CampaignTally]:
    """Reads campaigns by their names of today."""
    campaigns = Campaign.objects.select_related("advertiser").in_bulk([row[0] for row in first])
    return [
        CampaignTally(
            eligible=eligible,
            visits=total_visits,
            campaign_id=campaign_id,
            campaign=campaigns[campaign_id].name,
            advertiser=campaigns[campaign_id].advertiser.name,
            publishers=publishers,
        )
        for campaign_id, eligible, publishers in first
    ]


def read_snapshot_ids(selection: Selection) -> list[str]:
    """Finds the snapshots that the selected days were counted with, newest first. Days that were
    counted before theirs was noted have that of their run."""
    days = DaySnapshot.objects.filter(day__range=(selection.first_day, selection.last_day))
    noted = days.order_by("-day").values_list("snapshot_id", flat=True)
    others = selection.visits().exclude(day__in=days.values("day")).order_by("-run_id")
    runs = others.values_list("run__snapshot_id", flat=True).distinct()
    return list(dict.fromkeys([*noted, *runs]))

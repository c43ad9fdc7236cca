"""Chooses the campaigns that the address of their list asks for, for the page and for its CSV.

Sorting reads an index of the whole table, or all rows that the filters leave if they are few. More
than few stay in the order in which they are soonest found, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from exchange.accounts.models import User
from exchange.findings.status import (
    Status,
    order_of,
    tell_reason,
    with_campaign_status,
    with_finding_count,
)
from exchange.market.models import Campaign
from exchange.market.querysets import CampaignQuerySet, few_ids
from exchange.market.visibility import visible
from exchange.reading.paging import Order, go_on, write_cursor
from exchange.reports.exports import UTF8_MARK, plain, write_lines
from exchange.web.filters import CampaignFilter

MOST_SORTED = 2_000
ROWS_PER_PIECE = 1_000
# The field that each column is sorted by; the id decides between equal ones.
SORT_FIELDS = {"name": "name", "ends": "ends", "bid": "bid_cpm"}
SORT_LABELS = {"name": "name", "ends": "end", "bid": "bid"}
# Filters after which no index has the rows in the order of a column.
NARROWING = {"q", "targeting", "status", "label"}
COLUMNS = [
    "campaign_id",
    "campaign",
    "advertiser",
    "status",
    "reason",
    "starts_at",
    "ends_at",
    "bid_cpm",
    "priority",
    "labels",
    "bookings",
    "findings",
    "targeting",
]


@dataclass(frozen=True, slots=True)
class Sort:
    """Names a column and a direction; without a key: newest first."""

    key: str = ""
    is_descending: bool = True

    @classmethod
    def of(cls, text: str) -> Sort:
        key = text.removeprefix("-")
        return cls(key, text.startswith("-")) if key in SORT_FIELDS else cls()

    @property
    def label(self) -> str:
        return SORT_LABELS[self.key]

    def order(self) -> Order:
        return Order((SORT_FIELDS[self.key], "id"), self.is_descending)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Holds what was chosen; `unsorted_by` is a column that there are too many rows to sort by."""

    filters: CampaignFilter
    campaigns: CampaignQuerySet
    order: Order
    sort: Sort
    unsorted_by: str = ""


def choose_campaigns(query: QueryDict, person: User) -> Chosen:
    filters = CampaignFilter(query)
    sort = Sort.of(query.get("sort", ""))
    seen = visible(Campaign.objects.kept().with_advertiser().with_end(), person)
    if sort.key and (few := narrow_sorted(filters, seen)) is not None:
        return Chosen(filters, few, sort.order(), sort)
    order = Order(order_of(filters.chosen.get("status")), is_descending=True)
    too_many = sort.label if sort.key else ""
    return Chosen(filters, filters.apply(seen), order, Sort(), unsorted_by=too_many)


def narrow_sorted(filters: CampaignFilter, seen: CampaignQuerySet) -> CampaignQuerySet | None:
    """Narrows to rows that can be sorted; None if more are left than while somebody waits."""
    if NARROWING.isdisjoint(filters.chosen):
        return filters.apply_rest(seen)
    found = filters.apply_as_ids(seen, most=MOST_SORTED)
    ids = None if found is None else few_ids(found, most=MOST_SORTED)
    return None if ids is None else seen.filter(pk__among=ids)


def with_details(campaigns: CampaignQuerySet) -> CampaignQuerySet:
    return with_finding_count(with_campaign_status(campaigns.with_booking_count()))


def stream_campaigns(chosen: Chosen) -> Iterator[str]:
    """Writes every campaign that the filters leave, in the order of the page."""
    yield UTF8_MARK + write_lines([COLUMNS])
    rows = with_details(chosen.campaigns).order_by(*chosen.order.names(backwards=False))
    piece = list(rows[:ROWS_PER_PIECE])
    while piece:
        yield write_lines(map(write_campaign, piece))
        last = write_cursor(chosen.order.key_of(piece[-1]))
        piece = list(go_on(rows, chosen.order, last)[:ROWS_PER_PIECE])


def write_campaign(campaign: Any) -> list[Any]:
    return [
        campaign.pk,
        plain(campaign.name),
        plain(campaign.advertiser.name),
        Status(campaign.standing).label,
        tell_reason(campaign),
        campaign.starts_at.isoformat(timespec="seconds"),
        campaign.ends_at.isoformat(timespec="seconds") if campaign.ends_at else "",
        campaign.bid_cpm,
        campaign.priority,
        plain(", ".join(campaign.labels)),
        campaign.booking_count,
        campaign.finding_count,
        plain(campaign.expression),
    ]

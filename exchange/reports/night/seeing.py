"""Decides who sees which rows of a night's table, and how much of them: the redaction of all
reports.

Whose a campaign, a publisher or an edge is says `market.visibility`; here it becomes a condition on
the columns of a table. Rows are redacted while they are read, before anything sorts or sums them;
what few users a figure is of is covered (`covering`).
"""

from __future__ import annotations

import pyarrow.dataset as ds

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator
from exchange.market.models import Booking, Campaign, Party
from exchange.market.visibility import owned
from exchange.reports.night.shapes import Column, NightReport, Sees

NOTHING = ds.scalar(False)


def may_read(person: User, report: NightReport) -> bool:
    """Tells whether a report exists for a person: what holds nothing of theirs does not."""
    return report.sees != Sees.NOBODY or is_exchange_operator(person)


def find_rows(person: User, report: NightReport) -> ds.Expression | None:
    """Tells which rows the person sees; None: all."""
    if is_exchange_operator(person):
        return None
    if report.sees == Sees.CAMPAIGN:
        return is_own_campaign(person)
    if report.sees == Sees.PUBLISHER:
        return is_own_publisher(person)
    if report.sees == Sees.BOOKING:
        return is_own_campaign(person) | (is_own_publisher(person) & ~is_draft(person))
    if report.sees == Sees.PAIR:
        own = own_campaigns(person)
        both = is_one_of("campaign_id", own) & is_one_of("partner_id", own)
        drafts = is_draft(person) | is_draft(person, "partner_id")
        return both | (is_own_publisher(person) & ~drafts)
    if report.sees == Sees.NAMED:
        names = [str(pk) for pk in own_campaigns(person)]
        return (ds.field("kind") == "campaign") & is_one_of("name", names)
    return NOTHING


def is_one_of(column: str, values: list[int] | list[str]) -> ds.Expression:
    return ds.field(column).isin(values) if values else NOTHING


def own_campaigns(person: User) -> list[int]:
    return list(owned(Campaign.objects.order_by(), person).values_list("pk", flat=True))


def is_own_campaign(person: User) -> ds.Expression:
    return is_one_of("campaign_id", own_campaigns(person))


def is_own_publisher(person: User) -> ds.Expression:
    return is_one_of("publisher", own_publishers(person))


def own_publishers(person: User) -> list[str]:
    publishers = owned(Party.objects.publishers().order_by(), person)
    return list(publishers.values_list("seller_id", flat=True))


def is_draft(person: User, column: str = "campaign_id") -> ds.Expression:
    """Finds rows of campaigns that are drafts by now: those are their advertiser's alone again."""
    booked = Booking.objects.order_by().filter(
        publisher__in=owned(Party.objects.publishers().order_by(), person),
        campaign__status=Campaign.Status.DRAFT,
    )
    return is_one_of(column, list(booked.values_list("campaign_id", flat=True)))


def seen_columns(person: User, report: NightReport) -> tuple[Column, ...]:
    if is_exchange_operator(person):
        return report.columns
    return tuple(each for each in report.columns if not each.is_internal)

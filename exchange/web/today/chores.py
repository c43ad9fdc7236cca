"""Tells what is to be tidied up: no visits are lost by it, or nobody can say how many."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator, may_edit
from exchange.findings.models import BlockedCampaign, BookingFinding
from exchange.findings.status import Status, campaigns_in, order_of
from exchange.findings.traffic import DAYS
from exchange.keys.models import ApiKey
from exchange.market.models import Campaign
from exchange.market.visibility import owned, visible
from exchange.reading.failing_tests import find_failing
from exchange.reading.paging import count_listed
from exchange.reading.troubles import find_troubles, seen_findings
from exchange.web.today.losing import BY_CHECK, BY_NIGHT, BY_NOW, NAMED
from exchange.web.today.matters import Action, Matter, Named, count_words

Kind = BookingFinding.Kind
EXPIRES_SOON = timedelta(days=14)
KEYS_TOLD = 5


def tell_tests(person: User) -> Iterator[Matter]:
    failing = find_failing(person)
    if failing:
        named = tuple(
            Named(
                outcome.test_visit.campaign.name,
                reverse("campaign-detail", args=[outcome.test_visit.campaign_id]),
                str(outcome),
            )
            for outcome in failing[:NAMED]
        )
        yield Matter(
            what=f"{count_words(len(failing), 'test visit')} of live campaigns "
            f"{'fails' if len(failing) == 1 else 'fail'}",
            source=BY_NOW,
            named=named,
        )


def tell_ended(person: User) -> Iterator[Matter]:
    ended = campaigns_in(owned(Campaign.objects.kept(), person), Status.ENDED)
    in_order = ended.order_by(*(f"-{field}" for field in order_of(Status.ENDED)))
    count = count_listed(in_order)
    if count != "0":
        yield Matter(
            what=f"{count} campaign{'s' * (count != '1')} ended but set live",
            said="They serve nothing. Prolong them, or pause them.",
            source=BY_NOW,
            actions=(Action("Review", f"{reverse('campaign-list')}?status={Status.ENDED}"),),
        )


def tell_unbooked(person: User) -> Iterator[Matter]:
    idle = BlockedCampaign.objects.filter(kind=BlockedCampaign.NOT_BOOKED).order_by()
    if not is_exchange_operator(person):
        idle = idle.filter(campaign__in=owned(Campaign.objects.kept(), person).values("pk"))
    count = count_listed(idle)
    if count != "0":
        yield Matter(
            what=f"{count} live campaign{'s' * (count != '1')} without an active booking",
            said="Without one, no publisher can show them.",
            source=BY_CHECK,
            actions=(Action("Review", f"{reverse('campaign-list')}?status={Status.BLOCKED}"),),
        )


def tell_silent(person: User) -> Iterator[Matter]:
    count = count_listed(seen_findings(person).filter(kind=Kind.NEVER_MATCHED))
    if count != "0":
        yield Matter(
            what=f"{count} booking{'s' * (count != '1')} that no visit matched for {DAYS} days",
            said="Their publishers had visits. Try one of them to see why.",
            source=BY_NIGHT,
            actions=(Action("See", f"{reverse('finding-list')}?kind={Kind.NEVER_MATCHED}"),),
        )


def tell_cycles(person: User) -> Iterator[Matter]:
    for trouble in find_troubles(person, [Kind.CYCLE]):
        yield Matter(
            what="Visits can go round in a circle",
            said=trouble.told.message,
            source=BY_CHECK,
            actions=(Action("See in the graph", reverse("graph")),),
        )


def tell_keys(person: User) -> Iterator[Matter]:
    if not may_edit(person, "api_key"):
        return
    now = timezone.now()
    keys = visible(ApiKey.objects.usable(now), person).filter(expires_at__lt=now + EXPIRES_SOON)
    for key in keys.order_by("expires_at", "pk")[:KEYS_TOLD]:
        days = (key.expires_at - now).days
        used = (
            f"last used {key.last_used_at:%Y-%m-%d %H:%M} UTC" if key.last_used_at else "never used"
        )
        yield Matter(
            what=f"A key expires {'in ' + count_words(days, 'day') if days else 'today'}",
            said=f"{key.name}, {used}. Make a new one before its program is refused.",
            source=BY_NOW,
            actions=(Action("Keys", reverse("api-key-list")),),
        )

"""Tries a visit on a campaign: its verdict at each publisher that it is booked with, edge by edge.

Status and flight are told apart from the rest: a draft can be tried before it is live. Every truth
comes from `explaining`, and so from the plain evaluator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Party
from exchange.market.visibility import sight
from exchange.reading.explaining import (
    PathExplanation,
    Step,
    check_booking,
    check_campaign,
    explain_expression,
    explain_path,
    find_changes,
    redact_step,
)
from exchange.reading.paths import BookingPath
from exchange.serving.visits import flatten, stamp
from targeting import Catalog

TITLE = "The campaign's targeting"
NOWHERE = "nowhere"  # the publisher of a visit that is tried before anything is booked


@dataclass(frozen=True, slots=True)
class Tried:
    """What one booking makes of a visit. `passes` is about targeting and edges alone; `held` says
    what else keeps it from being eligible at that moment."""

    publisher: Party | None
    targeting: Step
    on_path: PathExplanation
    held: tuple[str, ...] = ()
    changes: tuple[Step, ...] = ()

    @property
    def path(self) -> BookingPath | None:
        return self.on_path.path

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.on_path.steps, self.targeting)

    @property
    def passes(self) -> bool:
        return all(step.truth is True for step in self.steps)

    @property
    def is_eligible(self) -> bool:
        return self.publisher is not None and self.passes and not self.held

    @property
    def failing(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.truth is not True)


def try_visit(
    campaign: Campaign,
    bookings: Iterable[Booking],
    visit: Mapping[str, object],
    viewer: User,
    catalog: Catalog,
    at: datetime | None,
) -> list[Tried]:
    """Tries it at the bookings' publishers, in their order; by the targeting alone without any."""
    moment = at or datetime.now(UTC)
    flat = flatten(visit, {attribute.name for attribute in catalog})
    tried = [try_booking(booking, flat, viewer, catalog, moment) for booking in bookings]
    return tried or [try_targeting(campaign, flat, viewer, catalog, moment)]


def try_booking(
    booking: Booking, flat: dict[str, Any], viewer: User, catalog: Catalog, moment: datetime
) -> Tried:
    publisher, campaign = booking.publisher, booking.campaign
    stamp(flat, publisher.seller_id, moment)
    targeting = explain_targeting(campaign, flat, viewer, catalog)
    on_path = explain_path(booking, viewer, flat, catalog)
    standing = (*check_booking(booking, publisher), *check_campaign(campaign, moment))
    held = tuple(step.detail for step in standing if step.truth is not True)
    return Tried(publisher, targeting, on_path, held, find_changes([targeting], on_path))


def try_targeting(
    campaign: Campaign, flat: dict[str, Any], viewer: User, catalog: Catalog, moment: datetime
) -> Tried:
    stamp(flat, NOWHERE, moment)
    targeting = explain_targeting(campaign, flat, viewer, catalog)
    changes = () if targeting.truth is True else (targeting,)
    held = ("It is not booked with a publisher yet.",)
    return Tried(None, targeting, PathExplanation(), held, changes)


def explain_targeting(
    campaign: Campaign, flat: dict[str, Any], viewer: User, catalog: Catalog
) -> Step:
    owner = campaign.advertiser
    explained = explain_expression(TITLE, campaign.expression, owner, flat, catalog)
    return redact_step(explained, sight(viewer, campaign))

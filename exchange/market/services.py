"""The only way to change the market: checked, allowed, atomic, and followed by a new snapshot."""

from __future__ import annotations

from django.db import transaction

from exchange.accounts.models import User
from exchange.accounts.permissions import require_edit
from exchange.celery import app
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign, Edge, Party
from targeting import Expression, parse


def check_expression(*, text: str) -> Expression:
    """Raises `ExpressionError` with the position of everything that is wrong."""
    return parse(text, load_catalog())


@transaction.atomic
def save_party(*, party: Party, by: User) -> Party:
    require_edit(by, "party")
    party.full_clean()
    party.save()
    request_build_on_commit()
    return party


@transaction.atomic
def save_edge(*, edge: Edge, by: User) -> Edge:
    require_edit(by, "edge")
    edge.full_clean()
    check_expression(text=edge.expression)
    edge.save()
    request_build_on_commit()
    return edge


@transaction.atomic
def save_campaign(*, campaign: Campaign, by: User) -> Campaign:
    require_edit(by, "campaign")
    campaign.full_clean()
    check_expression(text=campaign.expression)
    campaign.save()
    request_build_on_commit()
    return campaign


@transaction.atomic
def save_booking(*, booking: Booking, by: User) -> Booking:
    require_edit(by, "booking")
    booking.full_clean()
    booking.save()
    request_build_on_commit()
    return booking


def request_build_on_commit() -> None:
    """Robust, because the message is only a hint: a broker that is down must not turn a saved
    change into an error."""
    transaction.on_commit(lambda: app.send_task("snapshots.request_build"), robust=True)

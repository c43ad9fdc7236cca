"""The only way for people to change the market: allowed, checked, atomic.

Whatever touches what is served asks for a new snapshot in the same transaction: a change cannot be
saved without its request, also while the broker is down.
"""

from __future__ import annotations

from django.db import transaction

from exchange.accounts.models import User
from exchange.accounts.permissions import require_edit
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.snapshots.requests import request_build
from targeting import Expression, parse


def check_expression(*, text: str) -> Expression:
    """Raises `ExpressionError` with the position of everything that is wrong.

    People have nothing to refer to by `@name` or `$name` yet, and the names of edges are the
    index's own: a campaign must not borrow somebody's edge.
    """
    return parse(text, load_catalog(), definitions={}, lists={})


@transaction.atomic
def save_party(*, party: Party, by: User) -> Party:
    """A new party has no edges yet; a changed one may be named in answers."""
    require_edit(by, "party")
    is_new = party._state.adding
    party.full_clean()
    party.save()
    if not is_new:
        request_build(requested_by=by)
    return party


@transaction.atomic
def save_edge(*, edge: Edge, by: User) -> Edge:
    require_edit(by, "edge")
    edge.full_clean()
    check_expression(text=edge.expression)
    before = Edge.objects.locked(edge.pk)
    edge.save()
    if edge.is_active or (before and before.is_active):
        request_build(requested_by=by)
    return edge


@transaction.atomic
def save_campaign(*, campaign: Campaign, by: User) -> Campaign:
    """Drafts stay out of snapshots, and so do changes to them."""
    require_edit(by, "campaign")
    campaign.full_clean()
    check_expression(text=campaign.expression)
    before = Campaign.objects.locked(campaign.pk)
    campaign.save()
    if campaign.is_live or (before and before.is_live):
        request_build(requested_by=by)
    return campaign


@transaction.atomic
def save_booking(*, booking: Booking, by: User) -> Booking:
    require_edit(by, "booking")
    booking.full_clean()
    before = Booking.objects.locked(booking.pk)
    booking.save()
    if booking.campaign.is_live or (before and before.campaign.is_live):
        request_build(requested_by=by)
    return booking

"""Saving and retiring edges."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from exchange.accounts.models import User
from exchange.market.expressions import check_expression
from exchange.market.impact import pinned_bookings
from exchange.market.models import Edge
from exchange.market.services.saving import keep, lock_before, retire
from exchange.market.uses import note_uses
from exchange.market.visibility import require_change


@transaction.atomic
def save_edge(*, edge: Edge, by: User, expected_version: int | None = None) -> Edge:
    require_change(by, edge)
    before = lock_before(edge, expected_version)
    edge.full_clean()
    if before and (before.seller_id, before.buyer_id) != (edge.seller_id, edge.buyer_id):
        refuse_to_break_pins(before)
    organisation_id = edge.seller.organisation_id
    note_uses(edge, check_expression(text=edge.expression, organisation_id=organisation_id))
    keep(edge, by)
    return edge


@transaction.atomic
def retire_edge(*, edge: Edge, by: User, expected_version: int | None = None) -> Edge:
    """Bookings over the cheapest path take another one; pinned ones could not."""
    require_change(by, edge)
    lock_before(edge, expected_version)
    refuse_to_break_pins(edge)
    retire(edge, by)
    return edge


def refuse_to_break_pins(edge: Edge) -> None:
    count = pinned_bookings(edge).count()
    if count:
        raise ValidationError(
            f"{count:,} bookings are pinned to a path over {edge}. Give them another path first.",
            code="in_use",
        )

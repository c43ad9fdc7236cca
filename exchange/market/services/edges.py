"""Saves and retires edges."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from exchange.accounts.models import User
from exchange.accounts.ownership import owner_id_of, require_change
from exchange.market.impact import pinned_bookings
from exchange.market.models import Edge
from exchange.market.services.expressions import note_own_expression
from exchange.market.services.holding import hold_names, hold_references, refuse_retired
from exchange.market.services.saving import lock_before, one_save, retire, save_row


@one_save()
def save_edge(*, edge: Edge, by: User, expected_version: int | None = None) -> Edge:
    hold_references(edge, "seller", "buyer")
    require_change(by, edge)
    hold_names(of=[owner_id_of(edge)])
    before = lock_before(edge, expected_version)
    edge.full_clean()
    refuse_retired(edge, before, "seller", "buyer")
    if before and (before.seller_id, before.buyer_id) != (edge.seller_id, edge.buyer_id):
        refuse_to_break_pins(before)
    note_own_expression(edge, before)
    save_row(edge, by)
    return edge


@one_save()
def retire_edge(*, edge: Edge, by: User, expected_version: int | None = None) -> Edge:
    """Retires an edge, unless bookings pin it: those over the cheapest path take another one."""
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

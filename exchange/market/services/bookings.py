"""Saving and retiring bookings."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from exchange.accounts.models import User
from exchange.market.models import Booking, Edge
from exchange.market.services.saving import keep, lock_before, retire
from exchange.market.visibility import require_change


@transaction.atomic
def save_booking(*, booking: Booking, by: User, expected_version: int | None = None) -> Booking:
    require_change(by, booking)
    lock_before(booking, expected_version)
    if booking.policy != Booking.Policy.PINNED:
        booking.pinned_edges = []
    booking.full_clean()
    booking.advertiser_id = booking.campaign.advertiser_id
    check_pins(booking)
    keep(booking, by)
    return booking


@transaction.atomic
def retire_booking(*, booking: Booking, by: User, expected_version: int | None = None) -> Booking:
    require_change(by, booking)
    lock_before(booking, expected_version)
    retire(booking, by)
    return booking


def check_pins(booking: Booking) -> None:
    """Pinned edges lead from the publisher to the advertiser, one after the other."""
    edges = Edge.objects.kept().in_bulk(booking.pinned_edges)
    missing = [str(pk) for pk in booking.pinned_edges if pk not in edges]
    if missing:
        raise ValidationError({"pinned_edges": f"There is no edge {', '.join(missing)}."})
    here = booking.publisher_id
    for pk in booking.pinned_edges:
        if edges[pk].seller_id != here:
            raise ValidationError(
                {"pinned_edges": f"{edges[pk]} does not begin where the path has come to."}
            )
        here = edges[pk].buyer_id
    if booking.pinned_edges and here != booking.campaign.advertiser_id:
        raise ValidationError(
            {"pinned_edges": f"The path does not lead to {booking.campaign.advertiser}."}
        )

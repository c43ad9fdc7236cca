"""Saves and retires bookings."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError

from exchange.accounts.models import User
from exchange.accounts.ownership import require_change
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services.holding import hold, hold_references, refuse_retired
from exchange.market.services.saving import lock_before, one_save, retire, save_row


@one_save()
def save_booking(*, booking: Booking, by: User, expected_version: int | None = None) -> Booking:
    if booking.policy != Booking.Policy.PINNED:
        booking.pinned_edges = []
    hold_ends_and_path(booking)
    require_change(by, booking)
    before = lock_before(booking, expected_version)
    booking.full_clean()
    refuse_retired(booking, before, "publisher", "campaign")
    booking.advertiser_id = booking.campaign.advertiser_id
    check_pins(booking)
    save_row(booking, by)
    return booking


@one_save()
def book_publishers(*, campaign: Campaign, publishers: Sequence[Party], by: User) -> list[Booking]:
    """Makes bookings as they are by default, with all of the publishers or with none."""
    # Held all at once, before the campaign: one by one would break the order of locks.
    hold(Party, [campaign.advertiser_id, *(publisher.pk for publisher in publishers)])
    require_change(by, campaign)
    return [
        save_booking(booking=Booking(campaign=campaign, publisher=publisher), by=by)
        for publisher in publishers
    ]


@one_save()
def retire_booking(*, booking: Booking, by: User, expected_version: int | None = None) -> Booking:
    require_change(by, booking)
    lock_before(booking, expected_version)
    retire(booking, by)
    return booking


def hold_ends_and_path(booking: Booking) -> None:
    """Holds the ends and the path, and the advertiser, to whom the saved row refers."""
    campaigns = Campaign.objects.filter(pk=booking.campaign_id)
    hold(Party, [booking.publisher_id, *campaigns.values_list("advertiser_id", flat=True)])
    hold_references(booking, "publisher")
    hold(Edge, booking.pinned_edges)
    hold_references(booking, "campaign")


def check_pins(booking: Booking) -> None:
    """Refuses pinned edges that do not lead from the publisher to the advertiser, edge by edge."""
    edges = Edge.objects.kept().in_bulk(booking.pinned_edges)
    missing = [str(pk) for pk in booking.pinned_edges if pk not in edges]
    if missing:
        raise ValidationError({"pinned_edges": f"There is no edge {', '.join(missing)}."})
    if len(booking.pinned_edges) > booking.hop_limit:
        message = (
            f"The path has {len(booking.pinned_edges)} hops, and the booking allows "
            f"{booking.hop_limit}. Allow more, or choose a shorter one."
        )
        raise ValidationError({"pinned_edges": message})
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

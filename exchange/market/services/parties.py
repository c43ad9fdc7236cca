"""Saves and retires parties."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db.models import Q

from exchange.accounts.models import User
from exchange.accounts.ownership import require_change
from exchange.market.impact import count_uses_of_organisation
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.services.saving import lock_before, one_save, retire, save_row


@one_save()
def save_party(*, party: Party, by: User, expected_version: int | None = None) -> Party:
    """Saves a party. One whose expressions use names of its organisation must stay in it."""
    require_change(by, party)
    before = lock_before(party, expected_version)
    party.full_clean()
    if before and before.organisation_id != party.organisation_id:
        refuse_to_lose_names(before)
    save_row(party, by)
    return party


@one_save()
def retire_party(*, party: Party, by: User, expected_version: int | None = None) -> Party:
    require_change(by, party)
    lock_before(party, expected_version)
    if standing := find_standing(party):
        raise ValidationError(
            f"{party} still has {standing}. Retire those first, or switch them to another party.",
            code="in_use",
        )
    return retire(party, by)


def refuse_to_lose_names(party: Party) -> None:
    """Refuses to move a party whose expressions use its organisation's names: it would lose
    them."""
    count = count_uses_of_organisation(party)
    if count:
        raise ValidationError(
            {
                "organisation": f"{count:,} expressions of {party} use audiences or lists of its"
                " organisation and would lose them."
            },
            code="in_use",
        )


def find_standing(party: Party) -> str:
    """Says in words what would be left without its party."""
    counts = {
        "edges": Edge.objects.kept().filter(Q(seller=party) | Q(buyer=party)).count(),
        "campaigns": Campaign.objects.kept().filter(advertiser=party).count(),
        "bookings": Booking.objects.kept().filter(publisher=party).count(),
    }
    return " and ".join(f"{count:,} {name}" for name, count in counts.items() if count)

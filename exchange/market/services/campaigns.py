"""Saving and retiring campaigns. Test visits run on every save; failing ones must be confirmed."""

from __future__ import annotations

from exchange.accounts.models import User
from exchange.market.models import Campaign
from exchange.market.services.expressions import check_own_expression
from exchange.market.services.holding import hold_names, hold_references, refuse_retired
from exchange.market.services.saving import keep, lock_before, one_save, retire
from exchange.market.services.test_visits import refuse_failing_visits
from exchange.market.uses import note_uses
from exchange.market.visibility import owner_id_of, require_change


@one_save()
def save_campaign(
    *,
    campaign: Campaign,
    by: User,
    expected_version: int | None = None,
    confirmed: bool = False,
) -> Campaign:
    """Drafts stay out of snapshots, and so do changes to them."""
    hold_references(campaign, "advertiser")
    require_change(by, campaign)
    hold_names(of=[owner_id_of(campaign)])
    before = lock_before(campaign, expected_version)
    campaign.full_clean()
    refuse_retired(campaign, before, "advertiser")
    expression = check_own_expression(campaign, before)
    if before and not confirmed:
        refuse_failing_visits(campaign, expression)
    note_uses(campaign, expression)
    keep(campaign, by)
    return campaign


@one_save()
def retire_campaign(
    *, campaign: Campaign, by: User, expected_version: int | None = None
) -> Campaign:
    """Its bookings stay as they are and are served no longer."""
    require_change(by, campaign)
    lock_before(campaign, expected_version)
    retire(campaign, by)
    return campaign

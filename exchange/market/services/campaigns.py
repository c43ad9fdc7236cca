"""Saving and retiring campaigns. Test visits run on every save; failing ones must be confirmed."""

from __future__ import annotations

from django.db import transaction

from exchange.accounts.models import User
from exchange.market.expressions import check_expression
from exchange.market.models import Campaign
from exchange.market.services.saving import keep, lock_before, retire
from exchange.market.services.test_visits import refuse_failing_visits
from exchange.market.uses import note_uses
from exchange.market.visibility import require_change


@transaction.atomic
def save_campaign(
    *,
    campaign: Campaign,
    by: User,
    expected_version: int | None = None,
    confirmed: bool = False,
) -> Campaign:
    """Drafts stay out of snapshots, and so do changes to them."""
    require_change(by, campaign)
    before = lock_before(campaign, expected_version)
    campaign.full_clean()
    organisation_id = campaign.advertiser.organisation_id
    expression = check_expression(text=campaign.expression, organisation_id=organisation_id)
    note_uses(campaign, expression)
    if before and not confirmed:
        refuse_failing_visits(campaign, expression)
    keep(campaign, by)
    return campaign


@transaction.atomic
def retire_campaign(
    *, campaign: Campaign, by: User, expected_version: int | None = None
) -> Campaign:
    """Its bookings stay as they are and are served no longer."""
    require_change(by, campaign)
    lock_before(campaign, expected_version)
    retire(campaign, by)
    return campaign

"""Saves and retires campaigns. Test visits run on what goes live or changes what is live; failing
ones must be confirmed. Stopping is never refused."""

from __future__ import annotations

from exchange.accounts.models import User
from exchange.accounts.ownership import owner_id_of, require_change
from exchange.market.models import Campaign
from exchange.market.services.expressions import note_own_expression
from exchange.market.services.holding import hold_names, hold_references, refuse_retired
from exchange.market.services.saving import lock_before, one_save, retire, save_row
from exchange.market.services.test_visits import refuse_failing_visits


@one_save()
def save_campaign(
    *,
    campaign: Campaign,
    by: User,
    expected_version: int | None = None,
    confirmed: bool = False,
) -> Campaign:
    """Saves a campaign. Drafts stay out of snapshots, and so do changes to them."""
    hold_references(campaign, "advertiser")
    require_change(by, campaign)
    hold_names(of=[owner_id_of(campaign)])
    before = lock_before(campaign, expected_version)
    campaign.full_clean()
    refuse_retired(campaign, before, "advertiser")
    expression = note_own_expression(campaign, before)
    if before and expression and not confirmed and serves_more(campaign, before):
        refuse_failing_visits(campaign, expression)
    save_row(campaign, by)
    return campaign


@one_save()
def retire_campaign(
    *, campaign: Campaign, by: User, expected_version: int | None = None
) -> Campaign:
    """Retires a campaign; its bookings stay as they are and are served no longer."""
    require_change(by, campaign)
    lock_before(campaign, expected_version)
    retire(campaign, by)
    return campaign


def serves_more(campaign: Campaign, before: Campaign) -> bool:
    """Tells whether other visits, or visits at other times, may get the campaign than before."""
    if not campaign.is_live:
        return False
    goes_live = not before.is_live or before.expression != campaign.expression
    starts_earlier = campaign.starts_at < before.starts_at
    ends_later = before.ends_at is not None and (
        campaign.ends_at is None or campaign.ends_at > before.ends_at
    )
    return goes_live or starts_earlier or ends_later

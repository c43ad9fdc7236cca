"""Saves and retires audiences. Expressions refer to one by name, so that stays while it is used."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from exchange.accounts.models import User
from exchange.accounts.ownership import require_change
from exchange.market.impact import impact_of_audience, refuse_if_used
from exchange.market.models import Audience, ValueList
from exchange.market.names import with_audience
from exchange.market.services.expressions import check_own_expression
from exchange.market.services.holding import hold_names
from exchange.market.services.saving import lock_before, one_save, retire, save_row
from exchange.market.services.test_visits import refuse_new_failures
from exchange.market.uses import note_uses


@one_save()
def save_audience(
    *, audience: Audience, by: User, expected_version: int | None = None, confirmed: bool = False
) -> Audience:
    """Saves an audience. Failing test visits of campaigns that use it must be confirmed."""
    require_change(by, audience)
    hold_own_names(audience)
    before = lock_before(audience, expected_version)
    audience.full_clean()
    refuse_shared_name(audience)
    if before and (before.name, before.organisation_id) != (
        audience.name,
        audience.organisation_id,
    ):
        refuse_if_used(impact_of_audience(before), f"@{before.name} cannot be renamed or moved")
    expression = check_own_expression(audience, before, name=audience.name)
    if before and not confirmed:
        refuse_new_failures(
            {f"audience:{audience.pk}"},
            lambda names, catalog: with_audience(names, audience, catalog),
        )
    note_uses(audience, expression)
    save_row(audience, by)
    return audience


@one_save()
def retire_audience(
    *, audience: Audience, by: User, expected_version: int | None = None
) -> Audience:
    require_change(by, audience)
    hold_own_names(audience)
    lock_before(audience, expected_version)
    refuse_if_used(impact_of_audience(audience), f"@{audience.name} cannot be retired")
    return retire(audience, by)


def hold_own_names(row: Audience | ValueList) -> None:
    """Holds the names of the organisation that the row is in, and of the one that it shall be
    in."""
    former = type(row)._default_manager.filter(pk=row.pk).values_list("organisation_id", flat=True)
    hold_names(alone=[row.organisation_id, *former])


def refuse_shared_name(row: Audience | ValueList) -> None:
    """Refuses a name with two meanings: an organisation's own and the operator's are apart."""
    others = type(row)._default_manager.filter(name=row.name, retired_at=None)
    others = others.exclude(pk=row.pk).exclude(organisation_id=row.organisation_id)
    if not row.organisation.is_operator:
        others = others.filter(organisation__is_operator=True)
    if others.exists():
        whose = "an organisation" if row.organisation.is_operator else "the exchange"
        raise ValidationError({"name": f"“{row.name}” is already a name that {whose} uses."})

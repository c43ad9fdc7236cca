"""Saves and retires attributes of the catalogue, which is one for all."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from exchange.accounts.models import User
from exchange.accounts.ownership import require_change
from exchange.market.catalog import as_engine_attribute
from exchange.market.impact import check_domain_users, impact_of_attribute, refuse_if_used
from exchange.market.models import Attribute
from exchange.market.services.holding import CATALOGUE, hold_names
from exchange.market.services.saving import lock_before, one_save, retire, save_row
from targeting.catalog import CatalogError


@one_save()
def save_attribute(
    *, attribute: Attribute, by: User, expected_version: int | None = None
) -> Attribute:
    """Saves an attribute. Name and type stay for ever; a domain may be closed only around the
    values in use."""
    require_change(by, attribute)
    hold_names(alone=[CATALOGUE])
    before = lock_before(attribute, expected_version)
    attribute.full_clean()
    check_compiles(attribute)
    if before:
        refuse_another_meaning(before, attribute)
        check_domain_users(before, attribute)
    save_row(attribute, by)
    return attribute


@one_save()
def retire_attribute(
    *, attribute: Attribute, by: User, expected_version: int | None = None
) -> Attribute:
    require_change(by, attribute)
    hold_names(alone=[CATALOGUE])
    lock_before(attribute, expected_version)
    refuse_if_used(impact_of_attribute(attribute), f"{attribute.name} cannot be retired")
    if attribute.is_required:
        raise ValidationError(f"{attribute.name} is required of every visit: end that first.")
    retire(attribute, by)
    return attribute


def check_compiles(attribute: Attribute) -> None:
    """Asks the engine, which has the last word on names, types and domains."""
    try:
        as_engine_attribute(attribute)
    except (CatalogError, TypeError, ValueError) as error:
        raise ValidationError(str(error)) from error


def refuse_another_meaning(before: Attribute, after: Attribute) -> None:
    if before.name != after.name:
        raise ValidationError({"name": "An attribute keeps its name: expressions use it."})
    if before.type != after.type:
        raise ValidationError({"type": "An attribute keeps its type. Create another attribute."})

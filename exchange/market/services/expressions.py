"""Checks the expression of what is about to be saved, while its names are held."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from exchange.accounts.ownership import owner_id_of
from exchange.market.expressions import check_expression
from exchange.market.models import Audience, Campaign, Edge
from exchange.market.uses import note_uses
from targeting import Expression, ExpressionError


def check_own_expression(
    row: Audience | Campaign | Edge,
    before: Audience | Campaign | Edge | None,
    *,
    name: str | None = None,
) -> Expression:
    """Raises `ExpressionError` for what is wrong, and refuses new uses of a retired attribute: it
    still compiles, for old expressions, but visits no longer carry it."""
    text = row.expression
    expression = check_expression(text=text, organisation_id=owner_id_of(row), name=name)
    if before is None or before.expression != text:
        for attribute in sorted(expression.attributes):
            if expression.catalog[attribute].retired:
                message = f"“{attribute}” is retired: visits no longer carry it."
                raise ValidationError({"expression": message}, code="retired")
    return expression


def note_own_expression(row: Campaign | Edge, before: Campaign | Edge | None) -> Expression | None:
    """Checks the expression and notes what it uses. None for one that no longer compiles and is
    left as it was: whatever became of a text, what has it can be stopped."""
    try:
        expression = check_own_expression(row, before)
    except ExpressionError:
        if before is None or before.expression != row.expression or is_serving(row):
            raise
        return None
    note_uses(row, expression)
    return expression


def is_serving(row: Campaign | Edge) -> bool:
    """Tells whether the row's expression can decide about visits."""
    return row.is_live if isinstance(row, Campaign) else row.is_active

"""Counts on the night's sample what an audience or a list reaches: visits and users a day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from exchange.market.catalog import load_catalog
from exchange.market.expressions import read_expression
from exchange.market.models import Audience, Campaign, Edge, ValueList
from exchange.market.names import load_values
from exchange.market.vocabulary import find_holder
from exchange.reading.impact import Reached, measure
from targeting import ExpressionError
from targeting.catalog import AttributeType

MOST_VALUES = 20_000  # a longer list would have to be written out for a single figure
VALUES_LOOKED_AT = 2_000
USES_LOOKED_AT = 500
SETS = (AttributeType.STRING_SET, AttributeType.INTEGER_SET)


@dataclass(frozen=True, slots=True)
class ListReach:
    """What visits have a value of the list in this attribute."""

    attribute: str
    reached: Reached


def reach_of_audience(audience: Audience) -> Reached | None:
    """Counts what an audience reaches; gives None if no night was counted yet, or if it no longer
    compiles."""
    try:
        expression = read_expression(
            text=audience.expression,
            catalog=load_catalog(),
            organisation_id=audience.organisation_id,
        )
    except ExpressionError:
        return None
    return measure(expression, None)


def reach_of_list(value_list: ValueList) -> ListReach | None:
    """Counts in the attribute that most uses of the list ask, or that most of its values were seen
    in; None where there is no such, or no night was counted yet."""
    if not 0 < value_list.value_count <= MOST_VALUES:
        return None
    found = find_use(value_list) or guess_use(value_list)
    if found is None:
        return None
    name, operator = found
    try:
        expression = read_expression(
            text=f"{name} {operator} ${value_list.name}",
            catalog=load_catalog(),
            organisation_id=value_list.organisation_id,
        )
    except ExpressionError:
        return None
    reached = measure(expression, None)
    return ListReach(name, reached) if reached else None


def find_use(value_list: ValueList) -> tuple[str, str] | None:
    """Finds attribute and operator of most expressions that use it; a negation asks the same."""
    word = f"list:{value_list.pk}"
    counted: Counter[tuple[str, str]] = Counter()
    for model in (Campaign, Edge, Audience):
        rows = model.objects.kept().filter(uses__contains=[word]).order_by("-pk")
        for uses in rows.values_list("uses", flat=True)[:USES_LOOKED_AT]:
            counted.update(
                (parts[2], parts[3])
                for use in uses
                if use.startswith(f"{word}:") and len(parts := use.split(":", 3)) == 4
            )
    return counted.most_common(1)[0][0] if counted else None


def guess_use(value_list: ValueList) -> tuple[str, str] | None:
    values = load_values(value_list.pk, value_list.current_number, value_list.type)
    name = find_holder([str(value) for value in values[:VALUES_LOOKED_AT]])
    catalog = load_catalog()
    if name is None:
        return None
    return name, "one of" if catalog[name].type in SETS else "in"

"""Reads the attribute catalogue from its table, in the form that the engine takes."""

from __future__ import annotations

import targeting
from exchange.market.models import Attribute


def load_catalog() -> targeting.Catalog:
    return targeting.Catalog(as_engine_attribute(row) for row in Attribute.objects.all())


def as_engine_attribute(row: Attribute) -> targeting.Attribute:
    return targeting.Attribute(
        name=row.name,
        type=targeting.AttributeType(row.type),
        domain=tuple(row.values) or None,
        required=row.is_required,
        description=row.description,
        openrtb=row.openrtb_path,
        personal=row.is_personal,
        retired=row.is_retired,
    )

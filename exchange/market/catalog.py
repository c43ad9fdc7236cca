"""The attribute catalogue as the engine wants it, read from its table."""

from __future__ import annotations

from exchange.market.models import Attribute
from targeting import Catalog


def load_catalog() -> Catalog:
    return Catalog.of(**dict(Attribute.objects.values_list("name", "type")))

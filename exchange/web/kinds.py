"""Lists, by their slugs, the kinds that share pages which every kind has: retire, show the past."""

from __future__ import annotations

from django.urls import reverse

from exchange.kinds import KINDS as ALL_KINDS
from exchange.kinds import Kind
from exchange.market.models import Revised

KINDS = {kind.slug: kind for kind in ALL_KINDS.values() if kind.has_past}


def address_of(kind: Kind, row: Revised) -> str:
    """Returns the address of the row's page; a test visit is shown among its campaign's tests."""
    if kind.shown_with:
        return reverse(f"{kind.shown_with}-tests", args=[getattr(row, f"{kind.shown_with}_id")])
    return reverse(kind.url_name("detail"), args=[row.pk])

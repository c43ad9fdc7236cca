"""Fills the attribute catalogue from `attributes.json`: adds what is missing, changes nothing else.

Runs after every `migrate` rather than in a data migration, so that an attribute added to the file
needs no migration of its own and a flushed test database gets its catalogue back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.apps import apps as installed_apps
from django.apps.registry import Apps

from targeting import Attribute, AttributeType, Catalog

ATTRIBUTES_FILE = Path(__file__).with_name("attributes.json")


def read_attributes() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(ATTRIBUTES_FILE.read_text(encoding="utf-8"))
    return rows


def seeded_catalog() -> Catalog:
    """Builds the catalogue that a new exchange starts with, without a database."""
    return Catalog(
        Attribute(
            name=row["name"],
            type=AttributeType(row["type"]),
            domain=tuple(row.get("values", ())) or None,
            required=row.get("is_required", False),
            openrtb=row["openrtb_path"],
        )
        for row in read_attributes()
    )


def seed_attributes(*, using: str, apps: Apps = installed_apps, **_: object) -> None:
    """Receives `post_migrate`; `apps` is the state that the migrations led to, and is not given
    after a flush."""
    try:
        attribute = apps.get_model("market", "Attribute")
    except LookupError:  # migrated back to nothing
        return
    from exchange.market.recording import Source, recording  # its models are not there yet above

    rows = [attribute(**row) for row in read_attributes()]
    with recording(by=None, source=Source.IMPORT):
        attribute._default_manager.using(using).bulk_create(rows, ignore_conflicts=True)

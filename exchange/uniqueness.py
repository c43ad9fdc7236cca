"""Saves a row that a rival may have saved a moment before.

The check before a save tells a person which name is taken; between the check and the save somebody
else may take it, and then the database refuses. Here, and only here, its refusal becomes the same
words that the check has.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.db.models import Model

UNIQUE_VIOLATION = "23505"


def save_unique(row: Model, *, unchecked: Collection[str] = ()) -> None:
    """Saves a row; raises the `ValidationError` of its own check where another row stands in the
    way: whoever violates a unique constraint has waited for the other to be committed, so the check
    sees it now. `unchecked` are fields that the check leaves out."""
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        if getattr(error.__cause__, "pgcode", None) == UNIQUE_VIOLATION:
            row.full_clean(exclude=set(unchecked))
        raise

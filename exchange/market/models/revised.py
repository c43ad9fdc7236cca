"""Gives everything that people edit a version, an end, and a kept past.

Triggers do it, so that bulk and raw SQL cannot get around it: they count the version up, write a
revision per changed row (once per statement), and refuse to delete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pghistory
import pgtrigger
from django.conf import settings
from django.db import models

# Columns of book-keeping: a save that changes nothing else is not a change.
NOT_CONTENT = ("version", "created_at", "updated_at", "updated_by", "uses", "uses_digest")
COUNT_UP = "NEW.version = OLD.version + 1; RETURN NEW;"
REFUSE_DELETE = """
    RAISE EXCEPTION 'rows of % are retired, not deleted', TG_TABLE_NAME USING
        ERRCODE = 'restrict_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'retired_not_deleted';
"""

Kept = TypeVar("Kept", bound="Revised")


class Revised(models.Model):
    """What people edit. `version` is the lock of optimistic saving: only triggers change it, by one
    per change."""

    version = models.PositiveIntegerField(default=1, db_default=1, editable=False)
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        editable=False,
        db_index=False,
    )

    class Meta:
        abstract = True

    @property
    def is_retired(self) -> bool:
        return self.retired_at is not None


def keep_revisions(*, leave_out: Sequence[str] = ()) -> Callable[[type[Kept]], type[Kept]]:
    """Gives a model its revisions (`<Model>Event` rows), its counted versions, and no delete."""

    def decorate(model: type[Kept]) -> type[Kept]:
        kept_out = [*NOT_CONTENT, *leave_out]
        names = {field.name for field in model._meta.fields}
        changed = pgtrigger.AnyChange(exclude=[name for name in kept_out if name in names])
        pgtrigger.register(
            pgtrigger.Trigger(
                name="count_version",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=changed,
                func=COUNT_UP,
            ),
            pgtrigger.Trigger(
                name="refuse_delete",
                when=pgtrigger.Before,
                operation=pgtrigger.Delete,
                level=pgtrigger.Statement,
                func=REFUSE_DELETE,
            ),
        )(model)
        not_kept = ["created_at", "updated_at", "uses", "uses_digest", *leave_out]
        track = pghistory.track(
            pghistory.InsertEvent(),
            pghistory.UpdateEvent(condition=changed),
            exclude=[name for name in not_kept if name in names],
            # Copies who and from where into the row: what is added to a context later stays out.
            context_field=pghistory.ContextJSONField(),
            context_id_field=pghistory.ContextUUIDField(),
            append_only=True,
            level=pgtrigger.Statement,
        )
        tracked: type[Kept] = track(model)
        return tracked

    return decorate


def while_kept(**conditions: object) -> models.Q:
    """Conditions a unique constraint: a retired row does not stand in the way of a new one."""
    return models.Q(retired_at__isnull=True, **conditions)

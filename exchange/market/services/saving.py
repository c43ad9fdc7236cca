"""Holds what all saves share: the transaction, the lock, the version that the person saw, the name
under the change.

Optimistic: the row is locked for the save only, and a save that was made from an older version is
refused with both. Nothing is ever overwritten unseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.core.exceptions import ValidationError
from django.db import OperationalError, transaction
from django.utils import timezone

from exchange.accounts.models import User
from exchange.announcing import announce
from exchange.market.models import Revised
from exchange.market.recording import recording
from exchange.uniqueness import save_unique

Row = TypeVar("Row", bound=Revised)

# The task that brings what was saved to the servers, by name: its app stands above the market.
WRITE_CHANGES = "snapshots.write_changes"
# Postgres' codes for a circle of locks, and for a lock that did not come in time.
NOT_GRANTED = frozenset({"40P01", "55P03"})


class StaleSaveError(ValidationError):
    """Says that somebody saved meanwhile: `yours` was to be saved, `theirs` is there now."""

    def __init__(self, yours: Revised, theirs: Revised, expected_version: int) -> None:
        super().__init__(
            f"{theirs} was changed while you were editing: yours began with version "
            f"{expected_version}, now there is version {theirs.version}.",
            code="stale",
        )
        self.yours = yours
        self.theirs = theirs
        self.expected_version = expected_version


@contextmanager
def one_save() -> Iterator[None]:
    """Makes all of a service's changes, or none. Services take their locks in one order
    (`holding`), so a lock that is not granted is held by SQL by hand, or for too long: no fault of
    the person's, who only has to save again."""
    try:
        with transaction.atomic():
            yield
    except OperationalError as error:
        if getattr(error.__cause__, "pgcode", None) not in NOT_GRANTED:
            raise
        raise ValidationError(
            "Somebody else is changing what this relies on. Nothing is saved yet: save it again.",
            code="busy",
        ) from error


def lock_before(row: Row, expected_version: int | None) -> Row | None:
    """Reads the row as it is and locks it until the transaction ends; None if it is new. Without an
    expected version the one that `row` was read with counts."""
    if row._state.adding:
        return None
    # No join: after a wait the joined row would be the old row's, beside the new row.
    before: Row = type(row)._default_manager.select_for_update().get(pk=row.pk)
    expected = row.version if expected_version is None else expected_version
    if before.version != expected:
        raise StaleSaveError(row, before, expected)
    if before.is_retired:
        raise ValidationError(f"{before} is retired. Create a new one instead.", code="retired")
    return before


def save_row(row: Row, by: User) -> Row:
    """Saves under the person's name. The version is the database's to count."""
    row.updated_by = by
    with recording(by=by):
        save_unique(row)
    row.refresh_from_db(fields=["version"])
    announce_changes()
    return row


def retire(row: Row, by: User) -> Row:
    row.retired_at = timezone.now()
    return save_row(row, by)


def announce_changes() -> None:
    """Announces them once the transaction is over: triggers have noted what it changed, so a lost
    message costs a second at most."""
    transaction.on_commit(lambda: announce(WRITE_CHANGES), robust=True)

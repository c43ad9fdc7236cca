"""Takes the locks of all services: what a save relies on stays as it is until the save is over.

One order for all, so that nobody waits in a circle: parties, names, edges, campaigns, then the row
itself (`saving.lock_before`), then the values that its expression names. Of one kind they are taken
by ascending id. What is held is read again: what the caller has in memory may be older.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import connection

from exchange.accounts.models import Organisation
from exchange.market.models import Revised

Row = TypeVar("Row", bound=Revised)

# The first of two lock keys: any number that nothing else in this database uses as such.
NAMES_LOCK = 7_301
CATALOGUE = 0  # beside the ids of organisations, which begin with 1
LARGEST_KEY = 2**31


def hold_names(*, of: Iterable[int | None] = (), alone: Iterable[int | None] = ()) -> None:
    """Locks what attributes, audiences and lists mean: the catalogue's names, the operator's, and
    those of the organisations `of`, which others may read as well. Whoever changes or ends names
    holds those of their organisation `alone`.

    Locks on organisations, not on the audiences themselves: a circle may close over audiences that
    neither of two saves names. An organisation waits for its own people and the operator only.
    """
    kept_alone = {organisation_id for organisation_id in alone if organisation_id is not None}
    operators = Organisation.objects.filter(is_operator=True).values_list("pk", flat=True)
    keys = {CATALOGUE, *operators, *kept_alone}
    keys |= {organisation_id for organisation_id in of if organisation_id is not None}
    calls = [
        f"pg_advisory_xact_lock{'' if key in kept_alone else '_shared'}({NAMES_LOCK}, %s)"
        for key in sorted(keys)
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(calls)}", [key % LARGEST_KEY for key in sorted(keys)])


def hold(model: type[Row], ids: Iterable[int | None]) -> dict[int, Row]:
    """Reads these rows as they are now, and keeps everyone from changing or retiring them."""
    wanted = sorted({pk for pk in ids if pk is not None})
    if not wanted:
        return {}
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR SHARE",  # noqa: S608  (ours)
            [wanted],
        )
    return model._default_manager.in_bulk(wanted)


def hold_references(row: Revised, *names: str) -> None:
    """Holds the rows of one kind that `row` refers to by these names, and has it refer to them as
    they are now. What is missing or unknown is told by whoever checks the row."""
    fields = [row._meta.get_field(name) for name in names]
    model: Any = fields[0].related_model
    held = hold(model, [getattr(row, field.attname) for field in fields])  # type: ignore[union-attr]
    for field in fields:
        now = held.get(getattr(row, field.attname))  # type: ignore[union-attr]
        if now is not None:
            setattr(row, field.name, now)


def refuse_retired(row: Row, before: Row | None, *names: str) -> None:
    """Refuses a new reference to what is retired; a reference that was there before may stay."""
    for name in names:
        attname = f"{name}_id"
        referred_id = getattr(row, attname)
        if referred_id is None or (before and getattr(before, attname) == referred_id):
            continue
        if (referred := getattr(row, name)).is_retired:
            raise ValidationError(
                {name: f"{referred} is retired. Choose another {name}."}, code="retired"
            )

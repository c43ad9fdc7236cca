"""Saving and retiring value lists. Values come as a whole; the difference is kept with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from django.core.exceptions import ValidationError
from django.db import connection

from exchange.accounts.models import User
from exchange.market.impact import check_list_users, impact_of_value_list, refuse_if_used
from exchange.market.models import ValueList, ValueListVersion
from exchange.market.models.value_lists import MAX_VALUES
from exchange.market.names import Values, load_values, with_values
from exchange.market.services.audiences import hold_own_names, refuse_shared_name
from exchange.market.services.saving import keep, lock_before, one_save, retire
from exchange.market.services.test_visits import refuse_new_failures
from exchange.market.visibility import require_change

FIRST_SHOWN = 10
MAX_VALUE_CHARACTERS = 1_000
INTEGER_RANGE = range(-(2**63), 2**63)
# As one text: as a list, the statement alone would have a million constants to parse.
INSERT_VERSION = """
    INSERT INTO market_valuelistversion
        (value_list_id, number, values, added_count, removed_count, created_at, created_by_id)
    VALUES (%s, %s, %s::text[], %s, %s, now(), %s)
"""


@dataclass(frozen=True, slots=True)
class ValuesDifference:
    added_count: int
    removed_count: int
    first_added: tuple[str | int, ...] = ()
    first_removed: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"{self.added_count:,} added, {self.removed_count:,} removed"


@one_save()
def save_value_list(
    *,
    value_list: ValueList,
    by: User,
    values: Iterable[str | int] | None = None,
    expected_version: int | None = None,
    confirmed: bool = False,
) -> ValueList:
    """Without values those that are there stay. A list is never empty: nobody could use it. Test
    visits of the campaigns that use it are run; failing ones must be confirmed."""
    require_change(by, value_list)
    hold_own_names(value_list)
    before = lock_before(value_list, expected_version)
    value_list.full_clean()
    refuse_shared_name(value_list)
    if before:
        refuse_to_lose_users(before, value_list)
    if before is None and values is None:
        raise ValidationError({"values": "A list needs at least one value."})
    if values is not None:
        cleaned = clean_values(value_list, values)
        if before and not confirmed:
            refuse_new_failures(
                {f"list:{value_list.pk}"},
                lambda names, catalog: with_values(names, value_list, cleaned, catalog),
            )
        save_values(value_list, cleaned, before, by)
    else:
        keep(value_list, by)
    return value_list


@one_save()
def retire_value_list(
    *, value_list: ValueList, by: User, expected_version: int | None = None
) -> ValueList:
    require_change(by, value_list)
    hold_own_names(value_list)
    lock_before(value_list, expected_version)
    refuse_if_used(impact_of_value_list(value_list), f"${value_list.name} cannot be retired")
    return retire(value_list, by)


def compare_values(*, value_list: ValueList, values: Iterable[str | int]) -> ValuesDifference:
    """What saving these values would add and remove; raises `ValidationError` like the save."""
    current: Values = () if value_list._state.adding else current_values(value_list)
    return difference_of(current, clean_values(value_list, values))


def current_values(value_list: ValueList) -> Values:
    return load_values(value_list.pk, value_list.current_number, value_list.type)


def difference_of(before: Values, after: Values) -> ValuesDifference:
    old, new = set(before), set(after)
    added = [value for value in after if value not in old]
    removed = [value for value in before if value not in new]
    return ValuesDifference(
        len(added), len(removed), tuple(added[:FIRST_SHOWN]), tuple(removed[:FIRST_SHOWN])
    )


def refuse_to_lose_users(before: ValueList, after: ValueList) -> None:
    if before.type != after.type:
        raise ValidationError({"type": "A list keeps its type. Create another list."})
    if (before.name, before.organisation_id) != (after.name, after.organisation_id):
        refuse_if_used(impact_of_value_list(before), f"${before.name} cannot be renamed or moved")


def save_values(value_list: ValueList, values: Values, before: ValueList | None, by: User) -> None:
    current: Values = () if before is None else current_values(before)
    difference = difference_of(current, values)
    if before and not difference.added_count and not difference.removed_count:
        keep(value_list, by)
        return
    if before:
        check_list_users(before, values)
    value_list.current_number = before.current_number + 1 if before else 1
    value_list.value_count = len(values)
    keep(value_list, by)
    write_version(value_list, values, difference, by)


def write_version(
    value_list: ValueList, values: Values, difference: ValuesDifference, by: User
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            INSERT_VERSION,
            [
                value_list.pk,
                value_list.current_number,
                as_array_text(values),
                difference.added_count,
                difference.removed_count,
                by.pk,
            ],
        )


def as_array_text(values: Values) -> str:
    """Postgres's own form of an array."""
    escaped = (str(value).replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return '{"' + '","'.join(escaped) + '"}'


def clean_values(value_list: ValueList, values: Iterable[str | int]) -> Values:
    """Sorted, without repetition, of the list's type."""
    given = list(islice(values, 4 * MAX_VALUES))
    kept: Values
    if value_list.type == ValueList.Type.INTEGER:
        kept = tuple(sorted({read_integer(value) for value in given}))
    else:
        kept = tuple(sorted({read_text(value) for value in given}))
    if not kept:
        raise ValidationError({"values": "A list needs at least one value."}, code="empty")
    if len(kept) > MAX_VALUES:
        raise ValidationError({"values": f"A list has at most {MAX_VALUES:,} values."})
    return kept


def read_integer(value: str | int) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ValidationError({"values": f"“{value}” is not a whole number."}) from None
    if number not in INTEGER_RANGE:
        raise ValidationError({"values": f"{number} does not fit into 64 bits."})
    return number


def read_text(value: str | int) -> str:
    text = str(value)
    if not text or len(text) > MAX_VALUE_CHARACTERS or "\0" in text:
        raise ValidationError(
            {"values": f"A value has 1 to {MAX_VALUE_CHARACTERS:,} characters: “{text[:40]}”."}
        )
    return text


def read_version(*, value_list: ValueList, number: int) -> ValueListVersion:
    return ValueListVersion.objects.defer("values").get(value_list=value_list, number=number)

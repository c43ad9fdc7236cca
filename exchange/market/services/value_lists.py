"""Saves and retires value lists. Values come as a whole, or some are added and removed; every new
version keeps how it differs from the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection

from exchange.accounts.models import User
from exchange.accounts.ownership import require_change
from exchange.market.impact import check_list_users, impact_of_value_list, refuse_if_used
from exchange.market.models import ValueList, ValueListVersion
from exchange.market.models.value_lists import MAX_VALUES
from exchange.market.names import Values, load_values, with_values
from exchange.market.services.audiences import hold_own_names, refuse_shared_name
from exchange.market.services.saving import lock_before, one_save, retire, save_row
from exchange.market.services.test_visits import refuse_new_failures

FIRST_SHOWN = 10
MAX_GIVEN = 4 * MAX_VALUES  # with repetitions
MAX_VALUE_CHARACTERS = 1_000
NOT_EMPTY = "A list needs at least one value."
TOO_MANY = f"A list has at most {MAX_VALUES:,} values."
INTEGER_RANGE = range(-(2**63), 2**63)
# Passes the values as one text: as a list, the statement would have a million constants to parse.
INSERT_VERSION = """
    INSERT INTO market_valuelistversion
        (value_list_id, number, values, added_count, removed_count, first_added, first_removed,
        created_at, created_by_id)
    VALUES (%s, %s, %s::text[], %s, %s, %s::text[], %s::text[], now(), %s)
"""


class BadValueError(ValidationError):
    """Refuses one of the values that were given; `position` counts them from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__({"values": message})
        self.position = position


@dataclass(frozen=True, slots=True)
class CleanValues:
    """Values sorted, each once; `duplicate_count` of those that were given are left out."""

    values: Values
    duplicate_count: int


@dataclass(frozen=True, slots=True)
class ValuesDifference:
    """What a save changes. `duplicate_count` are values that were given twice or, to be added, were
    there already; `missing_count` are those that were to be removed and were not there."""

    added_count: int
    removed_count: int
    first_added: tuple[str | int, ...] = ()
    first_removed: tuple[str | int, ...] = ()
    duplicate_count: int = 0
    missing_count: int = 0

    def __str__(self) -> str:
        words = [f"{self.added_count:,} added", f"{self.removed_count:,} removed"]
        if self.duplicate_count:
            words.append(f"{self.duplicate_count:,} duplicate{'s' * (self.duplicate_count != 1)}")
        if self.missing_count:
            words.append(f"{self.missing_count:,} not in the list")
        return ", ".join(words)


@one_save()
def save_value_list(
    *,
    value_list: ValueList,
    by: User,
    values: Iterable[str | int] | None = None,
    expected_version: int | None = None,
    confirmed: bool = False,
) -> ValueList:
    """Saves the list; without `values` those that are there stay. A list is never empty: nobody
    could use it. Test visits of the campaigns that use it are run; failing ones must be
    confirmed."""
    require_change(by, value_list)
    hold_own_names(value_list)
    before = lock_before(value_list, expected_version)
    value_list.full_clean()
    refuse_shared_name(value_list)
    if before:
        refuse_to_lose_users(before, value_list)
    if before is None and values is None:
        raise ValidationError({"values": NOT_EMPTY})
    if values is not None:
        cleaned = clean_whole(value_list, values).values
        save_checked(value_list, cleaned, before, by, confirmed=confirmed)
    else:
        save_row(value_list, by)
    return value_list


@one_save()
def change_values(
    *,
    value_list: ValueList,
    by: User,
    add: Iterable[str | int] = (),
    remove: Iterable[str | int] = (),
    confirmed: bool = False,
) -> ValuesDifference:
    """Adds and removes some, whatever somebody else did to the list meanwhile."""
    require_change(by, value_list)
    hold_own_names(value_list)
    value_list.refresh_from_db()
    before = lock_before(value_list, None)
    wanted, unwanted = clean_values(value_list, add), clean_values(value_list, remove)
    current = current_values(value_list)
    values = combine(current, wanted.values, unwanted.values)
    difference = difference_of(current, values)
    if difference.added_count or difference.removed_count:
        save_checked(value_list, values, before, by, confirmed=confirmed)
    return replace(
        difference,
        duplicate_count=wanted.duplicate_count + len(wanted.values) - difference.added_count,
        missing_count=len(unwanted.values) - difference.removed_count,
    )


def values_after(
    *, value_list: ValueList, add: Iterable[str | int] = (), remove: Iterable[str | int] = ()
) -> Values:
    """Gives what `change_values` would leave in the list; raises `ValidationError` like it."""
    wanted, unwanted = clean_values(value_list, add), clean_values(value_list, remove)
    return combine(current_values(value_list), wanted.values, unwanted.values)


def combine(current: Values, wanted: Values, unwanted: Values) -> Values:
    after: set[Any] = {*current, *wanted}.difference(unwanted)
    if not after:
        raise ValidationError(f"{NOT_EMPTY} Retire the list instead.")
    refuse_too_many(len(after))
    return tuple(sorted(after))


def save_checked(
    value_list: ValueList, values: Values, before: ValueList | None, by: User, *, confirmed: bool
) -> None:
    if before and not confirmed:
        refuse_new_failures(
            {f"list:{value_list.pk}"},
            lambda names, catalog: with_values(names, value_list, values, catalog),
        )
    save_values(value_list, values, before, by)


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
    """Finds what saving these values would add and remove; raises `ValidationError` like it."""
    current: Values = () if value_list._state.adding else current_values(value_list)
    given = clean_whole(value_list, values)
    return replace(difference_of(current, given.values), duplicate_count=given.duplicate_count)


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
        save_row(value_list, by)
        return
    if before:
        check_list_users(before, values)
    value_list.current_number = before.current_number + 1 if before else 1
    value_list.value_count = len(values)
    save_row(value_list, by)
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
                as_array_text(difference.first_added),
                as_array_text(difference.first_removed),
                by.pk,
            ],
        )


def as_array_text(values: Iterable[str | int]) -> str:
    """Writes values in Postgres's own form of an array."""
    escaped = (str(value).replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join(f'"{text}"' for text in escaped) + "}"


def clean_whole(value_list: ValueList, values: Iterable[str | int]) -> CleanValues:
    cleaned = clean_values(value_list, values)
    if not cleaned.values:
        raise ValidationError({"values": NOT_EMPTY})
    return cleaned


def clean_values(value_list: ValueList, values: Iterable[str | int]) -> CleanValues:
    """Reads values of the list's type; raises `BadValueError` for the first that cannot be kept."""
    read: Callable[[str | int, int], str | int] = (
        read_integer if value_list.type == ValueList.Type.INTEGER else read_text
    )
    kept: set[Any] = set()
    count = 0
    for count, value in enumerate(values, 1):
        if count > MAX_GIVEN:
            raise BadValueError(f"More than {MAX_GIVEN:,} values are given at once.", count - 1)
        kept.add(read(value, count - 1))
        if len(kept) > MAX_VALUES:
            raise BadValueError(TOO_MANY, count - 1)
    return CleanValues(tuple(sorted(kept)), count - len(kept))


def refuse_too_many(count: int) -> None:
    if count > MAX_VALUES:
        raise ValidationError({"values": f"{TOO_MANY} These would be {count:,}."})


def read_integer(value: str | int, position: int) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise BadValueError(f"“{str(value)[:40]}” is not a whole number.", position) from None
    if number not in INTEGER_RANGE:
        raise BadValueError(f"{number} does not fit into 64 bits.", position)
    return number


def read_text(value: str | int, position: int) -> str:
    text = str(value)
    if not text or len(text) > MAX_VALUE_CHARACTERS or "\0" in text:
        raise BadValueError(
            f"A value has 1 to {MAX_VALUE_CHARACTERS:,} characters: “{text[:40]}”.", position
        )
    return text


def read_version(*, value_list: ValueList, number: int) -> ValueListVersion:
    return ValueListVersion.objects.defer("values").get(value_list=value_list, number=number)

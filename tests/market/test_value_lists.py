"""Value lists: cleaned, versioned, compared; a million values without pain."""

from __future__ import annotations

import time
from itertools import chain, repeat

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, InternalError, connection, transaction

from exchange.accounts.models import Organisation, User
from exchange.market.history import difference, revisions_of
from exchange.market.models import ValueList, ValueListVersion
from exchange.market.names import load_values
from exchange.market.services import (
    BadValueError,
    change_values,
    compare_values,
    save_value_list,
)
from exchange.snapshots.models import Change

MILLION = 1_000_000


@pytest.fixture
def cities(operator: Organisation) -> ValueList:
    return ValueList(organisation=operator, name="cities")


def values_of(value_list: ValueList) -> list[str | int]:
    return list(load_values(value_list.pk, value_list.current_number, value_list.type))


def test_values_are_sorted_once_each_and_kept_exactly(erin: User, cities: ValueList) -> None:
    odd = ["b", "a", "b", 'say "hi"', "back\\slash", "new\nline", "tab\t", "{}", "NULL", "ü, é"]
    save_value_list(value_list=cities, values=odd, by=erin)
    assert values_of(cities) == sorted(set(odd))
    assert cities.value_count == len(set(odd))


def test_whole_numbers_are_kept_as_numbers(erin: User, operator: Organisation) -> None:
    zips = ValueList(organisation=operator, name="zips", type="integer")
    save_value_list(value_list=zips, values=["10", 9, "-3", 10], by=erin)
    assert values_of(zips) == [-3, 9, 10]
    for bad in ("ten", "1.5", str(2**63)):
        with pytest.raises(ValidationError, match=r"whole number|64 bits"):
            save_value_list(value_list=zips, values=[bad], by=erin)


def test_a_list_is_never_empty(erin: User, cities: ValueList) -> None:
    with pytest.raises(ValidationError, match="at least one value"):
        save_value_list(value_list=cities, by=erin)
    save_value_list(value_list=cities, values=["Oslo"], by=erin)
    with pytest.raises(ValidationError, match="at least one value"):
        save_value_list(value_list=cities, values=[], by=erin)
    assert values_of(cities) == ["Oslo"]


@pytest.mark.parametrize("value", ["", "x" * 1_001, "a\0b"])
def test_values_that_nobody_means_are_refused(erin: User, cities: ValueList, value: str) -> None:
    with pytest.raises(ValidationError, match="1 to 1,000 characters"):
        save_value_list(value_list=cities, values=["Oslo", value], by=erin)


def test_the_difference_is_told_before_and_kept_after(erin: User, cities: ValueList) -> None:
    assert str(compare_values(value_list=cities, values=["Oslo"])) == "1 added, 0 removed"
    save_value_list(value_list=cities, values=["Oslo", "Rome"], by=erin)
    told = compare_values(value_list=cities, values=["Rome", "Lyon", "Bonn"])
    assert str(told) == "2 added, 1 removed"
    assert (told.first_added, told.first_removed) == (("Bonn", "Lyon"), ("Oslo",))
    save_value_list(value_list=cities, values=["Rome", "Lyon", "Bonn"], by=erin)
    version = ValueListVersion.objects.get(number=2)
    assert (version.added_count, version.removed_count, version.created_by) == (2, 1, erin)


def test_the_same_values_again_are_no_new_version(erin: User, cities: ValueList) -> None:
    save_value_list(value_list=cities, values=["Oslo"], by=erin)
    save_value_list(value_list=cities, values=["Oslo", "Oslo"], by=erin)
    cities.description = "Where it is cold."
    save_value_list(value_list=cities, by=erin)
    assert (cities.current_number, ValueListVersion.objects.count()) == (1, 1)


def test_a_list_keeps_its_type(erin: User, cities: ValueList) -> None:
    save_value_list(value_list=cities, values=["1"], by=erin)
    cities.type = "integer"
    with pytest.raises(ValidationError, match="keeps its type"):
        save_value_list(value_list=cities, by=erin)
    with pytest.raises(IntegrityError, match="type of a list"), transaction.atomic():
        cities.save()


def test_a_version_is_written_once(erin: User, cities: ValueList) -> None:
    save_value_list(value_list=cities, values=["Oslo"], by=erin)
    for statement in (
        "UPDATE market_valuelistversion SET values = '{Rome}'",
        "DELETE FROM market_valuelistversion",
    ):
        with (
            pytest.raises(InternalError, match="Cannot"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)


def test_new_values_are_noted_for_the_servers(erin: User, cities: ValueList) -> None:
    save_value_list(value_list=cities, values=["Oslo"], by=erin)
    Change.objects.all().delete()
    save_value_list(value_list=cities, values=["Rome"], by=erin)
    assert Change.objects.filter(kind="value list", object_id=cities.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_a_million_values_are_saved_compared_and_kept_in_the_history(
    erin: User, cities: ValueList
) -> None:
    """Shows that saving and comparing takes seconds; what touches the list alone copies none of its
    values."""
    values = [f"segment-{number:07}" for number in range(MILLION)]
    started = time.monotonic()
    save_value_list(value_list=cities, values=values, by=erin)
    changed = [*values[3:], *(f"new-{number}" for number in range(3))]
    save_value_list(value_list=cities, values=changed, by=erin)
    print(f"two saves of a million values: {time.monotonic() - started:.1f} s")
    after, before = revisions_of(cities)
    assert difference(before, after) == [
        "added new-0, new-1, new-2",
        "removed segment-0000000, segment-0000001, segment-0000002",
    ]
    assert len(load_values(cities.pk, 1, "string")) == len(load_values(cities.pk, 2, "string"))
    assert values_of(cities)[:4] == ["new-0", "new-1", "new-2", "segment-0000003"]
    with pytest.raises(ValidationError, match="at most 1,000,000"):
        save_value_list(value_list=cities, values=[*values, "one more"], by=erin)
    for text in ("a", "b", "c"):
        cities.description = text
        save_value_list(value_list=cities, by=erin)
    assert ValueListVersion.objects.count() == 2
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('market_valuelistevent')")
        (size,) = cursor.fetchone()
    assert size < MILLION


def test_some_values_are_added_whatever_others_saved_meanwhile(
    erin: User, cities: ValueList
) -> None:
    save_value_list(value_list=cities, values=["Oslo"], by=erin)
    seen_long_ago = ValueList.objects.get()
    save_value_list(value_list=cities, values=["Oslo", "Rome"], by=erin)
    told = change_values(value_list=seen_long_ago, by=erin, add=["Bern"], remove=["Oslo"])
    assert str(told) == "1 added, 1 removed"
    cities.refresh_from_db()
    assert values_of(cities) == ["Bern", "Rome"]
    again = change_values(value_list=cities, by=erin, add=["Bern", "Bern"])
    assert str(again) == "0 added, 0 removed, 2 duplicates"
    assert ValueListVersion.objects.count() == 3


def test_differences_name_the_values(erin: User, cities: ValueList) -> None:
    values = [f"C{number:02}" for number in range(20)]
    save_value_list(value_list=cities, values=values, by=erin)
    save_value_list(value_list=cities, values=[*values[15:], "Lyon, FR"], by=erin)
    after, before = revisions_of(cities)
    assert difference(before, after) == [
        "added “Lyon, FR”",
        "removed C00, C01, C02, C03, C04 and 10 more",
    ]


def test_more_values_than_anybody_means_are_refused_at_their_place(
    erin: User, cities: ValueList
) -> None:
    """Shows that nothing is cut off: not even what would be repeated."""
    repeated = chain(["Oslo"], repeat("Rome", 4 * MILLION))
    with pytest.raises(BadValueError, match="More than 4,000,000 values") as caught:
        save_value_list(value_list=cities, values=repeated, by=erin)
    assert caught.value.position == 4 * MILLION
    with pytest.raises(BadValueError, match="at most 1,000,000 values") as caught:
        save_value_list(value_list=cities, values=map(str, range(MILLION + 5)), by=erin)
    assert caught.value.position == MILLION

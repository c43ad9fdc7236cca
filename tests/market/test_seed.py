"""The attribute catalogue as it is seeded: complete, well typed, and in words people use."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection

from exchange.market.models import Attribute
from exchange.market.seed import read_attributes

OBJECTS = {
    "publisher",
    "site",
    "app",
    "content",
    "imp",
    "device",
    "geo",
    "user",
    "regs",
    "source",
}


@pytest.mark.django_db
def test_every_attribute_of_the_file_is_in_the_table_and_valid() -> None:
    stored = {attribute.name: attribute for attribute in Attribute.objects.all()}
    assert set(stored) == {row["name"] for row in read_attributes()}
    for attribute in stored.values():
        attribute.full_clean()


def test_names_are_grouped_by_the_object_they_come_from() -> None:
    names = [row["name"] for row in read_attributes()]
    assert len(names) == len(set(names))
    prefixes = {name.split(".")[0] for name in names if "." in name}
    assert prefixes == OBJECTS
    assert [name for name in names if "." not in name] == ["time", "local_time"]


def test_no_name_is_the_prefix_of_another() -> None:
    """Holds because a visit may come as nested objects: `time` could not also hold a
    `time.local`."""
    names = {row["name"] for row in read_attributes()}
    assert not {name for name in names for other in names if other.startswith(f"{name}.")}


def test_only_the_publisher_is_required() -> None:
    """Shows that consent is not: a required attribute makes a visit without it eligible for
    nothing."""
    assert [row["name"] for row in read_attributes() if row.get("is_required")] == ["publisher.id"]


def test_every_description_is_a_sentence() -> None:
    for row in read_attributes():
        assert row["description"].endswith("."), row["name"]
        assert row["description"][0].isupper(), row["name"]


def test_closed_domains_are_of_strings_that_read_well() -> None:
    for row in read_attributes():
        values = row.get("values", [])
        assert len(values) == len(set(values))
        assert not values or row["type"] in {"string", "string set"}, row["name"]
        assert all(value == value.lower() and " " not in value for value in values), row["name"]


def test_personal_attributes_are_marked() -> None:
    personal = {row["name"] for row in read_attributes() if row.get("is_personal")}
    assert {"device.ip", "geo.location", "user.id", "user.age", "user.segments"} <= personal


@pytest.mark.django_db
def test_migrating_again_restores_what_is_missing_and_keeps_what_an_operator_changed() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE market_attribute CASCADE")
    Attribute.objects.create(name="geo.country", type="string", description="Where they live.")
    call_command("migrate", verbosity=0)
    assert Attribute.objects.filter(name="geo.city").exists()
    assert Attribute.objects.get(name="geo.country").description == "Where they live."


@pytest.mark.django_db(transaction=True)
def test_a_flushed_database_has_its_catalogue_again() -> None:
    call_command("flush", interactive=False, verbosity=0)
    assert Attribute.objects.count() == len(read_attributes())

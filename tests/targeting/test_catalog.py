from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from targeting import Attribute, AttributeType, Catalog, CatalogError, ExpressionError, parse


def test_names_and_types_are_enough() -> None:
    catalog = Catalog.of(**{"age": "integer", "geo.country": "string"})
    assert [attribute.name for attribute in catalog] == ["age", "geo.country"]
    assert catalog["geo.country"] == Attribute("geo.country", AttributeType.STRING)
    assert "age" in catalog
    assert "weather" not in catalog
    assert len(catalog) == 2


def test_the_json_form_loses_nothing() -> None:
    catalog = Catalog(
        [
            Attribute(
                "device.type",
                AttributeType.STRING,
                domain=("phone", "ctv"),
                description="kind of device",
                openrtb="device.devicetype",
            ),
            Attribute("consent", AttributeType.BOOLEAN, required=True, personal=True),
            Attribute("old", AttributeType.INTEGER, domain=(1, 2), retired=True),
        ]
    )
    document = json.loads(json.dumps(catalog.to_json()))
    assert Catalog.from_json(document) == catalog
    assert document["attributes"][1] == {
        "name": "consent",
        "type": "boolean",
        "required": True,
        "personal": True,
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"name": "1st", "type": "integer"}, "not an attribute's name"),
        ({"name": "geo.", "type": "integer"}, "not an attribute's name"),
        ({"name": "alter_ü", "type": "integer"}, "not an attribute's name"),
        ({"name": "Between", "type": "integer"}, "a word of the language"),
        ({"name": "age", "type": "number"}, "unknown type 'number'"),
        ({"name": "price", "type": "float", "domain": [1.5]}, "no closed domain"),
        ({"name": "age", "type": "integer", "domain": ["1"]}, "values of its type"),
        ({"name": "age", "type": "integer", "domain": []}, "values of its type"),
        ({"name": "geo.utc_offset", "type": "float"}, "its type must be integer"),
        ({"name": "age", "type": "integer", "colour": "red"}, "not a catalogue"),
        ({"type": "integer"}, "not a catalogue"),
    ],
)
def test_refuses_a_wrong_row(row: dict[str, Any], message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        Catalog.from_json({"attributes": [row]})


def test_refuses_a_name_twice() -> None:
    row = {"name": "age", "type": "integer"}
    with pytest.raises(CatalogError, match="age is in the catalogue twice"):
        Catalog.from_json({"attributes": [row, row]})


def test_a_word_of_the_language_may_be_part_of_a_dotted_name() -> None:
    catalog = Catalog.of(**{"time.in": "integer"})
    assert parse("time.in = 1", catalog).attributes == {"time.in"}


def test_expressions_with_retired_attributes_still_compile() -> None:
    catalog = Catalog([Attribute("old", AttributeType.INTEGER, retired=True)])
    assert parse("old = 1", catalog).evaluate({"old": 1}) is True


def test_a_closed_domain_binds_expressions_but_not_visits() -> None:
    catalog = Catalog([Attribute("device", AttributeType.STRING, domain=("phone", "ctv"))])
    with pytest.raises(ExpressionError, match="never `'fridge'`"):
        parse("device = 'fridge'", catalog)
    assert parse("device != 'ctv'", catalog).evaluate({"device": "fridge"}) is True
    assert parse("device starts with 'fr'", catalog).evaluate({"device": "fridge"}) is True


def test_a_thousand_attributes_are_told_apart() -> None:
    catalog = Catalog.of(**{f"dimension{n}": "integer" for n in range(1000)})
    for n in (0, 1, 99, 500, 999):
        assert parse(f"dimension{n} = {n}", catalog).attributes == {f"dimension{n}"}


def test_travels_between_processes() -> None:
    catalog = Catalog.of(age="integer")
    assert parse("age = 1", catalog).evaluate({"age": 1}) is True
    expression = pickle.loads(pickle.dumps(parse("age = 1", catalog)))  # noqa: S301
    assert expression == parse("age = 1", catalog)
    assert parse("age = 1", expression.catalog).evaluate({"age": 1}) is True

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from targeting import Catalog, Expression, ExpressionError, parse

CATALOG = Catalog.of(**{"age": "integer", "flag": "boolean", "host": "string", "ip": "ip"})


def errors(
    text: str, definitions: Mapping[str, Expression], name: str | None = None
) -> list[tuple[str, int, int, str, str | None]]:
    with pytest.raises(ExpressionError) as raised:
        parse(text, CATALOG, definitions=definitions, name=name)
    return [
        (error.code, error.line, error.column, error.message, error.suggestion)
        for error in raised.value.errors
    ]


def test_an_unknown_name_is_an_error_with_its_place() -> None:
    definitions = {"adults": parse("age >= 18", CATALOG)}
    assert errors("flag or\n  @adult and @adults", definitions) == [
        ("unknown_definition", 2, 3, "unknown name `@adult`", "did you mean `@adults`?")
    ]


def test_a_cycle_is_listed() -> None:
    definitions = {
        "a": parse("flag and @b", CATALOG),
        "b": parse("@c or age = 1", CATALOG),
        "c": parse("flag", CATALOG),
    }
    assert errors("not @a", definitions, name="c") == [
        (
            "definition_cycle",
            1,
            5,
            "this definition leads back to itself: @c -> @a -> @b -> @c",
            None,
        )
    ]


def test_a_name_may_not_be_defined_by_itself() -> None:
    assert [error[0] for error in errors("flag or @me", {}, name="me")] == ["definition_cycle"]


def test_sharing_is_no_cycle() -> None:
    definitions = {
        "left": parse("@base and flag", CATALOG),
        "right": parse("@base and age = 1", CATALOG),
        "base": parse("age > 0", CATALOG),
    }
    expression = parse("@left or @right", CATALOG, definitions=definitions, name="top")
    assert expression.references == {"left", "right"}
    assert expression.evaluate({"age": 1, "flag": False}) is True


def test_a_long_chain_needs_no_deep_stack() -> None:
    definitions = {f"d{n}": parse(f"@d{n + 1}", CATALOG) for n in range(3000)}
    definitions["d3000"] = parse("flag", CATALOG)
    assert parse("@d0", CATALOG, definitions=definitions, name="x").references == {"d0"}


class Loaded(Mapping[str, Expression]):
    """A mapping that loads what it is asked for, like a table of the database."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.asked: list[str] = []

    def __getitem__(self, name: str) -> Expression:
        self.asked.append(name)
        return parse(self.texts[name], CATALOG)

    def __contains__(self, name: object) -> bool:
        return name in self.texts

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def test_only_what_is_reached_is_loaded() -> None:
    definitions = Loaded({"used": "@below", "below": "flag", "other": "age = 1"})
    expression = parse("@used", CATALOG, definitions=definitions)
    assert expression.evaluate({"flag": True}) is True
    assert set(definitions.asked) == {"used", "below"}


def test_a_managed_list_is_checked_like_inline_values() -> None:
    lists: dict[str, list[str] | list[int]] = {
        "hosts": ["a.com", "not a host"],
        "ages": [1, 2],
        "nets": ["10.0.0.0/8"],
    }
    with pytest.raises(ExpressionError) as raised:
        parse("host under $hosts or age in $agess or host in $ages", CATALOG, lists=lists)
    assert [(error.column, error.message) for error in raised.value.errors] == [
        (12, "value 2 of the list `$hosts` does not fit `host`, which is a text"),
        (29, "unknown list `$agess`"),
        (47, "value 1 of the list `$ages` does not fit `host`, which is a text"),
    ]
    assert parse("ip in network $nets", CATALOG, lists=lists).evaluate({"ip": "10.1.1.1"}) is True


def test_names_are_left_unchecked_where_nobody_can_know_them() -> None:
    expression = parse("@anything or age in $whatever", CATALOG)
    assert expression.references == {"anything"}
    assert expression.list_names == {"whatever"}


def test_a_managed_list_holds_a_million_values_and_no_more() -> None:
    assert parse("age in $all", CATALOG, lists={"all": range(1_000_000)}).evaluate({"age": 7})
    with pytest.raises(ExpressionError, match="the list `\\$all` holds more than 1000000 values"):
        parse("age in $all", CATALOG, lists={"all": range(1_000_001)})

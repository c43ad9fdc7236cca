from __future__ import annotations

from collections.abc import Sequence

import pytest

from matcher_ext.language import Normal
from targeting import Catalog, Expression, UnresolvedNameError, parse
from tests.cases import Case, load_cases

CATALOG = Catalog.of(age="integer", segments="string set")


@pytest.mark.parametrize("case", load_cases(), ids=str)
def test_matches_what_the_case_expects(case: Case) -> None:
    matched = [
        number
        for number, text in case.expressions.items()
        if parse(text, case.catalog).evaluate(case.visit) is True
    ]
    assert matched == case.expected


@pytest.mark.parametrize("case", load_cases(), ids=str)
def test_the_normal_form_matches_what_the_case_expects(case: Case) -> None:
    matched = [
        number
        for number, text in case.expressions.items()
        if Normal(case.catalog.compiled, text).evaluate(case.visit) is True
    ]
    assert matched == case.expected


def test_an_unknown_definition_is_an_error_not_an_answer() -> None:
    with pytest.raises(UnresolvedNameError, match="@adults"):
        parse("@adults", CATALOG).evaluate({})


def test_an_unknown_list_is_an_error_not_an_answer() -> None:
    with pytest.raises(UnresolvedNameError, match=r"\$cars"):
        parse("segments one of $cars", CATALOG).evaluate({"segments": ["a"]})


def test_a_definition_is_undefined_where_it_is() -> None:
    definitions = {"adults": parse("age >= 18", CATALOG)}
    minors = parse("not @adults", CATALOG, definitions=definitions)
    assert minors.evaluate({"age": 17}) is True
    assert minors.evaluate({"age": 18}) is False
    assert minors.evaluate({}) is None


def test_a_managed_list_stands_for_its_values() -> None:
    lists: dict[str, Sequence[str] | Sequence[int]] = {
        "motors": ["cars", "bikes"],
        "teens": range(13, 20),
        "nothing": (),
    }
    text = "segments one of $motors and age not in $teens"
    expression = parse(text, CATALOG, lists=lists)
    assert expression.evaluate({"segments": ["bikes"], "age": 20}) is True
    assert expression.evaluate({"segments": ["bikes"], "age": 19}) is False
    assert expression.evaluate({"segments": ["boats"], "age": 20}) is False
    compiled = CATALOG.compiled.with_lists(lists)
    assert Normal(compiled, text).evaluate({"segments": ["bikes"], "age": 20}) is True


def test_an_empty_managed_list_holds_nothing() -> None:
    lists: dict[str, Sequence[str] | Sequence[int]] = {"nothing": []}
    visit = {"segments": ["bikes"]}
    compiled = CATALOG.compiled.with_lists(lists)
    for text, expected in (
        ("segments one of $nothing", False),
        ("segments none of $nothing", True),
        ("segments all of $nothing", True),
        ("segments only of $nothing", False),
    ):
        assert parse(text, CATALOG, lists=lists).evaluate(visit) is expected
        assert Normal(compiled, text).evaluate(visit) is expected


def test_definitions_that_lead_in_a_circle_are_an_error() -> None:
    definitions = {"a": parse("@b", CATALOG), "b": parse("not @a", CATALOG)}
    expression = Expression(definitions["a"].root, CATALOG, definitions=definitions)
    with pytest.raises(UnresolvedNameError, match="leads back to itself"):
        expression.evaluate({})

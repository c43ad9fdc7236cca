from __future__ import annotations

import pytest

from targeting import Catalog, Expression, parse
from targeting.printer import print_list, print_value
from targeting.tree import Note, Predicate
from tests.targeting.strategies import CATALOG

CANONICAL = {
    "AGE".lower() + ">=18 AND Flag".replace("Flag", "flag"): "age >= 18 and flag",
    "age==1||age<>2&&!flag": "age = 1 or (age != 2 and not flag)",
    '''geo.country = "it's"''': r"geo.country = 'it\'s'",
    r"geo.country = 'a\n\u0001\u00e4\/'": r"geo.country = 'a\n\u0001ä/'",
    "(((age = 1)))": "age = 1",
    "(age = 1 and age = 2) and age = 3": "age = 1 and age = 2 and age = 3",
    "age = 1 and (age = 2 or age = 3)": "age = 1 and (age = 2 or age = 3)",
    "not not flag": "not not flag",
    "not (age = 1 or flag)": "not (age = 1 or flag)",
    "age = 1 xor age = 2 xnor flag": "(age = 1 xor age = 2) xnor flag",
    "price = 18": "price = 18",
    "price = 1e3": "price = 1000",
    "price = 1e300": "price = 1e+300",
    "price = -0.0": "price = 0",
    "age = 18.0": "age = 18",
    "age not is present": "age is not present",
    "segments not one of ( 'a' )": "segments not one of ('a')",
    "count( segments )>2": "count(segments) > 2",
    "place within 5.0 km of (48.850, 2)": "place within 5 km of (48.85, 2)",
    "place inside polygon ((0,0),(0,1),(1,1),(0,0))": (
        "place inside polygon ((0, 0), (0, 1), (1, 1))"
    ),
    "time > '2026-11-15T01:00:00+01:00'": "time > '2026-11-15T01:00:00+01:00'",
    "@edge.17 and segments one of $cars": "@edge.17 and segments one of $cars",
    "TRUE": "true",
}


@pytest.mark.parametrize("text", CANONICAL)
def test_prints_one_canonical_text(text: str) -> None:
    assert parse(text, CATALOG).text == CANONICAL[text]


def test_notes_stand_above_what_they_belong_to() -> None:
    text = """\
# who
age >= 18  # adults only
and
#- geo.country = 'US'
(flag or price > 1 # dear
)
# the end"""
    assert (
        parse(text, CATALOG).text
        == """\
# who
# adults only
age >= 18
#- geo.country = 'US'
# the end
and (
    flag
    # dear
    or price > 1
)"""
    )


def test_a_noted_group_stays_a_group() -> None:
    text = "# both\n(age = 1 and flag)\nand price = 1"
    expression = parse(text, CATALOG)
    assert expression.text == text
    assert expression.to_json()["and"][0]["notes"] == [{"text": "both"}]


def test_a_disabled_condition_is_kept_and_never_compiled() -> None:
    expression = parse("flag\n#- nonsense = (", Catalog.of(flag="boolean"))
    assert expression.root.notes == (Note("nonsense = (", disabled=True),)
    assert expression.evaluate({"flag": True}) is True


def test_the_notes_of_a_negation_stand_before_it() -> None:
    text = "not # why\n(flag or age = 1) # indeed"
    expression = parse(text, CATALOG)
    assert expression.text == "# why\n# indeed\nnot (flag or age = 1)"
    assert Expression.from_json(expression.to_json(), CATALOG) == expression


@pytest.mark.parametrize(
    "values",
    [("a", "b"), ("it's", "b"), ("a\\", "\n"), ("\x7f", "é"), ("\x85", "a, b"), ("",), (1, -2), ()],
)
def test_a_list_is_printed_as_its_values_are(values: tuple[str | int, ...]) -> None:
    assert print_list(values) == ", ".join(map(print_value, values))
    if values:
        attribute = "age" if isinstance(values[0], int) else "geo.country"
        text = f"{attribute} in ({print_list(values)}, {print_value(values[0])})"
        printed = parse(text, CATALOG).root
        assert isinstance(printed, Predicate)
        assert printed.operands == (*values, values[0])

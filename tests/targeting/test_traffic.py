from __future__ import annotations

from targeting import Catalog, parse
from targeting.traffic import Traffic, find_rare

CATALOG = Catalog.of(**{"geo.country": "string", "age": "integer", "segments": "string set"})
TRAFFIC = Traffic(
    fill_rates={"geo.country": 0.98, "age": 0.013, "segments": 0.0},
    values={"geo.country": {"FRA", "DEU"}, "segments": {"cars"}},
)


def test_names_attributes_that_visits_rarely_carry() -> None:
    expression = parse("age > 5 and geo.country = 'FRA' and segments is empty", CATALOG)
    assert find_rare(expression, TRAFFIC) == [
        "only 1.3% of visits carry `age`",
        "no visit carries `segments`",
    ]


def test_names_values_that_were_never_seen() -> None:
    expression = parse("geo.country in ('FRA', 'FRE') or segments one of $motors", CATALOG)
    with_lists = parse(expression.text, CATALOG, lists={"motors": ["cars", "bikes"]})
    assert find_rare(with_lists, TRAFFIC, rare=0) == [
        "never seen in `geo.country`: 'FRE'",
        "never seen in `segments`: 'bikes'",
    ]


def test_says_how_many_more_there_are() -> None:
    values = ", ".join(f"'{n}'" for n in range(9))
    (sentence,) = find_rare(parse(f"geo.country in ({values})", CATALOG), TRAFFIC)
    assert sentence == "never seen in `geo.country`: '0', '1', '2', '3', '4' and 4 more"


def test_avoiding_a_value_that_never_comes_is_no_mistake() -> None:
    assert find_rare(parse("geo.country not in ('USA')", CATALOG), TRAFFIC) == []
    assert find_rare(parse("geo.country != 'USA'", CATALOG), TRAFFIC) == []


def test_says_nothing_of_what_was_not_counted() -> None:
    assert find_rare(parse("age = 5", CATALOG), Traffic({}, {})) == []

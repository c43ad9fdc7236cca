"""Shapes that small random examples do not reach: pairs, wide programs, shared slots, long runs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from matcher_ext import ATree
from targeting import Catalog, parse
from tests.matcher_ext.expressions import inline

CATALOG = Catalog.of(
    **{
        "publisher": "string",
        "country": "string",
        "segments": "string set",
        "age": "integer",
        "score": "float",
        "mobile": "boolean",
        "domain": "string",
    }
)
COUNTRIES = [f"c{i}" for i in range(30)]
SEGMENTS = [f"s{i}" for i in range(40)]


def some(chosen: random.Random, values: list[str]) -> str:
    return ", ".join(f"'{value}'" for value in chosen.sample(values, chosen.randint(1, 4)))


def condition(chosen: random.Random) -> str:
    number = chosen.randrange(60)
    return chosen.choice(
        (
            f"country in ({some(chosen, COUNTRIES)})",
            f"country not in ({some(chosen, COUNTRIES)})",
            f"segments one of ({some(chosen, SEGMENTS)})",
            f"segments none of ({some(chosen, SEGMENTS)})",
            f"age {chosen.choice(('<', '<=', '>', '>=', '=', '!='))} {number}",
            f"age between {number} and {number + chosen.randrange(20)}",
            f"score {chosen.choice(('<', '<=', '>', '>='))} {number / 10}",
            f"score not between {number / 10} and {number / 10 + 1}",
            f"domain like '*{number}*'",
            "mobile",
            "not mobile",
            "age is missing",
        )
    )


def tree(chosen: random.Random, depth: int) -> str:
    if depth == 0:
        return condition(chosen)
    operator = chosen.choice((" and ", " or "))
    parts = [tree(chosen, depth - 1) for _ in range(chosen.randint(2, 4))]
    return f"({operator.join(parts)})"


def draw_visit(chosen: random.Random) -> dict[str, Any]:
    visit: dict[str, Any] = {
        "publisher": f"p{chosen.randrange(7)}",
        "country": chosen.choice([*COUNTRIES, "elsewhere"]),
        "segments": chosen.sample([*SEGMENTS, "other"], chosen.randrange(6)),
        "age": chosen.randrange(-1, 62),
        "score": chosen.randrange(0, 70) / 10,
        "mobile": chosen.random() < 0.5,
        "domain": f"a{chosen.randrange(99)}.com",
    }
    return {name: value for name, value in visit.items() if chosen.random() < 0.9}


def check(
    entries: dict[int, str], definitions: dict[str, str], visits: list[dict[str, Any]]
) -> ATree:
    index = ATree(CATALOG)
    for name, text in definitions.items():
        index.define(name, text)
    index.insert_many(entries, entries.values())
    parsed = {entry: parse(inline(text, definitions), CATALOG) for entry, text in entries.items()}
    for visit in visits:
        expected = [entry for entry, e in parsed.items() if e.evaluate(visit) is True]
        assert index.match(visit) == expected
    return index


@pytest.mark.parametrize("seed", range(3))
def test_bookings_are_found_by_publisher_and_a_rare_value(seed: int) -> None:
    chosen = random.Random(seed)
    definitions = {f"edge{i}": tree(chosen, 1) for i in range(10)}
    campaigns = [tree(chosen, 2) for _ in range(40)] + [condition(chosen) for _ in range(20)]
    entries = {}
    for entry in range(400):
        edges = " and ".join(
            chosen.choice(("", "not ")) + f"@edge{i}" for i in chosen.sample(range(10), 2)
        )
        entries[entry] = (
            f"publisher = 'p{chosen.randrange(6)}' and {edges} and {chosen.choice(campaigns)}"
        )
    index = check(entries, definitions, [draw_visit(chosen) for _ in range(60)])
    assert index.freeze().stats()["pairs"] > 50


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_deep_trees_share_levels_and_terminals(depth: int) -> None:
    chosen = random.Random(depth)
    parts = [tree(chosen, depth) for _ in range(60)]
    entries = {i: " or ".join(chosen.sample(parts, 3)) for i in range(60)}
    entries |= {100 + i: " and ".join(chosen.sample(parts, 2)) for i in range(60)}
    entries |= {200 + i: part for i, part in enumerate(parts)}
    index = check(entries, {}, [draw_visit(chosen) for _ in range(40)])
    assert index.freeze().stats()["levels"] >= depth


def test_long_programs_and_shared_large_parts() -> None:
    chosen = random.Random(5)
    large = " or ".join(f"(age = {i} and country = 'c{i % 30}')" for i in range(200))
    other = " xor ".join(condition(chosen) for _ in range(40))
    entries = {
        1: f"mobile and ({large})",
        2: f"not mobile and ({large})",
        3: f"({other}) and ({large})",
        4: f"segments one of ('s1') and ({other})",
        5: f"segments one of ('s2') and not ({other})",
        6: large,
        7: other,
    }
    index = check(entries, {}, [draw_visit(chosen) for _ in range(300)])
    assert index.freeze().stats()["slots"] > 0


def test_one_predicate_under_very_many_parents() -> None:
    chosen = random.Random(6)
    entries = {i: f"mobile and age = {i % 60} and score < {i / 1000}" for i in range(300)}
    entries |= {1000 + i: f"mobile or score = {i / 10}" for i in range(300)}
    check(entries, {}, [draw_visit(chosen) for _ in range(20)])


def test_negated_definitions_nest() -> None:
    chosen = random.Random(7)
    definitions = {"a": "mobile and age > 20", "b": "not @a or country = 'c1'", "c": "not @b"}
    entries = {
        i: f"{n}@{name}"
        for i, (n, name) in enumerate((n, name) for n in ("", "not ") for name in "abc")
    }
    entries |= {10: "not @a and not @c", 11: "@a and @b", 12: "@c or not @b or age = 3"}
    check(entries, definitions, [draw_visit(chosen) for _ in range(200)])

"""Made-up visits must both meet and miss what they are made for, or the check checks nothing."""

from __future__ import annotations

import random

import pytest

from exchange.snapshots.sampling import VisitMaker
from targeting import Catalog, parse

CATALOG = Catalog.of(
    **{
        "age": "integer",
        "floor": "float",
        "country": "string",
        "domain": "string",
        "segments": "string set",
        "deals": "integer set",
        "ip": "ip",
        "place": "geo",
        "consent": "boolean",
        "time": "timestamp",
    }
)

EXPRESSIONS = [
    "age >= 18 and country = 'USA'",
    "age between 20 and 30 or floor < 0.5",
    "country not in ('USA', 'DEU')",
    "domain under ('example.com') or domain like 'news*'",
    "segments one of ('cars', 'tea') and not consent",
    "segments all of ('cars', 'tea')",
    "deals only of (7, 8)",
    "count(segments) >= 2",
    "ip in network ('10.0.0.0/8')",
    "place within 5 km of (48.85, 2.35)",
    "place inside polygon ((0, 0), (0, 10), (10, 10))",
    "country is missing xor age is missing",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_visits_meet_and_miss_an_expression(text: str) -> None:
    group = [[parse(each, CATALOG)] for each in EXPRESSIONS]
    maker = VisitMaker(CATALOG, group, random.Random(1))
    aimed_at = parse(text, CATALOG)
    truths = {aimed_at.evaluate(maker.make([aimed_at])) for _ in range(200)}
    assert True in truths
    assert truths - {True}


def test_same_seed_makes_the_same_visits() -> None:
    group = [[parse(text, CATALOG)] for text in EXPRESSIONS]
    first, second = (
        [VisitMaker(CATALOG, group, random.Random(7)).make(group[0]) for _ in range(5)]
        for _ in range(2)
    )
    assert first == second

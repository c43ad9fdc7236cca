"""The program that measures prepared visits, on a small exchange; its SQL says what ours does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from bench import exchange_graph, visits
from bench.exchange_graph import Size
from bench.visit_sets import VisitSet, open_routed
from bench.visit_sql import Database, list_conditions
from matcher_ext import ATree
from targeting import Attribute, AttributeType, Catalog, parse

CATALOG = Catalog(
    Attribute(name=name, type=AttributeType(kind), required=name == "publisher.id")
    for name, kind in {
        "publisher.id": "string",
        "user.id": "string",
        "age": "integer",
        "score": "float",
        "mobile": "boolean",
        "segments": "string set",
        "place": "geo",
        "time": "timestamp",
    }.items()
)
CAMPAIGNS = (
    "age >= 18 and not mobile",
    "not (age < 18 or score > 1.5)",
    "age not in (1, 20) xor mobile",
    "segments none of ('cars', 'it\\'s') or age is missing",
    "segments all of ('cars', 'pets') or segments is empty",
    "count(segments) >= 2 and user.id ends with 'b'",
    "place within 900 km of (50, 10) or not @young",
    "time >= '2026-11-16T08:00:00Z'",
    "user.id like 'u*'",
)
DEFINITIONS = {"young": "age between 1 and 17"}


def draw_seen() -> list[dict[str, Any]]:
    """Every third misses each value in turn; every seventh what is required."""
    whole = [
        {
            "publisher.id": None if n % 7 == 0 else "ab"[n % 2],
            "user.id": f"u{n % 9}" + "ab"[n % 2],
            "age": n % 30,
            "score": n % 5 / 2,
            "mobile": n % 4 == 0,
            "segments": ["cars", "pets", "it's", "cars"][: n % 5],
            "place": {"lat": 45.0 + n % 9, "lon": 5.0 + n % 11},
            "time": 1_794_000_000_000 + 60_000_000 * n,
        }
        for n in range(200)
    ]
    names = sorted(whole[0].keys() - {"publisher.id"})
    for n, visit in enumerate(whole):
        for name in names[n % len(names) :: 3]:
            visit[name] = None
    return whole


def make_set() -> VisitSet:
    index = ATree(CATALOG)
    index.insert(1, "true")
    table = pa.Table.from_pylist(draw_seen())
    return VisitSet("small", CATALOG, index.freeze(), table, list(CAMPAIGNS), DEFINITIONS)


def test_sql_counts_what_the_plain_evaluator_counts() -> None:
    made = make_set()
    told = list_conditions(made.campaigns, made.definitions, CATALOG, len(CAMPAIGNS))
    assert len(CAMPAIGNS) - len(told) <= 2  # no SQL for `xor` in another form, and `like`
    seen = [{k: v for k, v in visit.items() if v is not None} for visit in draw_seen()]
    meaning = DEFINITIONS["young"]
    trees = [parse(CAMPAIGNS[each].replace("@young", f"({meaning})"), CATALOG) for each in told]
    expected = [
        sum(tree.evaluate(visit) is True for visit in seen if "publisher.id" in visit)
        for tree in trees
    ]
    assert Database(made.visits, CATALOG).count(list(told.values())) == expected
    assert min(expected) > 0
    assert visits.measure_sql(made)["campaigns that SQL can express"] == len(told)


def test_measures_a_set_and_how_it_grows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(exchange_graph.SIZES, "tiny", Size(90, 3, (3, 3, 2), 6, 3))
    monkeypatch.setattr(visits, "VISITS", 400)
    monkeypatch.setattr(visits, "ROUNDS", 1)
    found = visits.measure_set(open_routed("tiny", 400))
    assert found["bookings"] == 90
    assert found["eligible a visit"] > 0
    grown = visits.measure_growth("tiny")
    assert list(grown["threads"]) == ["1", "2"]
    assert list(grown["visits"]) == ["20", "100", "400"]
    assert list(grown["bookings"]) == ["10", "30", "90"]

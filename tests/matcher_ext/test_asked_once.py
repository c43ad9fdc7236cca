"""What is expensive to ask is asked on demand, and at most once per visit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from matcher_ext import ATree, LiveIndex
from targeting import Catalog

CATALOG = Catalog.of(
    **{"site": "string", "host": "string", "address": "ip", "place": "geo", "age": "integer"}
)
# One predicate each: with several values that hold what the visit has, one within another.
EXPENSIVE = {
    "places": "place within 50 km of (52.5, 13.4)",
    "polygons": "place inside polygon ((50, 10), (50, 16), (55, 16), (55, 10))",
    "globs": "site like '*news*paper*'",
    "pieces": "site contains 'newspaper'",
    "hosts": "host under ('example.com', 'www.example.com')",
    "networks": "address in network ('10.0.0.0/8', '10.1.0.0/16')",
}
NEAR = {
    "site": "the newspaper of today",
    "host": "www.example.com",
    "address": "10.1.2.3",
    "place": (52.51, 13.41),
    "age": 30,
}
FAR = {
    "site": "old papers",
    "host": "example.org",
    "address": "192.168.0.1",
    "place": (10.0, 10.0),
    "age": 30,
}
AROUND: dict[str, Callable[[str], list[str]]] = {
    "alone": lambda one: [one] * 20,
    "with what is true": lambda one: [f"age >= {bound} and {one}" for bound in range(20)],
    "or something else": lambda one: [f"age = {bound} or {one}" for bound in range(20)],
    "negated": lambda one: [f"age >= {bound} and not ({one})" for bound in range(20)],
    "deep": lambda one: [
        f"age < 50 and (age = {bound} or age > 3 and {one})" for bound in range(9)
    ],
}


def make_index(texts: list[str]) -> ATree:
    index = ATree(CATALOG)
    index.insert_many(range(len(texts)), texts)
    return index


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", EXPENSIVE)
def test_a_predicate_is_tested_at_most_once_per_visit(kind: str, around: str) -> None:
    one = EXPENSIVE[kind]
    texts = AROUND[around](one)
    snapshot = make_index(texts).freeze()
    matched = []
    for visits, visit in enumerate((NEAR, FAR, NEAR), 1):
        matched.append(snapshot.match(visit))
        assert snapshot.stats()["tested"] <= visits
    assert matched[0] != matched[1]
    assert matched[0] == matched[2]


@pytest.mark.parametrize("kind", EXPENSIVE)
def test_it_is_not_tested_before_the_rest_is_true(kind: str) -> None:
    rates = {"age = 99": 0.001, EXPENSIVE[kind]: 0.5}
    index = make_index([f"age = 99 and {EXPENSIVE[kind]}"] * 20)
    index.set_truth_rates(rates)
    snapshot = index.freeze()
    assert snapshot.match(NEAR) == []
    assert snapshot.stats()["tested"] == 0
    assert snapshot.match({**NEAR, "age": 99}) == list(range(20))
    assert snapshot.stats()["tested"] == 1


@pytest.mark.parametrize("kind", EXPENSIVE)
def test_each_row_of_a_batch_tests_it_at_most_once(kind: str) -> None:
    snapshot = make_index(AROUND["with what is true"](EXPENSIVE[kind])).freeze()
    rows = [NEAR, FAR, NEAR, FAR]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in NEAR}
    columns["place"] = [{"lat": lat, "lon": lon} for lat, lon in columns["place"]]
    snapshot.match_batch(pa.RecordBatch.from_pydict(columns))
    assert snapshot.stats()["tested"] >= 1
    assert snapshot.stats()["tested"] <= len(rows)


@pytest.mark.parametrize("kind", EXPENSIVE)
def test_a_live_index_tests_it_once_in_the_snapshot_and_once_beside_it(kind: str) -> None:
    one = EXPENSIVE[kind]
    live = LiveIndex(make_index([f"age >= {bound} and {one}" for bound in range(20)]).freeze())
    for bound in range(20):
        live.insert(100 + bound, f"age >= {bound} and {one}")
    state = live.state
    assert len(state.match_ids(NEAR)) == 40
    assert state.snapshot.stats()["tested"] <= 1
    assert state.beside.stats()["tested"] <= 1


class Oracle:
    """Says what is true, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, _ask: Callable[[str], bool]) -> dict[str, bool | None]:
        self.calls += 1
        return {"told": True}


def test_code_is_asked_once_per_visit_row_and_live_index() -> None:
    oracle = Oracle()
    index = ATree(CATALOG)
    index.answer_slots(["told"], oracle)
    index.insert_many(range(20), [f"age >= {bound} and @told" for bound in range(20)])
    snapshot = index.freeze()
    assert snapshot.match({"age": -1}) == []
    assert oracle.calls == 0
    assert len(snapshot.match(NEAR)) == 20
    assert oracle.calls == 1
    snapshot.match_batch(pa.RecordBatch.from_pydict({"age": [30, -1, 30]}))
    assert oracle.calls == 3
    live = LiveIndex(snapshot)
    live.insert(100, "age >= 3 and @told")
    assert len(live.match(NEAR)) == 21
    assert oracle.calls == 4


def test_a_definition_is_found_out_once_per_visit() -> None:
    index = ATree(CATALOG)
    index.define("near", EXPENSIVE["places"])
    index.insert_many(range(20), [f"age >= {bound} and @near" for bound in range(20)])
    snapshot = index.freeze()
    assert len(snapshot.match(NEAR)) == 20
    assert snapshot.stats()["answered"] == 1
    assert snapshot.stats()["tested"] == 1


def test_what_many_share_is_asked_before_what_one_has() -> None:
    index = ATree(CATALOG)
    index.define("shared", "age > 50")
    for number in range(20):
        index.define(f"own_{number}", f"age > {60 + number}")
    index.insert_many(range(20), [f"@own_{number} and @shared" for number in range(20)])
    snapshot = index.freeze()
    assert snapshot.match({"age": 30}) == []
    assert snapshot.stats()["answered"] == 1
    assert snapshot.match({"age": 70}) == list(range(10))
    assert snapshot.stats()["answered"] == 1 + 21

"""Prepared visits answer like the plain evaluator, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, ExpressionError, Snapshot, SnapshotError, VisitTable
from matcher_ext.values import UnknownDefinitionError
from targeting import Attribute, AttributeType, Catalog, parse
from tests.matcher_ext.expressions import CATALOG, texts, visits
from tests.matcher_ext.test_batch import SCHEMA, freeze, to_batch

TRUTHS = (True, False, None)


def prepare(seen: list[dict[str, Any]], **options: Any) -> VisitTable:
    return VisitTable.from_arrow(to_batch(seen), CATALOG, by="publisher", **options)


def rows_by_truth(table: VisitTable, text: str) -> list[list[int]]:
    return [table.rows(bitmap).tolist() for bitmap in table.bitmap(text)]


def judge_rows(text: str, seen: list[dict[str, Any]]) -> list[list[int]]:
    expression = parse(text, CATALOG)
    found = [expression.evaluate(visit) for visit in seen]
    return [[row for row, truth in enumerate(found) if truth is wanted] for wanted in TRUTHS]


@given(
    st.lists(texts(), min_size=1, max_size=6),
    st.lists(visits(malformed=False), max_size=8),
    st.integers(1, 12),
)
@settings(deadline=None)
def test_a_bitmap_has_three_truths_like_the_plain_evaluator(
    expressions: list[str], seen: list[dict[str, Any]], times: int
) -> None:
    rows = seen * times
    table = prepare(rows, groups=("country", "mobile"))
    assert len(table) == len(rows)
    for text in expressions:
        assert rows_by_truth(table, text) == judge_rows(text, rows)


def draw_many(count: int) -> list[dict[str, Any]]:
    """Draws visits with more values than a block keeps bitmaps of, and lists beside bitmaps."""
    places = [{"lat": (n % 179) - 89.0, "lon": (n * 7 % 359) - 179.0} for n in range(count)]
    return [
        {
            "publisher": ("US", "DE", "é")[n % 7 % 3],
            "country": f"c{n % 120}",
            "age": n % 500 - 100,
            "score": (n % 211) / 8 - 3,
            "time": 1763194200000 + 61_000 * n,
            "segments": [f"s{n % 90}", f"s{n % 7}", "cars"][: n % 4],
            "numbers": [n % 130, n % 3][: n % 3],
            "address": f"10.{n % 3}.{n % 200}.1",
            "place": places[n],
            "seen": "2026-11-16T08:30:00Z",
        }
        | ({"geo.utc_offset": n % 9 * 60} if n % 2 else {})
        for n in range(count)
    ]


MANY_TEXTS = (
    "age between 3 and 77",
    "not age between 3 and 77",
    "age in (1, 5, 7, 90, 91, 92) or age > 390",
    "score < 1.125 and score >= -2",
    "country ends with '7' and country not starts with 'c1'",
    "country like 'c?3'",
    "segments one of ('s3', 's80', 's81')",
    "segments all of ('s1', 'cars')",
    "segments only of ('s1', 's2', 's3', 'cars')",
    "not segments only of ('s1', 'cars')",
    "count(segments) >= 2 and numbers is not empty",
    "numbers none of (1, 2, 100)",
    "address in network ('10.1.0.0/16', '10.2.40.0/21')",
    "place within 2000 km of (10, 20)",
    "not place within 20015.2 km of (10, 20)",
    "place inside polygon ((-40, -60), (50, -50), (30, 90))",
    "time during 'Mon-Fri 08:00-18:00' or seen during 'Mon 10:00-12:00'",
    "publisher = 'DE' xor age < 40",
)


def test_wide_dictionaries_answer_like_the_plain_evaluator() -> None:
    seen = draw_many(3000)
    table = prepare(seen, groups=("mobile",))
    for text in MANY_TEXTS:
        assert rows_by_truth(table, text) == judge_rows(text, seen), text


def test_blocks_of_one_publisher_end_and_go_on() -> None:
    # More visits of one publisher than fit in a block, beside one with a single visit.
    ages = np.arange(40_000) % 100
    batch = pa.table({"publisher": ["big"] * 39_999 + ["small"], "age": ages})
    table = VisitTable.from_arrow(batch, CATALOG, by="publisher")
    assert table.stats()["blocks"] == 3
    true, false, unknown = table.bitmap("age < 30 and publisher = 'big'")
    expected = np.flatnonzero((ages < 30) & (np.arange(40_000) < 39_999))
    assert table.rows(true).tolist() == expected.tolist()
    assert len(table.rows(false)) == 40_000 - len(expected)
    assert table.rows(unknown).tolist() == []


@given(
    st.lists(texts(), min_size=1, max_size=8),
    st.lists(visits(malformed=False), max_size=8),
    st.data(),
)
@settings(deadline=None)
def test_counts_are_those_of_the_plain_evaluator(
    expressions: list[str], seen: list[dict[str, Any]], drawn: st.DataObject
) -> None:
    weights = drawn.draw(st.lists(st.integers(1, 3), min_size=len(seen), max_size=len(seen)))
    table = prepare(seen, groups=("country",), weights=weights)
    assert table.weights.tolist() == weights
    trees = [parse(text, CATALOG) for text in expressions]
    truths = np.array(
        [[tree.evaluate(visit) is True for visit in seen] for tree in trees], dtype=int
    ).reshape(len(trees), len(seen))
    snapshot = freeze(expressions)
    expected = truths @ np.array(weights, dtype=int)
    assert table.count(snapshot).tolist() == expected.tolist()
    grouped = table.count(snapshot, groups=True)
    assert grouped.shape == (len(expressions), len(table.groups))
    assert grouped.sum(axis=1).tolist() == expected.tolist()
    for number, (country,) in enumerate(table.groups):
        chosen = np.array([visit.get("country") == country for visit in seen], dtype=int)
        assert grouped[:, number].tolist() == (truths @ (chosen * weights)).tolist()


def test_definitions_and_lists_are_those_of_the_index() -> None:
    catalog = CATALOG.compiled.with_lists({"young": [3, 18]})
    index = ATree(catalog)
    index.define("audience", "age in $young")
    index.define("edge.1", "country != 'DE'")
    index.insert(1, "publisher = 'US' and @edge.1 and @audience")
    index.insert(2, "publisher = 'US' and not @edge.1")
    index.insert(3, "not @audience")
    index.insert(4, "publisher = 'unseen' and @edge.1")
    snapshot = index.freeze()
    seen = [
        {"publisher": "US", "country": "FR", "age": 3},
        {"publisher": "US", "country": "DE", "age": 3},
        {"publisher": "US", "age": 3},
        {"publisher": "DE", "country": "FR", "age": 5},
    ]
    table = VisitTable.from_arrow(to_batch(seen), catalog, by="publisher")
    assert table.count(snapshot).tolist() == [1, 1, 1, 0]
    assert table.rows(table.bitmap("not @edge.1", snapshot)[0]).tolist() == [1]
    assert table.rows(table.bitmap("@edge.1", snapshot)[2]).tolist() == [2]
    assert table.rows(table.bitmap("age in $young")[0]).tolist() == [0, 1, 2]
    with pytest.raises(UnknownDefinitionError):
        table.bitmap("@edge.1")
    with pytest.raises(ExpressionError):
        table.bitmap("nothing = 3", snapshot)
    # What was refused has left nothing behind.
    assert table.count(snapshot).tolist() == [1, 1, 1, 0]


def test_rows_without_a_required_attribute_are_eligible_for_nothing() -> None:
    catalog = Catalog(
        (
            Attribute(name="publisher", type=AttributeType.STRING),
            Attribute(name="segments", type=AttributeType.STRING_SET, required=True),
        )
    )
    index = ATree(catalog)
    index.insert_many([1, 2], ["true", "segments is empty"])
    batch = pa.table(
        {"publisher": ["a", "a", "b"], "segments": pa.array([[], None, ["x"]])},
    )
    table = VisitTable.from_arrow(batch, catalog, by="publisher")
    assert table.count(index.freeze()).tolist() == [2, 1]


def test_wrong_types_are_missing_and_counted_and_null_elements_are_left_out() -> None:
    batch = pa.table(
        {
            "publisher": ["a", "a", "b"],
            "age": ["old", "18", None],
            "segments": pa.array([["x", None], [None], ["y"]]),
        }
    )
    table = VisitTable.from_arrow(batch, CATALOG, by="publisher")
    snapshot = freeze(["age is present", "segments is present", "segments one of ('x')"])
    assert table.stats()["malformed"].keys() >= {"age"}
    assert table.stats()["malformed"]["age"] == 2
    assert table.count(snapshot).tolist() == snapshot.count_batch(batch).tolist()


def test_several_batches_are_one_table() -> None:
    seen = draw_many(50)
    several = [to_batch(seen[:20]), to_batch(seen[20:])]
    table = VisitTable.from_arrow(several, CATALOG, by="publisher")
    for text in MANY_TEXTS:
        assert rows_by_truth(table, text) == judge_rows(text, seen)


def test_an_empty_table_answers(tmp_path: Path) -> None:
    table = VisitTable.from_arrow(SCHEMA.empty_table(), CATALOG, by="publisher", groups=("age",))
    snapshot = freeze(["true", "age > 3"])
    table.save(tmp_path / "empty.visits")
    for each in (table, VisitTable.open(tmp_path / "empty.visits")):
        assert len(each) == 0
        assert each.count(snapshot).tolist() == [0, 0]
        assert each.count(snapshot, groups=True).shape == (2, 0)
        assert [bitmap.size for bitmap in each.bitmap("age > 3")] == [0, 0, 0]


def test_a_saved_table_answers_the_same(tmp_path: Path) -> None:
    seen = draw_many(700)
    snapshot = freeze(list(MANY_TEXTS))
    table = prepare(seen, groups=("country",), weights=np.arange(700) % 3 + 1)
    table.save(tmp_path / "day.visits")
    opened = VisitTable.open(tmp_path / "day.visits")
    assert opened.groups == table.groups
    assert opened.by == "publisher"
    assert opened.weights.tolist() == table.weights.tolist()
    assert opened.count(snapshot, groups=True).tolist() == (
        table.count(snapshot, groups=True).tolist()
    )
    assert rows_by_truth(opened, MANY_TEXTS[0]) == judge_rows(MANY_TEXTS[0], seen)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    prepare(draw_many(60)).save(tmp_path / "day.visits")
    content = bytearray((tmp_path / "day.visits").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "damaged.visits").write_bytes(content)
    with pytest.raises(SnapshotError, match="checksum"):
        VisitTable.open(tmp_path / "damaged.visits")
    (tmp_path / "short.visits").write_bytes(content[:-8])
    with pytest.raises(SnapshotError, match="cut short"):
        VisitTable.open(tmp_path / "short.visits")
    (tmp_path / "other.visits").write_bytes(b"x" * 500)
    with pytest.raises(SnapshotError, match="no table"):
        VisitTable.open(tmp_path / "other.visits")


def route(bookings: dict[int, str]) -> Snapshot:
    """Makes an exchange with a cycle: 1 is the publisher, 9 and 8 buy."""
    index = ATree(CATALOG)
    meanings = {
        11: "age >= 3",
        12: "mobile",
        13: "country = 'DE'",
        14: "true",
        15: "score > 0",
        16: "age < 18",
    }
    for edge, text in meanings.items():
        index.define(f"edge.{edge}", text)
    links = [(11, 1, 2, 9000), (12, 1, 3, 8000), (13, 2, 3, 9500), (14, 3, 2, 9500)]
    links += [(15, 2, 9, 9000), (16, 3, 8, 10_000)]
    names = {party: f"party {party}" for party in (1, 2, 3, 8, 9)}
    labels = names | {1: "US"}
    index.set_routes(names, links, labels, [1], attribute="publisher")
    for party, hops in ((9, 1), (9, 2), (9, 4), (9, 8), (8, 2), (8, 3)):
        index.define_reach(party, hops)
    for entry_id, text in bookings.items():
        index.insert(entry_id, text)
    return index.freeze()


BOOKINGS = {
    1: "publisher = 'US' and @reach.9.1",
    2: "publisher = 'US' and @reach.9.2 and age > 1",
    3: "publisher = 'US' and @reach.9.8 and not mobile",
    4: "publisher = 'US' and @reach.8.3",
    5: "publisher = 'US' and @edge.11 and @edge.15 and segments one of ('cars')",
    6: "@reach.8.2 or age = 7",
    7: "publisher = 'DE' and @reach.9.4",
}


@given(st.lists(visits(malformed=False), max_size=12))
@settings(deadline=None)
def test_bookings_on_any_path_are_counted_like_single_matches(seen: list[dict[str, Any]]) -> None:
    snapshot = route(BOOKINGS)
    table = prepare(seen)
    matched = [snapshot.match(visit) for visit in seen]
    expected = [sum(entry in row for row in matched) for entry in BOOKINGS]
    assert table.count(snapshot).tolist() == expected


def test_definitions_that_code_answers_are_asked_row_by_row() -> None:
    index = ATree(CATALOG)
    index.define("late", "false")
    index.insert(1, "publisher = 'US' and @late")
    index.insert(2, "age > 3")
    snapshot = index.freeze().answer_slots(["late"], lambda _ask: {"late": True})
    seen: list[dict[str, Any]] = [{"publisher": "US", "age": 5}, {"age": 5}, {"publisher": "US"}]
    table = prepare(seen, weights=[2, 3, 4])
    assert table.count(snapshot).tolist() == [6, 5]
    assert table.stats()["rows asked one by one"] == 2


def test_rows_become_the_visits_again_that_they_were() -> None:
    seen = draw_many(200)
    table = prepare(seen)
    snapshot = freeze(list(MANY_TEXTS))
    found = sorted(tuple(snapshot.match(visit)) for visit, _, _ in table.visits())
    assert found == sorted(tuple(snapshot.match(visit)) for visit in seen)

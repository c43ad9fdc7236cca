"""Arrow batches match row by row like dict visits."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, Snapshot
from targeting import Attribute, AttributeType, Catalog, parse
from tests.matcher_ext.expressions import CATALOG, texts, visits
from tests.matcher_ext.test_matching import CATALOG as EXCHANGE
from tests.matcher_ext.test_matching import draw_visit, tree

MANY = 300
SCHEMA = pa.schema(
    {
        "publisher": pa.string(),
        "country": pa.dictionary(pa.int8(), pa.string()),
        "age": pa.int64(),
        "score": pa.float64(),
        "mobile": pa.bool_(),
        "time": pa.timestamp("ms", "UTC"),
        "segments": pa.list_(pa.string()),
        "numbers": pa.large_list(pa.int64()),
        "address": pa.large_string(),
        "place": pa.struct({"lat": pa.float64(), "lon": pa.float64()}),
        "seen": pa.string_view(),
        "geo": pa.struct({"utc_offset": pa.int16()}),
    }
)


def freeze(expressions: list[str]) -> Snapshot:
    index = ATree(CATALOG)
    index.insert_many(range(len(expressions)), expressions)
    return index.freeze()


def to_row(visit: dict[str, Any]) -> dict[str, Any]:
    row = dict(visit)
    time = row.get("time")
    if isinstance(time, str):
        row["time"] = datetime.fromisoformat(time)
    elif time is not None:
        row["time"] = datetime.fromtimestamp(time / 1000, UTC)
    row["geo"] = {"utc_offset": row.pop("geo.utc_offset", None)}
    if isinstance(row.get("age"), float):
        row["age"] = int(row["age"])
    return row


def to_batch(seen: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([to_row(visit) for visit in seen], schema=SCHEMA)


def split(offsets: Any, ids: Any) -> list[list[int]]:
    return [sorted(ids[a:b].tolist()) for a, b in pairwise(offsets)]


@given(
    st.lists(texts(), max_size=10),
    st.lists(visits(malformed=False), max_size=6),
    st.integers(0, 3),
)
@settings(deadline=None)
def test_a_batch_matches_row_by_row_like_dicts(
    expressions: list[str], seen: list[dict[str, Any]], skipped: int
) -> None:
    snapshot = freeze(expressions)
    expected = [snapshot.match(visit) for visit in seen]
    assert split(*snapshot.match_batch(to_batch(seen))) == expected
    sliced = to_batch(seen).slice(skipped)
    assert split(*snapshot.match_batch(sliced)) == expected[skipped:]
    counts = snapshot.count_batch(to_batch(seen))
    assert counts.tolist() == [
        sum(entry in row for row in expected) for entry in range(len(expressions))
    ]


@given(
    st.lists(texts(), min_size=1, max_size=10),
    st.lists(visits(malformed=False), min_size=1, max_size=6),
    st.data(),
)
@settings(deadline=None)
def test_blocks_are_counted_like_the_plain_evaluator(
    expressions: list[str], seen: list[dict[str, Any]], drawn: st.DataObject
) -> None:
    # So many rows that they are not matched one by one.
    rows = seen * (MANY // len(seen) + 1)
    groups = np.resize(drawn.draw(st.lists(st.integers(-1, 2), min_size=1)), len(rows))
    trees = [parse(text, CATALOG) for text in expressions]
    truths = np.array([[tree.evaluate(visit) is True for tree in trees] for visit in seen])
    truths = np.resize(truths, (len(rows), len(trees)))
    working_bytes = drawn.draw(st.sampled_from([256 << 20, 1]))
    snapshot = freeze(expressions)
    counts = snapshot.count_batch(
        to_batch(rows), groups, group_count=3, working_bytes=working_bytes
    )
    expected = [truths[groups == group].sum(axis=0).tolist() for group in range(3)]
    assert counts.tolist() == expected
    counts = snapshot.count_batch(to_batch(rows), working_bytes=working_bytes)
    assert counts.tolist() == truths.sum(axis=0).tolist()


def test_rows_without_a_required_attribute_are_not_counted() -> None:
    catalog = Catalog(
        (
            Attribute(name="age", type=AttributeType.INTEGER),
            Attribute(name="segments", type=AttributeType.STRING_SET, required=True),
        )
    )
    index = ATree(catalog)
    index.insert_many([1, 2, 3], ["age >= 18", "segments is empty", "true"])
    rows = [{"age": 20, "segments": []}, {"age": 20}, {"segments": ["cars"]}] * MANY
    batch = pa.RecordBatch.from_pylist(
        rows, schema=pa.schema({"age": pa.int64(), "segments": pa.list_(pa.string())})
    )
    assert index.freeze().count_batch(batch).tolist() == [MANY, MANY, 2 * MANY]


def test_deep_and_shared_expressions_are_counted_in_blocks() -> None:
    # Links of a chain of exclusive ors are used twice each; definitions nest deeper than any stack.
    index = ATree(CATALOG)
    index.define("d0", "age >= 3")
    for number in range(1, 300):
        index.define(f"d{number}", f"(@d{number - 1} and age < {300 - number}) or age = {number}")
    index.insert(0, "@d299")
    index.insert(1, " xor ".join(f"(age >= {bound})" for bound in range(40)))
    index.insert(2, "not @d299")
    snapshot = index.freeze()
    rows = [{"age": age % 60} for age in range(2 * MANY)] + [{}]
    batch = pa.RecordBatch.from_pylist(rows)
    _, ids = snapshot.match_batch(batch)
    assert snapshot.count_batch(batch).tolist() == np.bincount(ids, minlength=3).tolist()


NUMBERS = Catalog(
    tuple(Attribute(name=f"n{number}", type=AttributeType.INTEGER) for number in range(12))
)


def draw_predicate(chosen: random.Random) -> str:
    name, value = f"n{chosen.randrange(12)}", chosen.randrange(100)
    values = ", ".join(str(value + step) for step in range(0, 20, chosen.choice((4, 19))))
    return chosen.choice(
        (
            f"{name} = {value}",
            f"{name} != {value}",
            f"{name} < {value}",
            f"{name} >= {value}",
            f"{name} between {value} and {value + chosen.randrange(1, 90)}",
            f"not {name} between {value} and {value + chosen.randrange(1, 90)}",
            f"{name} in ({values})",
            f"{name} not in ({values})",
        )
    )


def draw_parts(chosen: random.Random, depth: int) -> str:
    if depth == 0:
        return draw_predicate(chosen)
    word = chosen.choice((" and ", " or ", " or "))
    return word.join(
        f"({draw_parts(chosen, chosen.randrange(depth))})" for _ in range(chosen.randrange(2, 7))
    )


def test_leaves_of_every_kind_and_width_are_counted_like_the_plain_evaluator() -> None:
    chosen = random.Random(4)
    texts = [draw_parts(chosen, 1 + number % 3) for number in range(90)]
    texts += [
        # More leaves of a kind than an AND or an OR counts, of one attribute and of all.
        " or ".join(f"n0 between {2 * low} and {2 * low + 1}" for low in range(0, 200, 2)),
        " and ".join(f"not n{low % 12} between {low} and {low + 1}" for low in range(0, 200, 2)),
        " or ".join(f"n{low % 12} not in ({low}, {low + 7})" for low in range(100)),
        " and ".join(f"n{low % 12} not in ({low}, {low + 7})" for low in range(100)),
        " or ".join(f"n{low % 12} in ({low}, {low + 7})" for low in range(100)),
        # Nobody carries this one.
        "n11 != 3 or n11 not in (1, 2) or n11 in (1, 2) or n11 > 4",
        "n0 = 1 or n11 not in (1, 2)",
        "n0 > 1 and n11 not in (1, 2)",
    ]
    rows = [
        {f"n{name}": chosen.randrange(110) for name in range(11) if chosen.random() < 0.6}
        for _ in range(MANY)
    ]
    trees = [parse(text, NUMBERS) for text in texts]
    expected = [sum(tree.evaluate(row) is True for row in rows) for tree in trees]
    index = ATree(NUMBERS)
    index.insert_many(range(len(texts)), texts)
    schema = pa.schema({f"n{name}": pa.int64() for name in range(11)})
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    assert index.freeze().count_batch(batch).tolist() == expected


def test_an_and_may_start_from_a_range_that_it_does_not_count() -> None:
    names = [f"n{number}" for number in range(90)]
    catalog = Catalog(tuple(Attribute(name=name, type=AttributeType.INTEGER) for name in names))
    chosen = random.Random(5)
    rows = [{name: chosen.randrange(110) for name in names} for _ in range(MANY)]
    texts = []
    for place in range(0, 90, 6):
        name = names[place]
        wide = names[place - 40]
        others = [each for each in names if each not in (name, wide)]
        for always, narrow in (("{} >= 0", "{} < 20"), ("{} != 500", "not {} between 5 and 90")):
            conditions = [*map(always.format, others), narrow.format(name), f"{wide} < 60"]
            texts.append(" and ".join(conditions))
    trees = [parse(text, catalog) for text in texts]
    expected = [sum(tree.evaluate(row) is True for row in rows) for tree in trees]
    index = ATree(catalog)
    index.insert_many(range(len(texts)), texts)
    assert index.freeze().count_batch(pa.RecordBatch.from_pylist(rows)).tolist() == expected


def make_wide(chosen: random.Random) -> tuple[Snapshot, pa.RecordBatch]:
    index = ATree(EXCHANGE)
    index.insert_many(range(2000), [tree(chosen, 2) for _ in range(2000)])
    rows = [draw_visit(chosen) for _ in range(5000)]
    return index.freeze(), pa.RecordBatch.from_pylist(rows)


def test_little_working_memory_gives_the_same_counts() -> None:
    snapshot, batch = make_wide(random.Random(2))
    expected = snapshot.count_batch(batch).tolist()
    for working_bytes in (20_000, 1_000_000):
        assert snapshot.count_batch(batch, working_bytes=working_bytes).tolist() == expected


def test_a_large_index_counts_the_same_before_and_after_its_circuit_is_made() -> None:
    # So many entries that visits are matched one by one until that has taken as long as the making.
    index = ATree(Catalog.of(number="integer", tags="string set"))
    size = 60_000
    index.insert_many(
        range(size), [f"number = {i} and tags none of ('a', 'b')" for i in range(size)]
    )
    index.insert_many([size, size + 1], ["tags is missing", "number >= 100 or tags one of ('c')"])
    snapshot = index.freeze()
    rows = [{"number": i % 200, "tags": [["a"], ["c"], [], None][i % 4]} for i in range(4096)]
    batch = pa.RecordBatch.from_pylist(
        rows, schema=pa.schema({"number": pa.int64(), "tags": pa.list_(pa.string())})
    )
    _, ids = snapshot.match_batch(batch)
    expected = np.bincount(ids, minlength=size + 2).tolist()
    assert all(snapshot.count_batch(batch).tolist() == expected for _ in range(40))


MEASURE = """
import random, sys
from pathlib import Path
from tests.matcher_ext.test_batch import make_wide

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

snapshot, batch = make_wide(random.Random(3))
snapshot.count_batch(batch.slice(0, 300), working_bytes=100_000)   # what every count needs once
Path("/proc/self/clear_refs").write_text("5")
before = peak()
snapshot.count_batch(batch, working_bytes=int(sys.argv[1]))
print(peak() - before)
"""


def test_counting_keeps_within_its_working_memory() -> None:
    for working_bytes in (1 << 20, 64 << 20):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(working_bytes)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert int(done.stdout) < working_bytes + (8 << 20)


FIRST_ROW_ONLY = """
import resource
from pathlib import Path
import pyarrow as pa
from matcher_ext import ATree
from targeting import Catalog

index = ATree(Catalog.of(age="integer"))
index.insert_many(range(2_000), ["age >= 0"] * 2_000)
batch = pa.RecordBatch.from_pydict({"age": [1, *[-1] * 199_999]})
snapshot = index.freeze()
held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (512 << 20), -1))
offsets, ids = snapshot.match_batch(batch)
print(len(ids), offsets[1], offsets[-1])
"""


def test_a_first_row_with_many_matches_does_not_ask_for_too_much_memory() -> None:
    """Gives the process less memory than as many for each row would take, 3.5 GB."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_ROW_ONLY], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["2000", "2000", "2000"], done.stderr[-2000:]


def test_counts_of_many_blocks_are_those_of_single_rows() -> None:
    chosen = random.Random(1)
    entries = [tree(chosen, depth) for depth in (0, 1, 2) for _ in range(60)]
    entries += [f"publisher = 'p{i % 6}' and not ({tree(chosen, 1)})" for i in range(90)]
    index = ATree(EXCHANGE)
    index.define("edge", "mobile or domain like '*1*'")
    index.insert_many(
        range(len(entries)), [f"{text} and not @edge" for text in entries[:20]] + entries[20:]
    )
    batch = pa.RecordBatch.from_pylist([draw_visit(chosen) for _ in range(1300)])
    groups = np.array([chosen.randrange(-1, 3) for _ in range(1300)])
    offsets, ids = index.freeze().match_batch(batch)
    expected = np.zeros((3, len(entries)), np.int64)
    for row, (first, end) in enumerate(pairwise(offsets)):
        if groups[row] >= 0:
            np.add.at(expected[groups[row]], ids[first:end], 1)
    counts = index.freeze().count_batch(batch, groups)
    assert counts.tolist() == expected.tolist()
    assert index.freeze().count_batch(batch).tolist() == (
        np.bincount(ids, minlength=len(entries)).tolist()
    )


def test_counts_by_group_and_leaves_negative_codes_out() -> None:
    snapshot = freeze(["age >= 18", "true"])
    batch = pa.RecordBatch.from_pydict({"age": [17, 18, 19, None, 40]})
    counts = snapshot.count_batch(batch, np.array([0, 1, 1, 0, -1]), group_count=3)
    assert counts.tolist() == [[0, 2], [2, 2], [0, 0]]


def test_a_table_of_chunks_is_counted_as_one() -> None:
    snapshot = freeze(["age >= 18"])
    batch = pa.RecordBatch.from_pydict({"age": [17, 18]})
    table = pa.Table.from_batches([batch, batch, batch.slice(1)])
    assert snapshot.count_batch(table).tolist() == [3]
    offsets, ids = snapshot.match_batch(table)
    assert offsets.tolist() == [0, 0, 1, 1, 2, 3]
    assert ids.tolist() == [0, 0, 0]


@pytest.mark.parametrize("copies", [1, MANY])
def test_a_column_that_is_not_there_is_an_attribute_that_is_missing(copies: int) -> None:
    """Shows it row by row, and in blocks."""
    snapshot = freeze(
        [
            "age >= 18",
            "country is missing",
            "country = 'US' or age = 17",
            "not (segments one of ('cars'))",
            "place is missing and geo.utc_offset is missing",
        ]
    )
    batch = pa.RecordBatch.from_pydict({"age": [17, 18, None] * copies})
    assert snapshot.count_batch(batch).tolist() == [copies, 3 * copies, copies, 0, 3 * copies]
    offsets, ids = snapshot.match_batch(batch)
    assert split(offsets[:4], ids) == [[1, 2, 4], [0, 1, 4], [1, 4]]
    nothing = pa.RecordBatch.from_pydict({"unknown": [17, 18, None] * copies})
    assert snapshot.count_batch(nothing).tolist() == [0, 3 * copies, 0, 0, 3 * copies]


def test_chunks_of_any_size_are_counted_in_blocks_with_the_groups_of_their_rows() -> None:
    """Dictionaries differ from chunk to chunk, and so do the chunks of one column and another."""
    chosen = random.Random(4)
    rows = [
        {"country": chosen.choice(["US", "DE", "FR", None]), "age": chosen.choice([17, 18, None])}
        for _ in range(3 * MANY)
    ]
    groups = np.array([chosen.randrange(-1, 3) for _ in rows])
    entries = ["country = 'DE'", "country != 'US' and age >= 18", "age is missing", "country = 'é'"]
    table = pa.table(
        {
            "country": chop(chosen, [row["country"] for row in rows], pa.string()),
            "age": chop(chosen, [row["age"] for row in rows], pa.int64()),
        }
    )
    assert table["country"].num_chunks != table["age"].num_chunks
    expected = np.zeros((3, len(entries)), np.int64)
    trees = [parse(text, CATALOG) for text in entries]
    for row, group in zip(rows, groups, strict=True):
        if group >= 0:
            expected[group] += [tree.evaluate(row) is True for tree in trees]
    snapshot = freeze(entries)
    assert snapshot.count_batch(table, groups).tolist() == expected.tolist()
    assert snapshot.count_batch(table, groups, working_bytes=1).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="group"):
        snapshot.count_batch(table, groups[1:])


def chop(chosen: random.Random, values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    chunks, first = [], 0
    while first < len(values):
        end = first + chosen.randrange(1, 150)
        chunk = pa.array(values[first:end], kind)
        chunks.append(chunk.dictionary_encode() if kind == pa.string() else chunk)
        first = end
    return pa.chunked_array(chunks)


def test_a_column_of_another_type_is_malformed_not_an_error() -> None:
    snapshot = freeze(["age >= 18", "age is missing", "segments is missing"])
    batch = pa.RecordBatch.from_pydict(
        {"age": ["18", "x"], "segments": [[1], [2]], "unknown": [1, 2]}
    )
    assert snapshot.match_batch(batch)[1].tolist() == [1, 2, 1, 2]
    assert snapshot.malformed_rows(batch).tolist() == [2, 2]


def test_a_null_element_spoils_its_set() -> None:
    snapshot = freeze(["segments one of ('cars')"])
    batch = pa.RecordBatch.from_pydict({"segments": [["cars"], ["cars", None], None, []]})
    assert snapshot.match_batch(batch)[0].tolist() == [0, 1, 1, 1, 1]
    assert snapshot.malformed_rows(batch).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_mean_the_same(unit: str) -> None:
    snapshot = freeze(["time >= '2026-11-15T00:00:00Z'", "time < '1970-01-01T00:00:00Z'"])
    times = [datetime(2026, 11, 15, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)]
    batch = pa.RecordBatch.from_pydict({"time": pa.array(times, pa.timestamp(unit, "UTC"))})
    assert split(*snapshot.match_batch(batch)) == [[0], [1]]


def test_unsigned_and_narrow_numbers_are_read() -> None:
    snapshot = freeze(["age >= 18"])
    for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64(), pa.float32()):
        batch = pa.RecordBatch.from_pydict({"age": pa.array([17, 18, None], kind)})
        assert split(*snapshot.match_batch(batch)) == [[], [0], []]
    batch = pa.RecordBatch.from_pydict({"age": pa.array([2**64 - 1], pa.uint64())})
    assert snapshot.malformed_rows(batch).tolist() == [1]


def test_a_list_of_dictionary_codes_is_read() -> None:
    snapshot = freeze(["segments one of ('cars')"])
    coded = pa.array([["cars", "x"], ["x"], None], pa.list_(pa.dictionary(pa.int8(), pa.string())))
    batch = pa.RecordBatch.from_arrays([coded], names=["segments"])
    assert split(*snapshot.match_batch(batch)) == [[0], [], []]


def test_two_columns_for_one_attribute_are_refused() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"])
    with pytest.raises(ValueError, match="two columns carry the attribute age"):
        freeze(["true"]).match_batch(batch)


def test_what_is_not_arrow_is_refused() -> None:
    with pytest.raises(TypeError, match="not an Arrow record batch"):
        freeze(["true"]).match_batch([{"age": 1}])

"""Lists that are searched themselves, instead of having a key for each of their values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from matcher_ext import ATree, LiveIndex, Snapshot
from matcher_ext.engines import Scan
from targeting import Catalog, parse

COUNT = 5_000
MANY = 100  # times the same rows, so that they are counted in blocks
CATALOG = Catalog.of(
    **{"p": "string", "s": "string", "i": "integer", "f": "float", "ss": "string set"},
    n="integer set",
)
TEXTS = tuple(f"value {i:05} é" for i in range(0, 2 * COUNT, 2))
NUMBERS = tuple(range(-COUNT, COUNT, 2))
LISTS: dict[str, Sequence[str] | Sequence[int]] = {"texts": TEXTS, "numbers": NUMBERS}
CONDITIONS = (
    "s in $texts",
    "s not in $texts",
    "i in $numbers",
    "i not in $numbers",
    "f in $numbers",
    "ss one of $texts",
    "ss none of $texts",
    "ss not one of $texts",
    "n one of $numbers",
    "n none of $numbers",
)
VISITS: tuple[dict[str, Any], ...] = (
    {},
    {"s": TEXTS[0]},
    {"s": TEXTS[-1], "i": NUMBERS[0], "f": float(NUMBERS[-1])},
    {"s": "value 00001 é", "i": NUMBERS[7] + 1, "f": 0.5},
    {"s": "", "i": 10**12, "f": -1e300},
    {"ss": [], "n": []},
    {"ss": ["x", TEXTS[77]], "n": [1, NUMBERS[3]]},
    {"ss": ["x"], "n": [1, 3]},
)


def spell_out(condition: str) -> str:
    """Writes the condition with the list's values, as servers get it."""
    values = ", ".join(map(str, NUMBERS)) if "$numbers" in condition else str(TEXTS)[1:-1]
    return f"{condition.partition('$')[0]}({values})"


def make_index() -> ATree:
    """Makes each condition a definition, plain and negated, beside the same written out."""
    index = ATree(CATALOG)
    for number, condition in enumerate(CONDITIONS):
        text = spell_out(condition)
        index.define(f"d{number}", text)
        index.insert(10 * number, f"p = 'x' and @d{number}")
        index.insert(10 * number + 1, f"p = 'x' and not @d{number}")
        index.insert(10 * number + 2, f"@d{number} or p = 'y'")
    return index


def expect(visit: dict[str, Any]) -> list[int]:
    found = []
    for number, condition in enumerate(CONDITIONS):
        truth = parse(condition, CATALOG, lists=LISTS).evaluate(visit)
        is_x = visit.get("p") == "x"
        found += [10 * number] * (truth is True and is_x)
        found += [10 * number + 1] * (truth is False and is_x)
        found += [10 * number + 2] * (truth is True or visit.get("p") == "y")
    return found


@pytest.mark.parametrize("publisher", ["x", "y", None])
@pytest.mark.parametrize("visit", VISITS)
def test_long_lists_match_as_the_plain_evaluator_says(
    visit: dict[str, Any], publisher: str | None, tmp_path: Path
) -> None:
    visit = {"p": publisher, **visit}
    index = make_index()
    assert index.match(visit) == expect(visit)
    index.freeze().save(tmp_path / "index.atree")
    assert Snapshot.open(tmp_path / "index.atree", recheck=True).match(visit) == expect(visit)


def test_batches_count_long_lists() -> None:
    snapshot = make_index().freeze()
    visits = [{"p": "x", **visit} for visit in VISITS]
    schema = pa.schema(
        [
            ("p", pa.string()),
            ("s", pa.string()),
            ("i", pa.int64()),
            ("f", pa.float64()),
            ("ss", pa.list_(pa.string())),
            ("n", pa.list_(pa.int64())),
        ]
    )
    batch = pa.RecordBatch.from_pylist(visits * MANY, schema=schema)
    counts = dict(zip(snapshot.ids.tolist(), snapshot.count_batch(batch).tolist(), strict=True))
    expected = dict.fromkeys(snapshot.ids.tolist(), 0)
    for visit in visits:
        for entry_id in expect(visit):
            expected[entry_id] += MANY
    assert counts == expected


def test_a_long_list_has_no_keys_where_only_definitions_ask_for_it() -> None:
    index = ATree(CATALOG)
    index.define("list", spell_out("s in $texts"))
    index.insert(1, "@list and i = 1")
    alone = index.freeze().stats()["bytes"]
    index.insert(2, spell_out("s in $texts"))
    assert alone < index.freeze().stats()["bytes"] / 2
    assert index.match({"s": TEXTS[3], "i": 1}) == [1, 2]
    assert index.match({"s": TEXTS[3], "i": 2}) == [2]


def test_reasons_name_a_long_list_that_keeps_an_entry_out() -> None:
    snapshot = make_index().freeze()
    reasons = snapshot.why_not({"p": "x", "s": "elsewhere"}, [0])
    assert [reason[0] for reason in reasons[0]] == ["d0"]


def test_a_live_index_replaces_long_lists_beside_other_changes() -> None:
    live = LiveIndex(make_index().freeze())
    visit = {"p": "x", "s": TEXTS[4], "i": 1}
    assert 0 in live.match(visit)
    live.apply(entries={500: "p = 'x' and @d0"})
    assert {0, 500} <= set(live.match(visit))
    shorter = str(TEXTS[5:])[1:-1]
    live.apply(definitions=[("d0", f"s in ({shorter})")])
    assert not {0, 2, 500} & set(live.match(visit))
    assert 1 in live.match(visit)
    live.apply(entries={501: "p = 'x' and i = 1"}, dead=[500])
    assert {1, 501} <= set(live.match(visit))
    live.apply(definitions=[("d0", f"s in ({shorter}, '{TEXTS[4]}')")])
    assert {0, 2, 501} <= set(live.match(visit))
    with pytest.raises(Exception, match="unknown attribute"):
        live.apply(entries={502: "nothing = 1"})
    assert {0, 2, 501} <= set(live.match(visit))


@pytest.mark.parametrize("visit", VISITS)
def test_the_scan_knows_lists_without_keys(visit: dict[str, Any]) -> None:
    visit = {"p": "x", **visit}
    scan = Scan(make_index().freeze())
    assert sorted(scan.match_ids(visit).tolist()) == expect(visit)

"""The graph that is read back out of a snapshot is the one that was frozen."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, Snapshot
from matcher_ext.engines import Scan
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits

# One of each way in which an entry is found: by a leaf, by an AND of leaves, by ORs of several
# levels, by every visit, by a pair, by none.
WAYS = [
    "age = 3",
    "age = 3 and mobile",
    "(age = 3 and mobile) or (age = 4 and (publisher = 'US' or segments one of ('cars', 'pets')))",
    "((age < 3 or mobile) and publisher = 'US') or (country != 'DE' and age between 1 and 7)",
    "@edge",
    "not @edge",
    "@edge or (@edge and mobile)",
    "not @edge and not @other",
    "true",
    "false",
]


@given(texts(), texts(("other",)))
@settings(deadline=None)
def test_a_copied_definition_meets_its_own_text(other: str, edge: str) -> None:
    index = ATree(CATALOG)
    index.define("other", other)
    index.define("edge", edge)
    copy = ATree(CATALOG)
    copy.copy_definition(index.freeze(), "edge")
    copy.copy_definition(index.freeze(), "other")
    nodes = copy.stats()["nodes"]
    copy.define("twin", edge)
    copy.define("other_twin", other)
    assert copy.stats()["nodes"] == nodes


@given(st.lists(texts(("edge",)), max_size=8), texts(), st.lists(visits(), max_size=3))
@settings(deadline=None)
def test_a_scan_of_the_graph_matches_like_the_evaluator(
    expressions: list[str], edge: str, seen: list[dict[str, Any]]
) -> None:
    index = ATree(CATALOG)
    index.define("edge", edge)
    entries = dict(enumerate(expressions))
    index.insert_many(entries, entries.values())
    snapshot = index.freeze()
    scan = Scan(snapshot)
    for visit in seen:
        expected = judge(entries, {"edge": edge}, visit)
        assert sorted(scan.match_ids(visit).tolist()) == expected
        reasons = snapshot.why_not(visit, entries)
        assert [number for number in entries if not reasons[number]] == expected


@pytest.mark.parametrize("text", WAYS)
def test_every_way_to_an_entry_leads_back(text: str) -> None:
    index = ATree(CATALOG)
    index.define("other", "country in ('US', 'DE')")
    index.define("edge", "mobile and not @other")
    for number, other in enumerate(WAYS):
        index.insert(number, other)
    index.insert(-1, text)  # two entries of one expression
    snapshot = index.freeze()
    plain = ATree(CATALOG)
    plain.define("other", "country in ('US', 'DE')")
    plain.define("edge", "mobile and not @other")
    plain.insert(-1, text)
    assert words_in(snapshot, -1) == words_in(plain.freeze(), -1)
    assert words_in(snapshot, WAYS.index(text)) == words_in(snapshot, -1)


def words_in(snapshot: Snapshot, entry_id: int) -> list[str]:
    """Lists the boxes of an entry's picture, whatever their numbers are."""
    lines = snapshot.to_graphviz(entry_id).splitlines()
    return sorted(line.split("[", 1)[1] for line in lines if "[label=" in line)


def test_pairs_lead_back_to_both_of_their_values() -> None:
    chosen = random.Random(5)
    index = ATree(CATALOG)
    entries = {}
    for number in range(300):
        publisher = chosen.choice(("US", "DE", "FR"))
        entries[number] = (
            f"publisher = '{publisher}' and age in ({number}, {number + 300}) and mobile"
        )
    index.insert_many(entries, entries.values())
    snapshot = index.freeze()
    assert snapshot.stats()["pairs"] > 300
    for number in (0, 7, 299):
        publisher = entries[number][13:15]
        visit = {"publisher": "XX", "age": number + 300, "mobile": True}
        assert snapshot.why_not(visit, [number])[number] == [
            (None, f'publisher = "{publisher}"', False)
        ]
        visit = {"publisher": publisher, "age": -1, "mobile": True}
        assert snapshot.why_not(visit, [number])[number] == [
            (None, f"age in ({number}, {number + 300})", False)
        ]


def test_threads_that_ask_at_once_get_one_graph(tmp_path: Path) -> None:
    index = ATree(CATALOG)
    index.insert_many(range(500), [f"age = {n} or age = {n + 1} and mobile" for n in range(500)])
    index.freeze().save(tmp_path / "index.atree")
    snapshot = Snapshot.open(tmp_path / "index.atree")
    expected = index.freeze().why_not({"age": 7}, [6, 7, 8])
    found: list[object] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        found.append(snapshot.why_not({"age": 7}, [6, 7, 8]))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


@pytest.mark.parametrize("ids", [[0, 1, 2], [-(2**63), 2**63 - 1, 0], [2**40, 2**40 + 2**32 - 1]])
def test_ids_come_back_whatever_their_width(tmp_path: Path, ids: list[int]) -> None:
    index = ATree(CATALOG)
    index.insert_many(ids, ["true", "mobile", "age > 3"][: len(ids)])
    index.freeze().save(tmp_path / "index.atree")
    snapshot = Snapshot.open(tmp_path / "index.atree")
    assert snapshot.ids.tolist() == sorted(ids)
    assert snapshot.match({"mobile": True, "age": 4}) == sorted(ids)

"""Snapshot files of earlier builds of this program open and answer as they did when they were made.

`files/format_6.atree` was made from `files/format_6.json`, which also has visits and what matched
each of them. A new format version makes both anew: `python -m tests.matcher_ext.test_older_files`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from matcher_ext import ATree, Snapshot
from matcher_ext.engines import Scan
from tests.matcher_ext.expressions import CATALOG

FOLDER = Path(__file__).with_name("files")
FILE = FOLDER / "format_6.atree"
DOCUMENT: dict[str, Any] = json.loads((FOLDER / "format_6.json").read_text())
# What a file must have for these tests to read every part of the format.
HELD = ("levels", "definitions", "slots", "pairs", "guards", "last hops")


def make_index() -> ATree:
    index = ATree(CATALOG)
    for name, text in DOCUMENT["definitions"].items():
        index.define(name, text)
    index.set_routes(
        {party: f"party {party}" for party in range(1, 6)},
        DOCUMENT["links"],
        {party: "US" if party == 1 else f"party {party}" for party in range(1, 6)},
        [1],
        attribute="publisher",
    )
    for party, hops in DOCUMENT["reaches"]:
        index.define_reach(party, hops)
    index.insert_many([entry_id for entry_id, _ in DOCUMENT["entries"]], list_texts())
    return index


def list_texts() -> list[str]:
    return [text for _, text in DOCUMENT["entries"]]


@pytest.fixture
def opened(tmp_path: Path) -> Snapshot:
    """Opens a copy, since opening a file leaves a mark beside it."""
    return Snapshot.open(shutil.copy(FILE, tmp_path))


def test_an_older_file_has_every_part_of_the_format(opened: Snapshot) -> None:
    sizes = opened.stats()
    assert all(sizes[part] > 0 for part in HELD), sizes
    assert len(opened) == len(DOCUMENT["entries"])


def test_an_older_file_answers_as_when_it_was_made(opened: Snapshot) -> None:
    assert [opened.match(visit) for visit in DOCUMENT["visits"]] == DOCUMENT["answers"]


def test_an_older_file_finds_the_paths_that_it_found(opened: Snapshot) -> None:
    for visit, expected in zip(DOCUMENT["visits"], DOCUMENT["paths"], strict=True):
        _, _, paths = opened.match_with_paths(visit)
        assert len(paths) == expected


def test_the_graph_of_an_older_file_says_the_same(opened: Snapshot) -> None:
    """Reasons go through the graph that is read back out of the file; an empty list is a match."""
    ids = opened.ids.tolist()
    for visit, matched in zip(DOCUMENT["visits"], DOCUMENT["answers"], strict=True):
        reasons = opened.why_not(visit, ids)
        assert [entry_id for entry_id in ids if not reasons[entry_id]] == matched


def test_an_index_that_is_built_today_answers_as_the_older_file() -> None:
    snapshot = make_index().freeze()
    assert [snapshot.match(visit) for visit in DOCUMENT["visits"]] == DOCUMENT["answers"]


def test_a_scan_of_an_older_file_agrees_where_there_is_no_graph_to_walk(opened: Snapshot) -> None:
    routed = {entry_id for entry_id, text in DOCUMENT["entries"] if "@reach." in text}
    scan = Scan(opened)
    for visit, matched in zip(DOCUMENT["visits"], DOCUMENT["answers"], strict=True):
        assert sorted(scan.match_ids(visit).tolist()) == [i for i in matched if i not in routed]


def main() -> None:
    snapshot = make_index().freeze()
    snapshot.save(FILE)
    DOCUMENT["answers"] = [snapshot.match(visit) for visit in DOCUMENT["visits"]]
    DOCUMENT["paths"] = [len(snapshot.match_with_paths(visit)[2]) for visit in DOCUMENT["visits"]]
    lines = (f"{json.dumps(key)}: {lay_out(value)}" for key, value in DOCUMENT.items())
    (FOLDER / "format_6.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def lay_out(value: Any) -> str:
    """Writes a line for each element, so that a difference shows what it is in."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in value) + "\n]"
    return json.dumps(value, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()

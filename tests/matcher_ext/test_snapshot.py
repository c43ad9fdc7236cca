"""Frozen indexes: files, threads, and bytes that cannot be trusted."""

from __future__ import annotations

import errno
import json
import random
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, Snapshot, SnapshotError
from matcher_ext.plan.plan import seal
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits

ENTRIES = {
    1: "publisher = 'US' and age >= 18",
    2: "segments one of ('cars', 'é') and not @edge",
    3: "country under ('a.com') or place within 5 km of (48.85, 2.35)",
    4: "true",
    5: "age between 3 and 7 xor mobile",
}
# Numbers of sections, and two flags of a record's header.
LEAF_STREAMS, RECORDS, DEFINITION_SLOTS = 16, 20, 23
RECORD_ONE, RECORD_MANY = 1 << 25, 1 << 26
VISIT: dict[str, Any] = {"publisher": "US", "age": 18, "segments": ["cars"], "mobile": True}


def make_index() -> ATree:
    index = ATree(CATALOG)
    index.define("edge", "country in ('US', 'DE') and address in network ('10.0.0.0/8')")
    index.insert_many(ENTRIES, ENTRIES.values())
    return index


def make_large_index() -> ATree:
    """Makes what the small one lacks: pairs, levels, slots of parts, a graph with reaches, wide
    ids."""
    chosen = random.Random(3)
    index = ATree(CATALOG)
    for number in range(4):
        index.define(f"edge.{number}", f"age > {number} or not (mobile and score <= {number}.5)")
    index.set_routes(
        {1: "one", 2: "two", 3: "three"},
        [(0, 1, 2, 9000), (1, 2, 3, 8000), (2, 1, 3, 9500), (3, 3, 1, 10000)],
        {1: "US", 2: "two", 3: "three"},
        [1],
        attribute="publisher",
    )
    reach = index.define_reach(3, 2)
    shared = " or ".join(f"(age = {number} and numbers one of ({number}))" for number in range(20))
    for number in range(120):
        publisher = chosen.choice(("US", "DE"))
        index.insert(
            number << 40, f"publisher = '{publisher}' and age in ({number}, 18) and mobile"
        )
    for number in range(1, 12):
        text = f"((age = {number} or mobile) and country = 'US') or (score > {number} and mobile)"
        index.insert(-number, f"({text}) and ({shared}) or @{reach}" if number % 2 else text)
    return index


def make_alternatives() -> ATree:
    """Roots that are ORs, with ids near each other and a byte each; some with several entries."""
    index = ATree(CATALOG)
    for number in range(200):
        shown = number - number % 3 if number < 30 else number
        index.insert(number, f"age = {18 if shown % 2 else shown} or score > {shown}")
        index.insert(1000 + number, f"age = 18 and score < {number} and mobile")
    index.insert_many(range(300, 310), [f"age = {number}" for number in range(13, 23)])
    return index


INDEXES = {"small": make_index, "large": make_large_index, "alternatives": make_alternatives}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "index.atree"
    make_index().freeze().save(path)
    return path


@given(st.lists(texts(("edge",)), max_size=8), texts(), st.lists(visits(), max_size=3))
@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_an_opened_file_matches_like_the_index_it_was_made_from(
    tmp_path: Path, expressions: list[str], edge: str, seen: list[dict[str, Any]]
) -> None:
    index = ATree(CATALOG)
    index.define("edge", edge)
    entries = dict(enumerate(expressions))
    index.insert_many(entries, entries.values())
    index.freeze().save(tmp_path / "index.atree")
    snapshot = Snapshot.open(tmp_path / "index.atree")
    for visit in seen:
        assert snapshot.match(visit) == judge(entries, {"edge": edge}, visit)


def test_a_snapshot_does_not_change_with_its_index() -> None:
    index = make_index()
    snapshot = index.freeze()
    before = snapshot.match(VISIT)
    index.delete(4)
    index.define("edge", "false")
    assert snapshot.match(VISIT) == before
    assert index.match(VISIT) != before


def test_an_opened_file_says_what_is_in_it(saved: Path) -> None:
    snapshot = Snapshot.open(saved)
    assert len(snapshot) == 5
    assert snapshot.ids.tolist() == [1, 2, 3, 4, 5]
    assert {row[0]: row[1] for row in snapshot.catalog_rows}["age"] == "integer"
    assert snapshot.stats()["bytes"] == saved.stat().st_size


def test_malformed_and_unknown_attributes_are_named() -> None:
    snapshot = make_index().freeze()
    ids, malformed = snapshot.match_with_warnings({"age": "old", "mobile": True, "shoe": 42})
    assert ids.tolist() == [4]
    assert malformed == ("age",)
    assert snapshot.unknown_attributes({"age": 1, "shoe": 42}) == ("shoe",)


def test_saving_replaces_the_file_and_leaves_nothing_else_behind(saved: Path) -> None:
    mapped = Snapshot.open(saved)
    ATree(CATALOG).freeze().save(saved)
    assert len(Snapshot.open(saved)) == 0
    assert len(mapped) == 5
    assert mapped.match(VISIT) == make_index().match(VISIT)
    assert [path.name for path in saved.parent.iterdir()] == ["index.atree"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def fail(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        ATree(CATALOG).freeze().save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["index.atree"]


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError):
        Snapshot.open(tmp_path / "absent")
    (tmp_path / "empty").touch()
    with pytest.raises(SnapshotError):
        Snapshot.open(tmp_path / "empty")


def test_another_format_version_is_refused(saved: Path) -> None:
    altered = bytearray(saved.read_bytes())
    altered[8] += 1
    saved.write_bytes(altered)
    with pytest.raises(SnapshotError, match="version"):
        Snapshot.open(saved)


def test_a_truncated_or_extended_file_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for altered in (whole[:-1], whole[: len(whole) // 2], whole[:7], whole + b"x"):
        saved.write_bytes(altered)
        with pytest.raises(SnapshotError):
            Snapshot.open(saved)


def test_any_altered_byte_fails_the_checksum(saved: Path) -> None:
    whole = saved.read_bytes()
    chosen = random.Random(1)
    for _ in range(300):
        altered = bytearray(whole)
        altered[chosen.randrange(len(whole))] ^= 1 << chosen.randrange(8)
        saved.write_bytes(altered)
        with pytest.raises(SnapshotError):
            Snapshot.open(saved)


MUTATE = """
import random, struct, sys
from pathlib import Path
import pyarrow
from matcher_ext import ATree, Snapshot, SnapshotError
from matcher_ext.plan.plan import seal
path, visit, rounds, seed = Path(sys.argv[1]), eval(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
whole, chosen = path.read_bytes(), random.Random(seed)
other = path.with_suffix(".mutated")
batch = pyarrow.RecordBatch.from_pylist([visit, {}] * 40)
count, = struct.unpack_from("<I", whole, 12)
starts = sorted({0, *struct.unpack_from(f"<{count}Q", whole, 32), len(whole)})
sections = [(a, b) for a, b in zip(starts, starts[1:])]


def choose_place():
    if chosen.random() < 0.3:
        return chosen.randrange(len(whole))
    return chosen.randrange(*chosen.choice(sections))


def alter(content, at):
    if chosen.random() < 0.5:
        content[at] = chosen.choice((0, 1, 127, 128, 255, chosen.randrange(256)))
        return
    at -= at % 4
    old, = struct.unpack_from("<I", content, at)
    near = (old + chosen.choice((-2, -1, 1, 2, 64))) % 2**32
    new = chosen.choice((2**32 - 1, 2**31, near, near, chosen.randrange(2**32)))
    struct.pack_into("<I", content, at, new)


def use(snapshot):
    snapshot.match(visit)
    snapshot.match({})
    snapshot.match_batch(batch)
    snapshot.count_batch(batch)
    ids = snapshot.ids.tolist()[:3]
    snapshot.why_not(visit, ids)
    for entry_id in ids:
        snapshot.to_graphviz(entry_id)
    for name in snapshot.definition_names():
        ATree(snapshot.catalog).copy_definition(snapshot, name)


refused = 0
for _ in range(rounds):
    altered = bytearray(whole)
    for _ in range(chosen.choice((1, 1, 1, 2, 8))):
        alter(altered, choose_place())
    seal(altered)
    other.write_bytes(altered)
    try:
        snapshot = Snapshot.open(other)
    except SnapshotError:
        refused += 1
        continue
    try:
        use(snapshot)
    except (UnicodeDecodeError, OverflowError, LookupError, ValueError):
        pass
print(refused)
"""


@pytest.mark.parametrize("kind", INDEXES)
def test_a_mutated_file_never_crashes_even_with_its_own_checksum(tmp_path: Path, kind: str) -> None:
    refused = mutate(INDEXES[kind](), tmp_path, rounds=1000, seed=1)
    assert 200 < refused < 1000


def mutate(index: ATree, folder: Path, *, rounds: int, seed: int) -> int:
    """Counts how many altered files were refused, in a process of its own: it must not crash."""
    path = folder / "index.atree"
    index.freeze().save(path)
    done = subprocess.run(
        [sys.executable, "-c", MUTATE, str(path), repr(VISIT), str(rounds), str(seed)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout)


def test_two_definitions_in_one_slot_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.atree"
    make_large_index().freeze().save(path)
    altered = bytearray(path.read_bytes())
    struct.pack_into("<I", altered, find_section(altered, DEFINITION_SLOTS), 1)
    seal(altered)
    path.write_bytes(altered)
    with pytest.raises(SnapshotError, match="no slot of its own"):
        Snapshot.open(path)


def find_section(content: bytes | bytearray, section: int) -> int:
    (offset,) = struct.unpack_from("<Q", content, 32 + 8 * section)
    return int(offset)


def test_a_record_with_two_counts_of_entries_is_refused(tmp_path: Path) -> None:
    """Refuses what two readers would misread: who reads the entries would take one word, who steps
    over them three."""
    index = ATree(CATALOG)
    index.insert(1, "publisher = 'US' and age >= 18")
    path = tmp_path / "index.atree"
    index.freeze().save(path)
    altered = bytearray(path.read_bytes())
    (first,) = struct.unpack_from("<I", altered, find_section(altered, LEAF_STREAMS) + 4)
    header_at = find_section(altered, RECORDS) + 4 * first + 4
    (header,) = struct.unpack_from("<I", altered, header_at)
    assert header & RECORD_ONE
    struct.pack_into("<I", altered, header_at, header | RECORD_MANY)
    seal(altered)
    path.write_bytes(altered)
    with pytest.raises(SnapshotError, match="a record is malformed"):
        Snapshot.open(path)


def test_threads_match_on_one_snapshot_while_another_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "index.atree"
    make_index().freeze().save(path)
    live = [Snapshot.open(path)]
    expected = live[0].match(VISIT)
    wrong: list[list[int]] = []
    finished = threading.Event()

    def match_on() -> None:
        while not finished.is_set():
            found = live[0].match(VISIT)
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=match_on) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        make_index().freeze().save(path)
        live[0] = Snapshot.open(path)
    finished.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_catalogue_is_kept_as_json(saved: Path) -> None:
    assert json.dumps("geo.utc_offset").encode() in saved.read_bytes()

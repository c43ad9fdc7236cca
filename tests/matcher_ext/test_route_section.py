"""Reaches in the index: every face of the matcher agrees with enumeration of all simple paths, and
names the cheapest of them. The graph lies in the snapshot file and is checked when it is opened."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from pathlib import Path as FilePath

import numpy
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import Link, Path
from matcher_ext import ATree, LiveIndex, Snapshot
from matcher_ext.index import State
from matcher_ext.match import path_key
from matcher_ext.values import UnknownDefinitionError
from targeting import Catalog, Expression, parse
from tests.matcher_ext.test_routes import (
    CONDITIONS,
    VISITS,
    Visit,
    draw_edges,
    numerator,
    satisfies_all,
)
from tests.matcher_ext.test_snapshot import MUTATE
from tests.routing.graphs import Drawn, diamonds, enumerate_cheapest, graphs, ladders

CATALOG = Catalog.of(
    **{
        "publisher.id": "string",
        "country": "string",
        "age": "integer",
        "segments": "string set",
    }
)
SCHEMA = pyarrow.schema(
    {
        "publisher.id": pyarrow.string(),
        "country": pyarrow.string(),
        "age": pyarrow.int64(),
        "segments": pyarrow.list_(pyarrow.string()),
    }
)
LIMITS = (1, 3, 5, 8)
Goal = tuple[int, int]  # party, hops


def build_index(
    links: list[Link],
    names: dict[int, str],
    edges: dict[int, Expression],
    patch_from: int = 5000,
    spare: Iterable[int] = (),
) -> ATree:
    index = ATree(CATALOG, patch_from=patch_from)
    for edge_id, expression in edges.items():
        index.define(f"edge.{edge_id}", expression)
    index.set_routes(
        names,
        [(link.edge_id, link.seller_id, link.buyer_id, numerator(link)) for link in links],
        {party: f"seller {party}" for party in names},
        names,
        spare=sorted(spare),
    )
    return index


def insert_goals(index: ATree, parties: dict[int, str]) -> dict[int, Goal]:
    """Inserts one entry per party and limit, with a condition that some visits fail."""
    goals: dict[int, Goal] = {}
    for party in parties:
        for hops in LIMITS:
            name = index.define_reach(party, hops)
            goals[len(goals)] = party, hops
            rest = "age >= 18 or country = 'FR'" if party % 2 else "true"
            text = f"publisher.id = 'seller 0' and @{name} and ({rest})"
            index.insert(len(goals) - 1, text)
    return goals


def is_wanted(party: int, visit: Visit) -> bool:
    """Tells what the entry of a party asks for beside the reach."""
    wanted = parse("age >= 18 or country = 'FR'", CATALOG).evaluate(visit)
    return wanted is True or party % 2 == 0


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Drawn, dict[int, Expression], list[Visit]]:
    links, names = draw(graphs(max_size=7, max_links=20) | ladders() | diamonds())
    visits = [visit | {"publisher.id": "seller 0"} for visit in draw(st.lists(VISITS, max_size=3))]
    return (links, names), draw_edges(draw, links), [*visits, {"publisher.id": "nobody"}]


def expect(
    drawn: Drawn, edges: dict[int, Expression], visit: Visit, goals: dict[int, Goal]
) -> dict[int, Path]:
    """Gives each entry's cheapest path that the visit may take, by enumeration and plain
    evaluation."""
    links, names = drawn
    if visit["publisher.id"] != "seller 0":
        return {}
    satisfied = partial(satisfies_all, edges, visit)
    reached = {
        hops: enumerate_cheapest(links, 0, names, max_hops=hops, allows=satisfied)
        for hops in LIMITS
    }
    return {
        number: reached[hops][party]
        for number, (party, hops) in goals.items()
        if party in reached[hops] and is_wanted(party, visit)
    }


@given(exchanges())
@settings(max_examples=120, deadline=None)
def test_every_face_of_the_matcher_agrees_with_enumeration_of_paths(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit]],
) -> None:
    (links, names), edges, visits = drawn
    index = build_index(links, names, edges)
    goals = insert_goals(index, names)
    snapshot = index.freeze()
    expected = [expect((links, names), edges, visit, goals) for visit in visits]
    batch = pyarrow.RecordBatch.from_pylist(visits * 40, schema=SCHEMA)
    offsets, ids = snapshot.match_batch(batch)
    for row, (visit, paths) in enumerate(zip(visits, expected, strict=True)):
        assert index.match(visit) == snapshot.match(visit) == sorted(paths)
        assert sorted(ids[offsets[row] : offsets[row + 1]].tolist()) == sorted(paths)
        why = snapshot.why_not(visit, list(goals))
        assert [number for number in goals if not why[number]] == sorted(paths)
        compare_paths(snapshot, visit, paths, goals)
    counts = [40 * sum(number in paths for paths in expected) for number in goals]
    assert snapshot.count_batch(batch).tolist() == counts


def compare_paths(
    snapshot: Snapshot | State, visit: Visit, expected: dict[int, Path], goals: dict[int, Goal]
) -> None:
    """Compares the paths of entries that matched and have a goal."""
    matched, _, paths = snapshot.match_with_paths(visit)
    numbers = [number for number in matched.tolist() if number in goals]
    keys = numpy.array([path_key(*goals[number]) for number in numbers], numpy.int64)
    for number, key, share in zip(numbers, keys.tolist(), paths.shares(keys), strict=True):
        path = expected[number]
        assert paths.edges(key) == path.edge_ids
        assert paths.labels(key) == [f"seller {party}" for party in path.party_ids]
        assert share == pytest.approx(float(path.net_share), rel=1e-12)


@given(exchanges(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_redefined_edge_counts_at_once(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit]], data: st.DataObject
) -> None:
    """Shows it in a dynamic index beside its last freeze, and in a live one over a snapshot."""
    (links, names), edges, visits = drawn
    index = build_index(links, names, edges, patch_from=0)
    goals = insert_goals(index, names)
    live = LiveIndex(index.freeze())
    for edge_id in data.draw(
        st.lists(st.sampled_from(sorted(edges)), max_size=3) if edges else st.just([])
    ):
        edges[edge_id] = parse(data.draw(st.sampled_from(CONDITIONS)), CATALOG, definitions={})
        index.define(f"edge.{edge_id}", edges[edge_id])
        live.define(f"edge.{edge_id}", edges[edge_id])
    for visit in visits:
        expected = sorted(expect((links, names), edges, visit, goals))
        assert index.match(visit) == live.match(visit) == expected


HERALD, NORTH, SODA = 10, 20, 30
NAMES = {HERALD: "Herald", NORTH: "North", SODA: "Soda"}
LABELS = {HERALD: "herald", NORTH: "north", SODA: "soda"}
LINKS = [
    Link(1, HERALD, NORTH, Fraction(1, 10)),
    Link(2, NORTH, SODA, Fraction(1, 10)),
    Link(3, HERALD, SODA, Fraction(1, 2)),
]
ROWS = [(link.edge_id, link.seller_id, link.buyer_id, numerator(link)) for link in LINKS]
FRENCH = {"publisher.id": "herald", "country": "FR", "age": 30}
GERMAN = FRENCH | {"country": "DE"}


@pytest.fixture
def index() -> ATree:
    """Makes two ways: over North in France, directly elsewhere."""
    index = ATree(CATALOG)
    index.define("edge.1", "country = 'FR'")
    index.define("edge.2", "age >= 18")
    index.define("edge.3", "true")
    index.set_routes(NAMES, ROWS, LABELS, [HERALD])
    index.insert(7, f"publisher.id = 'herald' and @{index.define_reach(SODA, 5)} and age < 65")
    index.insert(8, f"publisher.id = 'herald' and @{index.define_reach(SODA, 1)} and age < 65")
    return index


def test_names_the_path_of_each_visit(index: ATree) -> None:
    snapshot, key = index.freeze(), path_key(SODA, 5)
    _, _, french = snapshot.match_with_paths(FRENCH)
    _, _, german = snapshot.match_with_paths(GERMAN)
    assert (french.labels(key), french.edges(key)) == (["herald", "north", "soda"], (1, 2))
    assert (german.labels(key), german.edges(key)) == (["herald", "soda"], (3,))
    assert french.shares(numpy.array([key])).tolist() == [pytest.approx(0.81)]


def test_a_path_that_was_not_asked_for_is_empty(index: ATree) -> None:
    _, _, paths = index.freeze().match_with_paths({"publisher.id": "herald"})
    assert len(paths) == 0
    assert paths.labels(path_key(SODA, 5)) == []
    assert paths.edges(path_key(SODA, 5)) == ()
    assert paths.shares(numpy.array([path_key(SODA, 5)])).tolist() == [0.0]


def test_a_new_graph_replaces_the_old_one(index: ATree) -> None:
    assert index.match(GERMAN) == [7, 8]
    index.set_routes(NAMES, ROWS[:2], LABELS, [HERALD])
    assert index.match(GERMAN) == []
    assert index.match(FRENCH) == [7]


def test_the_graph_is_in_the_file(index: ATree, tmp_path: FilePath) -> None:
    index.freeze().save(tmp_path / "index.atree")
    opened = Snapshot.open(tmp_path / "index.atree")
    assert opened.match(FRENCH) == [7, 8]
    assert opened.match_with_paths(FRENCH)[2].labels(path_key(SODA, 5)) == LABELS_OF_FRENCH


LABELS_OF_FRENCH = ["herald", "north", "soda"]


def test_a_mutated_graph_never_crashes(index: ATree, tmp_path: FilePath) -> None:
    saved = tmp_path / "index.atree"
    index.freeze().save(saved)
    done = subprocess.run(
        [sys.executable, "-c", MUTATE, str(saved), repr(FRENCH), "3000", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100


def test_threads_walk_on_one_snapshot_each_on_its_own(index: ATree) -> None:
    snapshot, wrong = index.freeze(), []

    def walk(visit: Visit, expected: list[str]) -> None:
        for _ in range(300):
            _, _, paths = snapshot.match_with_paths(visit)
            if paths.labels(path_key(SODA, 5)) != expected:
                wrong.append(visit)

    threads = [
        threading.Thread(target=walk, args=(visit, expected))
        for visit, expected in ((FRENCH, LABELS_OF_FRENCH), (GERMAN, ["herald", "soda"])) * 4
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_why_not_names_the_reach(index: ATree) -> None:
    index.define("edge.3", "false")
    why = index.why_not(GERMAN, [7])
    assert why == {7: [(None, f"@reach.{SODA}.5", False)]}


def test_a_reach_cannot_be_negated_defined_or_used_in_a_definition(index: ATree) -> None:
    name = f"reach.{SODA}.5"
    with pytest.raises(ValueError, match="cannot be negated"):
        index.insert(9, f"publisher.id = 'herald' and not @{name}")
    with pytest.raises(ValueError, match="cannot be used in a definition"):
        index.define("edge.2", f"@{name} or age > 3")
    with pytest.raises(ValueError, match="answered by the graph"):
        index.define(name, "true")
    assert index.match(FRENCH) == [7, 8]


def test_what_the_graph_does_not_know_is_refused(index: ATree) -> None:
    with pytest.raises(ValueError, match="party 99 is not in the graph"):
        index.define_reach(99, 5)
    with pytest.raises(ValueError, match="hops must be from 1 to 8, not 9"):
        index.define_reach(SODA, 9)
    with pytest.raises(UnknownDefinitionError, match=r"@edge.4 has no definition"):
        index.set_routes(NAMES, [*ROWS, (4, NORTH, SODA, 5000)], LABELS, [HERALD])
    with pytest.raises(ValueError, match="age is no attribute that holds a text"):
        index.set_routes(NAMES, ROWS, LABELS, [HERALD], attribute="age")
    with pytest.raises(ValueError, match="two publishers are called herald"):
        index.set_routes(NAMES, ROWS, LABELS | {NORTH: "herald"}, [HERALD, NORTH])
    with pytest.raises(ValueError, match="set_routes comes first"):
        ATree(CATALOG).define_reach(SODA, 5)
    assert index.match(FRENCH) == [7, 8]


def test_an_entry_beside_a_snapshot_is_lent_its_walk(index: ATree) -> None:
    live = LiveIndex(index.freeze())
    live.insert(9, f"publisher.id = 'herald' and @reach.{SODA}.5 and country = 'DE'")
    assert live.match(GERMAN) == [7, 8, 9]
    assert live.match(FRENCH) == [7, 8]
    live.define("edge.3", "false")
    assert live.match(GERMAN) == []
    live.define("edge.1", "country = 'DE'")
    assert live.match(GERMAN) == [7, 9]
    live.delete(7)
    ids, _, paths = live.state.match_with_paths(GERMAN)
    assert ids.tolist() == [9]
    assert paths.labels(path_key(SODA, 5)) == LABELS_OF_FRENCH


def test_changing_an_edge_behind_many_bookings_is_one_redefinition() -> None:
    """Shows that no booking is inserted again, and nothing is frozen anew: the store has as many
    nodes as before, and what lies beside the last freeze holds no entry."""
    index = ATree(CATALOG)
    index.define("edge.1", "age >= 18")
    count = 100_000
    texts = [
        f"publisher.id = 'p{i % 50}' and @edge.1 and age != {i % 1000} and country = 'C{i % 77}'"
        for i in range(count)
    ]
    index.insert_many(range(count), texts)
    visit = {"publisher.id": "p1", "age": 17, "country": "C1"}
    frozen, before = index.freeze(), index.stats()
    assert index.match(visit) == []
    index.define("edge.1", "age >= 16")
    base, _, beside = index._view()  # type: ignore[attr-defined]
    assert base is frozen
    assert len(beside) == 0
    assert index.stats()["nodes"] == before["nodes"]
    assert len(index.match(visit)) > 10

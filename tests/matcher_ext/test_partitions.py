"""Records below guards and by seller: enough bookings of a few publishers that one value finds
them. Every face of the matcher agrees with enumeration of paths and the plain evaluator."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from pathlib import Path as FilePath

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.routing import Link, Path
from exchange.serving.deltas import RouteRecord
from matcher_ext import ATree, LiveIndex, Snapshot
from matcher_ext.index import replace_routes
from targeting import Expression, parse
from tests.matcher_ext.test_route_section import (
    CATALOG,
    LIMITS,
    SCHEMA,
    build_index,
    compare_paths,
)
from tests.matcher_ext.test_routes import (
    CONDITIONS,
    VISITS,
    Visit,
    draw_edges,
    numerator,
    satisfies_all,
)
from tests.matcher_ext.test_snapshot import MUTATE
from tests.routing.graphs import (
    FEES,
    Drawn,
    diamonds,
    enumerate_cheapest,
    graphs,
    ladders,
)

BOOKINGS = 150  # more than the fewest that make a partition worth while
RESTS = ["true", "age >= 18 or country = 'FR'", "country != 'DE'", "country = 'FR'", "age < 40"]


class Booked:
    """Bookings by number: publisher, edges that all must hold, a reach or none, and the rest."""

    def __init__(self, chosen: random.Random, drawn: Drawn) -> None:
        self.links, self.names = drawn
        self.chosen = chosen
        self.rows = [self._draw() for _ in range(BOOKINGS)]

    def _draw(self) -> tuple[int, tuple[int, ...], tuple[int, int] | None, str]:
        chosen, parties = self.chosen, sorted(self.names)
        publisher = chosen.choice(parties[:2])
        reach = (chosen.choice(parties), chosen.choice(LIMITS)) if chosen.random() < 0.5 else None
        edge_ids = [link.edge_id for link in self.links]
        most = min(len(edge_ids), 1 if reach else 4)
        edges = tuple(chosen.sample(edge_ids, chosen.randint(0, most)))
        return publisher, edges, reach, chosen.choice(RESTS)

    def insert(self, index: ATree, numbers: Iterable[int] = range(BOOKINGS)) -> None:
        for number in numbers:
            if reach := self.rows[number][2]:
                index.define_reach(*reach)
            index.insert(number, self.text(number))

    def text(self, number: int) -> str:
        publisher, edges, reach, rest = self.rows[number]
        parts = [f"publisher.id = 'seller {publisher}'", f"({rest})"]
        parts += [f"@edge.{edge_id}" for edge_id in edges]
        if reach:
            parts.append("@reach.{}.{}".format(*reach))
        return " and ".join(parts)

    def expect(self, edges: dict[int, Expression], visit: Visit) -> dict[int, Path | None]:
        """Gives each booking that matches, with its cheapest path if it may take any."""
        truths = {edge_id: edge.evaluate(visit) is True for edge_id, edge in edges.items()}
        satisfied = partial(satisfies_all, edges, visit)
        reached = {
            (source, hops): enumerate_cheapest(
                self.links, source, self.names, max_hops=hops, allows=satisfied
            )
            for source in sorted(self.names)[:2]
            for hops in LIMITS
        }
        found: dict[int, Path | None] = {}
        for number, (publisher, needed, reach, rest) in enumerate(self.rows):
            path = reached[publisher, reach[1]].get(reach[0]) if reach else None
            if (
                visit["publisher.id"] == f"seller {publisher}"
                and parse(rest, CATALOG).evaluate(visit) is True
                and all(truths[edge_id] for edge_id in needed)
                and (reach is None or path is not None)
            ):
                found[number] = path
        return found


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Drawn, dict[int, Expression], list[Visit], int]:
    links, names = draw(graphs(max_size=7, max_links=20) | ladders() | diamonds())
    sources = st.sampled_from(["seller 0", "seller 1", "nobody"])
    visits = [
        visit | {"publisher.id": draw(sources)}
        for visit in draw(st.lists(VISITS, min_size=1, max_size=3))
    ]
    return (links, names), draw_edges(draw, links), visits, draw(st.integers(0, 99))


def check_faces(
    snapshot: Snapshot, booked: Booked, edges: dict[int, Expression], visits: list[Visit]
) -> None:
    expected = [booked.expect(edges, visit) for visit in visits]
    batch = pyarrow.RecordBatch.from_pylist(visits * 40, schema=SCHEMA)
    offsets, ids = snapshot.match_batch(batch)
    for row, (visit, paths) in enumerate(zip(visits, expected, strict=True)):
        assert snapshot.match(visit) == sorted(paths)
        assert sorted(ids[offsets[row] : offsets[row + 1]].tolist()) == sorted(paths)
        why = snapshot.why_not(visit, range(BOOKINGS))
        assert [number for number in range(BOOKINGS) if not why[number]] == sorted(paths)
        assert snapshot.match_with_paths(visit)[0].tolist() == sorted(paths)
        routed = {number: path for number, path in paths.items() if path is not None}
        goals = {n: reach for n, (_, _, reach, _) in enumerate(booked.rows) if reach}
        compare_paths(snapshot, visit, routed, goals)
    counts = [40 * sum(number in paths for paths in expected) for number in range(BOOKINGS)]
    assert snapshot.count_batch(batch).tolist() == counts


@given(exchanges())
@settings(max_examples=120, deadline=None)
def test_every_face_agrees_with_enumeration_and_the_plain_evaluator(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit], int],
) -> None:
    (links, names), edges, visits, seed = drawn
    index = build_index(links, names, edges)
    booked = Booked(random.Random(seed), (links, names))
    booked.insert(index)
    check_faces(index.freeze(), booked, edges, visits)


@given(exchanges(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_redefined_edge_counts_at_once_for_guards_and_last_hops(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit], int], data: st.DataObject
) -> None:
    (links, names), edges, visits, seed = drawn
    index = build_index(links, names, edges, patch_from=0)
    booked = Booked(random.Random(seed), (links, names))
    booked.insert(index)
    live = LiveIndex(index.freeze())
    for edge_id in data.draw(
        st.lists(st.sampled_from(sorted(edges)), max_size=3) if edges else st.just([])
    ):
        edges[edge_id] = parse(data.draw(st.sampled_from(CONDITIONS)), CATALOG, definitions={})
        index.define(f"edge.{edge_id}", edges[edge_id])
        live.define(f"edge.{edge_id}", edges[edge_id])
    for visit in visits:
        expected = sorted(booked.expect(edges, visit))
        assert index.match(visit) == live.match(visit) == expected


@given(exchanges())
@settings(max_examples=120, deadline=None)
def test_last_hops_hold_are_made_anew_or_given_up_over_another_graph(
    drawn: tuple[Drawn, dict[int, Expression], list[Visit], int],
) -> None:
    """Freezes over fewer edges, with other fees, ends and names. Where too many records would have
    to be listed anew, their publishers have no lists and go without."""
    (links, names), edges, visits, seed = drawn
    chosen = random.Random(seed)
    before, former_names = draw_former(chosen, (links, names))
    index = build_index(
        before, former_names, edges, spare=edges.keys() - {link.edge_id for link in before}
    )
    booked = Booked(chosen, (links, names))
    booked.insert(index)
    live = LiveIndex(index.freeze())
    listed = live.apply(routes=record(links, names))
    unlisted = replace_all_routes(index.freeze(), record(links, names), most_relisted=0)
    goals = {n: reach for n, (_, _, reach, _) in enumerate(booked.rows) if reach}
    for visit in visits:
        paths = booked.expect(edges, visit)
        routed = {number: path for number, path in paths.items() if path is not None}
        for face in (listed, unlisted):
            assert sorted(face.match_ids(visit).tolist()) == sorted(paths)
            compare_paths(face, visit, routed, goals)


def replace_all_routes(below: Snapshot, routes: RouteRecord, *, most_relisted: int) -> Snapshot:
    return replace_routes(
        below,
        routes.names,
        routes.links,
        routes.labels,
        routes.publishers,
        most_relisted=most_relisted,
    )


def draw_former(chosen: random.Random, drawn: Drawn) -> Drawn:
    links, names = drawn
    kept = []
    for link in links:
        seller, buyer = link.seller_id, link.buyer_id
        if chosen.random() < 0.1:
            seller, buyer = chosen.choices(sorted(names), k=2)
        fee = chosen.choice(FEES) if chosen.random() < 0.3 else link.fee
        if chosen.random() < 0.8:
            kept.append(Link(link.edge_id, seller, buyer, fee))
    return kept, {party: chosen.choice("abch") for party in names}


def record(links: list[Link], names: dict[int, str]) -> RouteRecord:
    rows = [(link.edge_id, link.seller_id, link.buyer_id, numerator(link)) for link in links]
    return RouteRecord(names, rows, {party: f"seller {party}" for party in names}, list(names))


def make_index(bookings: int = 600) -> ATree:
    """Makes twelve parties in a row of diamonds; bookings of two publishers on shared edges."""
    chosen = random.Random(3)
    links = [
        Link(number + 1, seller, buyer, Fraction(0))
        for number, (seller, buyer) in enumerate(
            (seller, buyer)
            for seller in range(8)
            for buyer in range(seller + 1, min(seller + 4, 12))
        )
    ]
    names = {party: f"party {party:02}" for party in range(12)}
    edges = {link.edge_id: parse(chosen.choice(CONDITIONS), CATALOG) for link in links}
    index = build_index(links, names, edges)
    for number in range(bookings):
        parts = [f"publisher.id = 'seller {number % 2}'", f"age != {number}"]
        if number % 3:
            parts += [f"@edge.{chosen.choice(links).edge_id}" for _ in range(3)]
        else:
            parts.append(f"@{index.define_reach(8 + number % 4, 5)}")
        index.insert(number, " and ".join(parts))
    return index


def test_shared_edges_become_guards_and_reaches_are_listed_by_seller() -> None:
    stats = make_index().freeze().stats()
    assert 20 < stats["guards"] < 400
    assert 200 < stats["last hops"] < 800


def test_a_mutated_partition_never_crashes(tmp_path: FilePath) -> None:
    saved = tmp_path / "index.atree"
    make_index().freeze().save(saved)
    visit = {"publisher.id": "seller 1", "country": "FR", "age": 30, "segments": ["tea"]}
    done = subprocess.run(
        [sys.executable, "-c", MUTATE, str(saved), repr(visit), "3000", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100


def test_a_graph_of_another_attribute_has_no_last_hops() -> None:
    """Shows that the publisher is then asked through the walk alone."""
    index = ATree(CATALOG)
    index.define("edge.1", "age >= 18")
    index.set_routes(
        {1: "p", 2: "a"}, [(1, 1, 2, 9000)], {1: "FR", 2: "x"}, [1], attribute="country"
    )
    name = index.define_reach(2, 1)
    for number in range(100):
        index.insert(
            number, f"publisher.id = 'seller {number % 2}' and @{name} and age != {number}"
        )
    assert index.freeze().stats()["last hops"] == 0
    visit = {"publisher.id": "seller 1", "country": "FR", "age": 31}
    assert index.match(visit) == [n for n in range(1, 100, 2) if n != 31]
    assert index.match(visit | {"country": "DE"}) == []
    assert index.match(visit | {"age": 17}) == []


@pytest.mark.parametrize("same", [True, False])
def test_a_booking_that_two_sellers_lead_to_matches_once(same: bool) -> None:
    ends = [(0, 1), (0, 2), (1, 3), (2, 3)]
    links = [Link(number + 1, *pair, Fraction(0)) for number, pair in enumerate(ends)]
    names = {party: f"party {party}" for party in range(4)}
    rules = {1: "age >= 18", 2: "age >= 18", 3: "country = 'FR'", 4: "country = 'FR'"}
    if not same:
        rules[4] = "country = 'DE'"
    index = build_index(links, names, {pk: parse(rule, CATALOG) for pk, rule in rules.items()})
    for number in range(100):
        reach = index.define_reach(3, 2)
        index.insert(number, f"publisher.id = 'seller 0' and @{reach} and age != {number}")
    visit = {"publisher.id": "seller 0", "country": "FR", "age": 30}
    assert index.match(visit) == [number for number in range(100) if number != 30]
    assert index.freeze().match_ids(visit).size == 99

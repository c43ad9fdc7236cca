"""Funnels, sole blockers, users and impact of prepared visits, against the plain evaluator."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher_ext import ATree, LiveIndex, Snapshot, UnknownIdError, VisitTable
from matcher_ext.match.paths import path_key
from matcher_ext.tables.results import Blocker, Funnel, Step
from targeting import parse
from tests.matcher_ext.expressions import CATALOG, inline, texts, visits
from tests.matcher_ext.test_batch import to_batch
from tests.matcher_ext.test_visit_table import draw_many, prepare

Visits = list[dict[str, Any]]
EDGES = {
    11: "age >= 3",
    12: "mobile",
    13: "country = 'DE'",
    14: "true",
    15: "score > 0",
    16: "age < 18",
}
LINKS = [(11, 1, 2, 9000), (12, 1, 3, 8000), (13, 2, 3, 9500), (14, 3, 2, 9500)]
LINKS += [(15, 2, 9, 9000), (16, 3, 8, 10_000)]
NAMES = {party: f"party {party}" for party in (1, 2, 3, 8, 9)}
# The path 1 -> 3 -> 2 -> 9 has its edges in another order than by id.
PATH = "publisher = 'US' and @edge.12 and @edge.14 and @edge.15"
CAMPAIGN = ("country != 'DE'", "age > 1 or mobile", "segments one of ('cars')")


def freeze_exchange(entries: dict[int, str], edges: dict[int, str] = EDGES) -> Snapshot:
    index = ATree(CATALOG)
    for edge, text in edges.items():
        index.define(f"edge.{edge}", text)
    index.set_routes(NAMES, LINKS, NAMES | {1: "US"}, [1], attribute="publisher")
    for party, hops in ((9, 1), (9, 3), (8, 3)):
        index.define_reach(party, hops)
    index.insert_many(entries.keys(), entries.values())
    return index.freeze()


def truth(text: str, visit: dict[str, Any]) -> bool | None:
    return parse(inline(text, {}), CATALOG).evaluate(visit)


def follow(visits_here: Visits, steps: list[tuple[str, list[str]]]) -> Funnel:
    """Follows the funnel by the plain evaluator: each step is a name and texts that must all be
    true."""
    counted = len(visits_here)
    found = []
    for name, conditions in steps:
        whole = " and ".join(f"({text})" for text in conditions)
        truths = [truth(whole, visit) for visit in visits_here]
        visits_here = [v for v, t in zip(visits_here, truths, strict=True) if t is True]
        found.append(Step(name, len(visits_here), truths.count(False), truths.count(None)))
    return Funnel(counted, tuple(found))


SEEN = st.lists(
    st.builds(
        lambda visit, is_ours: visit | ({"publisher": "US"} if is_ours else {}),
        visits(malformed=False),
        st.booleans(),
    ),
    max_size=12,
)


@given(SEEN)
@settings(deadline=None, max_examples=40)
def test_a_funnel_follows_the_path_like_the_plain_evaluator(seen: Visits) -> None:
    snapshot = freeze_exchange({7: f"{PATH} and {' and '.join(f'({c})' for c in CAMPAIGN)}"})
    ours = [visit for visit in seen if visit.get("publisher") == "US"]
    steps = [(f"edge.{edge}", [EDGES[edge]]) for edge in (12, 14, 15)]
    expected = follow(ours, [*steps, ("campaign", list(CAMPAIGN))])
    funnel = prepare(seen).funnel(snapshot)[7]
    assert funnel == expected
    assert funnel.eligible == sum(7 in snapshot.match(visit) for visit in seen)


@given(SEEN)
@settings(deadline=None, max_examples=40)
def test_a_funnel_on_any_path_asks_for_some_open_path(seen: Visits) -> None:
    entries = {1: "publisher = 'US' and @reach.9.3 and not mobile", 2: "@reach.9.3"}
    snapshot = freeze_exchange(entries)
    matched = [snapshot.match(visit) for visit in seen]
    ours = [visit for visit in seen if visit.get("publisher") == "US"]
    reached = [v for v, ids in zip(seen, matched, strict=True) if 2 in ids]
    campaign = follow(reached, [("campaign", ["not mobile"])]).steps[0]
    funnel = prepare(seen).funnel(snapshot, [1])[1]
    closed = len(ours) - len(reached)
    assert funnel == Funnel(len(ours), (Step("reach.9.3", len(reached), closed, 0), campaign))


@given(SEEN, st.lists(st.integers(1, 5), min_size=12, max_size=12))
@settings(deadline=None, max_examples=40)
def test_a_sole_blocker_is_the_only_condition_that_fails(seen: Visits, drawn: list[int]) -> None:
    snapshot = freeze_exchange({7: f"{PATH} and {' and '.join(f'({c})' for c in CAMPAIGN)}"})
    conditions = [EDGES[12], EDGES[14], EDGES[15], *CAMPAIGN]
    weights = drawn[: len(seen)]
    expected = [0] * len(conditions)
    for visit, weight in zip(seen, weights, strict=True):
        failed = [n for n, text in enumerate(conditions) if truth(text, visit) is not True]
        if visit.get("publisher") == "US" and len(failed) == 1:
            expected[failed[0]] += weight
    blockers = prepare(seen, weights=weights).sole_blockers(snapshot, [7])[7]
    assert [blocker.condition for blocker in blockers[:3]] == ["@edge.12", "@edge.14", "@edge.15"]
    assert sorted(blocker.visits for blocker in blockers[3:]) == sorted(expected[3:])
    assert [blocker.visits for blocker in blockers[:3]] == expected[:3]
    for blocker in blockers[3:]:
        place = [parse(text, CATALOG).text for text in CAMPAIGN]
        assert any(same_truths(blocker.condition, text, seen) for text in place)


def same_truths(one: str, other: str, seen: Visits) -> bool:
    return [truth(one, visit) for visit in seen] == [truth(other, visit) for visit in seen]


def test_an_unknown_id_is_refused() -> None:
    table = prepare(draw_many(5))
    with pytest.raises(UnknownIdError):
        table.funnel(freeze_exchange({7: PATH}), [8])
    assert table.funnel(freeze_exchange({}), None) == {}


def test_users_are_counted_once_across_blocks_and_publishers() -> None:
    many = draw_many(900)
    for number, visit in enumerate(many):
        visit["country"] = f"user {number * 7 % 100}"
        if number % 5 == 0:
            del visit["country"]
    entries = {1: "publisher = 'US' and age > 100", 2: "age > 300", 3: "publisher = 'none'"}
    index = ATree(CATALOG)
    index.insert_many(entries.keys(), entries.values())
    snapshot = index.freeze()
    table = VisitTable.from_arrow(
        to_batch(many), CATALOG, by="publisher", weights=range(1, 901), users="country"
    )
    assert table.stats()["blocks"] == 900
    expected = [
        len({v["country"] for v in many if "country" in v and truth(text, v) is True})
        for text in entries.values()
    ]
    assert min(expected[:2]) > 10
    assert table.users(snapshot).tolist() == expected


@given(SEEN, texts())
@settings(deadline=None, max_examples=40)
def test_impact_counts_visits_paths_and_what_conditions_cost(seen: Visits, text: str) -> None:
    snapshot = freeze_exchange({1: "@reach.9.3"})
    table = VisitTable.from_arrow(to_batch(seen), CATALOG, by="publisher", users="country")
    bookings = [PATH, "publisher = 'US' and @reach.9.3"]
    impact = table.impact(text, bookings=bookings, index=snapshot)
    met = [visit for visit in seen if truth(text, visit) is True]
    by_path = inline_edges(PATH)
    is_open = [
        [truth(by_path, v) is True for v in seen],
        [1 in snapshot.match(v) for v in seen],
    ]
    assert impact.visits == len(met)
    assert impact.users == len({v["country"] for v in met if "country" in v})
    assert sum(impact.by_publisher.values()) == len(met)
    is_met = [visit in met for visit in seen]
    for booking, flags in zip(impact.bookings, is_open, strict=True):
        assert booking.open == sum(flags)
        assert booking.eligible == sum(a and b for a, b in zip(flags, is_met, strict=True))
    wide = [a or b for a, b in zip(*is_open, strict=True)]
    assert impact.open == sum(wide)
    assert impact.eligible == sum(a and b for a, b in zip(wide, is_met, strict=True))
    for gain in impact.gains:
        others = [other.condition for other in impact.gains if other is not gain]
        without = " and ".join(f"({other})" for other in others) or "true"
        kept = [a and truth(without, v) is True for a, v in zip(wide, seen, strict=True)]
        assert gain.visits == sum(kept) - impact.eligible


def inline_edges(text: str) -> str:
    for edge, meaning in EDGES.items():
        text = text.replace(f"@edge.{edge}", f"({meaning})")
    return text


@given(SEEN)
@settings(deadline=None, max_examples=40)
def test_the_cheapest_way_of_each_visit_is_the_one_that_matching_takes(seen: Visits) -> None:
    entries = {
        1: "publisher = 'US' and @reach.9.3 and age != 7",
        2: "publisher = 'US' and @reach.9.1",
        3: "publisher = 'US' and @reach.8.3",
        4: f"{PATH}",
    }
    snapshot = freeze_exchange(entries)
    keys = {1: path_key(9, 3), 2: path_key(9, 1), 3: path_key(8, 3)}
    expected: dict[int, Counter[tuple[int, ...]]] = {entry: Counter() for entry in keys}
    for visit in seen:
        ids, _, paths = snapshot.match_with_paths(visit)
        for entry in set(ids.tolist()) & keys.keys():
            expected[entry][paths.edges(keys[entry])] += 1
    found = prepare(seen).cheapest(snapshot)
    assert found.keys() == keys.keys()
    fees = {edge: numerator for edge, _, _, numerator in LINKS}
    for entry, ways in found.items():
        assert {way.edges: way.visits for way in ways} == expected[entry]
        for way in ways:
            assert way.share == prod(Fraction(fees[edge], 10_000) for edge in way.edges)


@given(SEEN)
@settings(deadline=None, max_examples=40)
def test_a_bottleneck_is_an_edge_that_decides_alone(seen: Visits) -> None:
    entry = {1: "publisher = 'US' and @reach.9.3 and not mobile"}
    found = prepare(seen).bottlenecks(freeze_exchange(entry))[1]
    expected = []
    for edge in EDGES:
        opened = freeze_exchange(entry, EDGES | {edge: "true"})
        closed = freeze_exchange(entry, EDGES | {edge: "false"})
        needed = [v for v in seen if opened.match(v) and not closed.match(v)]
        depending = sum(truth(EDGES[edge], visit) is True for visit in needed)
        if needed:
            expected.append((edge, depending, len(needed) - depending))
    assert [(each.edge, each.depending, each.blocked) for each in found] == expected


@given(SEEN, st.lists(texts(), min_size=1, max_size=4), st.integers(1, 3))
@settings(deadline=None, max_examples=40)
def test_overlap_is_that_of_plain_sets(seen: Visits, drawn: list[str], support: int) -> None:
    entries = dict(enumerate(drawn)) | {
        10 + n: f"publisher = '{publisher}' and ({text})"
        for n, (publisher, text) in enumerate(zip(("US", "DE", "US", "US"), drawn, strict=False))
    }
    entries |= {20: drawn[0], 21: "publisher = 'US' and age >= 1"}
    index = ATree(CATALOG)
    index.insert_many(entries.keys(), entries.values())
    rows = {
        entry: {n for n, visit in enumerate(seen) if truth(text, visit) is True}
        for entry, text in entries.items()
    }
    expected = {
        one: sorted(
            (
                (other, len(rows[one] & rows[other]))
                for other in entries
                if other != one and len(rows[one] & rows[other]) >= support
            ),
            key=lambda pair: (-pair[1], pair[0]),
        )
        for one in entries
    }
    table = prepare(seen)
    snapshot = index.freeze()
    found = table.overlap(snapshot, support=support)
    assert found == {one: pairs for one, pairs in sorted(expected.items()) if pairs}
    fewer = table.overlap(snapshot, support=support, top=1)
    assert fewer == {one: pairs[:1] for one, pairs in found.items()}


def test_impact_without_bookings_is_over_all_visits() -> None:
    seen: Visits = [{"age": 3, "mobile": True}, {"age": 3, "mobile": False}, {"mobile": True}]
    impact = prepare(seen).impact("mobile and age = 3")
    assert (impact.visits, impact.open, impact.eligible) == (1, 0, 0)
    assert set(impact.gains) == {Blocker("mobile = true", 1), Blocker("age = 3", 1)}
    assert impact.by_publisher == {None: 1}


@given(SEEN, st.lists(texts(), min_size=6, max_size=6), st.permutations(range(6)))
@settings(deadline=None, max_examples=25)
def test_a_live_index_is_counted_with_its_changes(
    seen: Visits, drawn: list[str], order: list[int]
) -> None:
    entries = dict(enumerate(drawn[:2]))
    entries |= {2: f"{PATH} and not mobile", 3: "publisher = 'US' and @reach.9.3"}
    entries |= {4: "not @edge.15", 5: f"publisher = 'US' and @edge.15 and ({drawn[2]})"}
    live = LiveIndex(freeze_exchange(entries))
    table = prepare(seen)
    for dead, meaning, text in zip(order[:2], drawn[2:4], drawn[4:6], strict=True):
        live.delete(dead)
        live.define("edge.15", meaning)
        live.insert(100 + dead, f"({text}) or @edge.15")
        matched = [live.match(visit) for visit in seen]
        expected = [sum(entry in ids for ids in matched) for entry in live.ids.tolist()]
        assert table.count(live).tolist() == expected
        funnels = table.funnel(live)
        assert [funnels[entry].eligible for entry in live.ids.tolist()] == expected


def test_a_live_index_is_counted_over_its_new_graph() -> None:
    live = LiveIndex(freeze_exchange({1: "publisher = 'US' and @reach.9.3", 2: "age = 3"}))
    seen: Visits = [{"publisher": "US", "mobile": True, "score": 1.0, "age": 1}]
    table = prepare(seen)
    assert table.count(live).tolist() == [1, 0]
    record = {
        "definitions": {},
        "dead": [2],
        "entries": {"5": "publisher = 'US' and @reach.8.3"},
        "routes": {
            "names": NAMES,
            "links": [link for link in LINKS if link[0] != 14],
            "labels": NAMES | {1: "US"},
            "publishers": [1],
        },
        "lent": {},
    }
    live.apply_record(record)
    assert live.ids.tolist() == [1, 5]
    expected = [sum(entry in live.match(v) for v in seen) for entry in (1, 5)]
    assert table.count(live).tolist() == expected == [0, 1]


def test_threads_ask_one_table_at_once() -> None:
    entries = {n: f"publisher = 'US' and age > {n} and @edge.11" for n in range(40)}
    snapshot = freeze_exchange(entries)
    table = prepare(draw_many(2000))
    expected = table.count(snapshot).tolist()
    gained = table.impact("age > 3 and score > 0", bookings=[PATH], index=snapshot)
    with ThreadPoolExecutor(4) as threads:
        counts = [threads.submit(table.count, snapshot) for _ in range(12)]
        impacts = [
            threads.submit(table.impact, "age > 3 and score > 0", bookings=[PATH], index=snapshot)
            for _ in range(12)
        ]
        assert all(each.result().tolist() == expected for each in counts)
        assert all(each.result() == gained for each in impacts)

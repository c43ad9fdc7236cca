"""Funnels against the plain evaluator: the log in several files, each step by itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from matcher_ext import ATree
from pipelines import funnel
from targeting import parse
from tests.pipelines.history import CATALOG, DAY, Entry, History, run_job, visit

pytestmark = pytest.mark.spark
PUBLISHERS = ("daily-herald", "evening-gazette")
EDGES = {
    "edge.1": "geo.country != 'FRA'",
    "edge.2": "user.age >= 18",
    "edge.3": "geo.country = 'DEU'",
}
CAMPAIGN = ("user.consent = true", "imp.floor <= 0.5")
Visits = list[dict[str, Any]]


def test_what_is_lost_is_what_the_plain_evaluator_loses(
    spark: SparkSession, tmp_path: Path
) -> None:
    random, history = Random(5), History(tmp_path)
    visits = [make_visit(random, number) for number in range(120)]
    history.log(DAY, visits[:50])
    history.log(DAY, visits[50:], part=1)
    paths = {1: ["edge.1", "edge.2"], 2: ["edge.1"]}
    entries = [make_entry(number, PUBLISHERS[number - 1], path) for number, path in paths.items()]
    any_path = f"publisher.id = '{PUBLISHERS[0]}' and @reach.9.3 and {CAMPAIGN[0]}"
    routed = Entry(3, 103, PUBLISHERS[0], any_path)
    snapshot = history.snapshot([*entries, routed], definitions=EDGES, set_routes=set_routes)
    run_job(spark, history.order(snapshot), funnel.JOB)
    check_steps(history, entries, paths, visits)
    check_blockers(history, entries, paths, visits)
    check_samples(history, entries, paths, visits)
    check_edges(history, paths, visits)
    check_bottlenecks(history, visits)


def set_routes(index: ATree) -> None:
    """Leads from the herald (1) by a network (2) to the advertiser (9), or directly."""
    links = [(1, 1, 2, 9_000), (2, 2, 9, 9_000), (3, 1, 9, 5_000)]
    index.set_routes({1: "h", 2: "n", 9: "a"}, links, {1: PUBLISHERS[0], 2: "n", 9: "a"}, [1])
    index.define_reach(9, 3)


def make_entry(number: int, publisher: str, path: list[str]) -> Entry:
    parts = [f"publisher.id = '{publisher}'", *(f"@{edge}" for edge in path)]
    parts += [f"({text})" for text in CAMPAIGN]
    return Entry(number, 100 + number, publisher, " and ".join(parts))


def make_visit(random: Random, number: int) -> dict[str, Any]:
    drawn = {
        "publisher.id": random.choice(PUBLISHERS),
        "geo.country": random.choice(["USA", "DEU", "FRA", None]),
        "user.age": random.choice([12, 20, 30, None]),
        "user.consent": random.choice([True, True, False, None]),
        "imp.floor": random.choice([0.1, 0.5, 2.0, None]),
        "visit_weight": 2,
    }
    return visit(f"v{number}", drawn)


def judge(text: str, row: dict[str, Any]) -> bool | None:
    flat = {name: row[name] for name in CATALOG_NAMES if row.get(name) is not None}
    return parse(text, CATALOG).evaluate(flat)


CATALOG_NAMES = ("publisher.id", "geo.country", "user.age", "user.consent", "imp.floor")


def check_steps(
    history: History, entries: list[Entry], paths: dict[int, list[str]], visits: Visits
) -> None:
    expected = {}
    for entry in entries:
        here = [row for row in visits if row["publisher.id"] == entry.publisher]
        steps = [(name, EDGES[name]) for name in paths[entry.booking_id]]
        steps.append(("campaign", " and ".join(f"({text})" for text in CAMPAIGN)))
        for number, (name, text) in enumerate(steps):
            truths = [judge(text, row) for row in here]
            found = Counter(truths)
            counts = (len(truths), found[True], found[False], found[None])
            expected[entry.booking_id, number, name] = tuple(2 * count for count in counts)
            here = [row for row, truth in zip(here, truths, strict=True) if truth is True]
    rows = [row for row in history.table("steps", job="funnel") if row["booking_id"] in paths]
    assert {
        (row["booking_id"], row["step"], row["name"]): (
            row["came"],
            row["passed"],
            row["lost_to_false"],
            row["lost_to_unknown"],
        )
        for row in rows
    } == expected


def conditions_of(entry: Entry, paths: dict[int, list[str]]) -> dict[str, str]:
    conditions = {f"@{name}": EDGES[name] for name in paths[entry.booking_id]}
    return conditions | {parse(text, CATALOG).text: text for text in CAMPAIGN}


def find_blocked(
    entry: Entry, paths: dict[int, list[str]], visits: Visits
) -> dict[str, list[dict[str, Any]]]:
    """Finds the visits that fail one condition and no other."""
    conditions, found = conditions_of(entry, paths), defaultdict(list)
    for row in visits:
        failed = [name for name, text in conditions.items() if judge(text, row) is not True]
        if row["publisher.id"] == entry.publisher and len(failed) == 1:
            found[failed[0]].append(row)
    return found


def check_blockers(
    history: History, entries: list[Entry], paths: dict[int, list[str]], visits: Visits
) -> None:
    expected = {}
    for entry in entries:
        blocked = find_blocked(entry, paths, visits)
        here = [row for row in visits if row["publisher.id"] == entry.publisher]
        for name, text in conditions_of(entry, paths).items():
            truths = Counter(judge(text, row) for row in here)
            counts = (len(blocked[name]), truths[False], truths[None])
            expected[entry.booking_id, normal(name)] = tuple(2 * count for count in counts)
    rows = [row for row in history.table("blockers", job="funnel") if row["booking_id"] in paths]
    assert {
        (row["booking_id"], normal(row["condition"])): (
            row["visits"],
            row["visits_false"],
            row["visits_missing"],
        )
        for row in rows
    } == expected
    assert all(expected.values())


def check_samples(
    history: History, entries: list[Entry], paths: dict[int, list[str]], visits: Visits
) -> None:
    found = defaultdict(set)
    for row in history.table("samples", job="funnel"):
        found[row["booking_id"], row["rank"], normal(row["condition"])].add(row["visit_id"])
    for entry in entries:
        blocked = find_blocked(entry, paths, visits)
        sampled = {key: ids for key, ids in found.items() if key[0] == entry.booking_id}
        sizes = [len(blocked[name]) for _, _, name in sorted(sampled)]
        assert sizes == sorted((len(each) for each in blocked.values()), reverse=True)[:3]
        for (_, _, name), ids in sampled.items():
            assert ids <= {row["visit_id"] for row in blocked[name]}
            assert len(ids) == min(20, len(blocked[name]))


def normal(condition: str) -> str:
    return condition if condition.startswith("@") else parse(condition, CATALOG).text


def check_edges(history: History, paths: dict[int, list[str]], visits: Visits) -> None:
    steps = [row for row in history.table("steps", job="funnel") if row["name"] in EDGES]
    rows = {f"edge.{row['edge']}": row for row in history.table("edges", job="funnel")}
    assert set(rows) == set(EDGES)
    for name, row in rows.items():
        mine = [step for step in steps if step["name"] == name]
        assert (row["bookings"], row["bookings_harmed"]) == (len(mine), len(mine))
        for count in ("came", "passed", "lost_to_false", "lost_to_unknown"):
            assert row[count] == sum(step[count] for step in mine)
        met = [visit for visit in visits if comes_to(name, paths, visit)]
        truths = Counter(judge(EDGES[name], visit) for visit in met)
        found = [row[f"visits_{what}"] for what in ("reached", "passed", "lost_to_false")]
        assert found == [2 * len(met), 2 * truths[True], 2 * truths[False]]
        assert row["visits_lost_to_unknown"] == 2 * truths[None]
        check_any_path(row, *weigh(name, visits))


def check_any_path(row: dict[str, Any], depending: int, blocked: int) -> None:
    """Of the one booking that may take any path."""
    is_met = depending + blocked > 0
    assert (row["any_path_bookings"], row["any_path_harmed"]) == (is_met, blocked > 0)
    found = [row[f"any_path_{what}"] for what in ("came", "passed", "lost")]
    assert found == [2 * (depending + blocked), 2 * depending, 2 * blocked]


def comes_to(edge: str, paths: dict[int, list[str]], row: dict[str, Any]) -> bool:
    """Tells whether all edges before it are true, on a path of the visit's publisher."""
    path = paths[1 + PUBLISHERS.index(row["publisher.id"])]
    before = path[: path.index(edge)] if edge in path else None
    return before is not None and all(judge(EDGES[each], row) is True for each in before)


def weigh(edge: str, visits: Visits) -> tuple[int, int]:
    """Counts visits that satisfy all else of the booking on any path, and for which this edge alone
    decides whether some path is open: those it is true of, and the others."""
    others = [
        row
        for row in visits
        if row["publisher.id"] == PUBLISHERS[0] and judge(CAMPAIGN[0], row) is True
    ]
    needing = [row for row in others if is_open(row, {edge: True}) != is_open(row, {edge: False})]
    depending = sum(judge(EDGES[edge], row) is True for row in needing)
    return depending, len(needing) - depending


def check_bottlenecks(history: History, visits: Visits) -> None:
    weighed = {edge.removeprefix("edge."): weigh(edge, visits) for edge in EDGES}
    expected = {edge: (2 * one, 2 * two) for edge, (one, two) in weighed.items() if one or two}
    rows = history.table("bottlenecks", job="funnel")
    assert {row["edge"]: (row["depending"], row["blocked"]) for row in rows} == expected
    assert {row["booking_id"] for row in rows} == {3}


def is_open(row: dict[str, Any], forced: dict[str, bool]) -> bool:
    """Tells whether some path is open, with an edge forced to be so or not."""
    one, two, three = (forced.get(name, judge(text, row) is True) for name, text in EDGES.items())
    return (one and two) or three

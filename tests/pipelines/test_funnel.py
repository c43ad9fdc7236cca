"""Funnels against the plain evaluator: the log in several files, each step by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines import funnel
from targeting import parse
from tests.pipelines.history import CATALOG, DAY, Entry, History, run_job, visit

pytestmark = pytest.mark.spark
PUBLISHERS = ("daily-herald", "evening-gazette")
EDGES = {"edge.1": "geo.country != 'FRA'", "edge.2": "user.age >= 18"}
CAMPAIGN = ("user.consent = true", "imp.floor <= 0.5")
Visits = list[dict[str, Any]]


def test_steps_and_blockers_are_those_of_the_plain_evaluator(
    spark: SparkSession, tmp_path: Path
) -> None:
    random, history = Random(5), History(tmp_path)
    visits = [make_visit(random, number) for number in range(120)]
    history.log(DAY, visits[:50])
    history.log(DAY, visits[50:], part=1)
    whole = " and ".join(f"({text})" for text in CAMPAIGN)
    entries = [
        Entry(
            number, 100 + number, publisher, f"publisher.id = '{publisher}' and {edge} and {whole}"
        )
        for number, (publisher, edge) in enumerate(
            [(PUBLISHERS[0], "@edge.1 and @edge.2"), (PUBLISHERS[1], "@edge.1")], 1
        )
    ]
    paths = {1: ["edge.1", "edge.2"], 2: ["edge.1"]}
    run_job(spark, history.order(history.snapshot(entries, definitions=EDGES)), funnel.JOB)
    check_steps(history, entries, paths, visits)
    check_blockers(history, entries, paths, visits)
    check_edges(history)


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
    rows = history.table("steps", job="funnel")
    assert {
        (row["booking_id"], row["step"], row["name"]): (
            row["came"],
            row["passed"],
            row["lost_to_false"],
            row["lost_to_unknown"],
        )
        for row in rows
    } == expected


def check_blockers(
    history: History, entries: list[Entry], paths: dict[int, list[str]], visits: Visits
) -> None:
    expected: Counter[tuple[int, str]] = Counter()
    for entry in entries:
        conditions = {f"@{name}": EDGES[name] for name in paths[entry.booking_id]}
        conditions |= {parse(text, CATALOG).text: text for text in CAMPAIGN}
        for row in visits:
            failed = [name for name, text in conditions.items() if judge(text, row) is not True]
            if row["publisher.id"] == entry.publisher and len(failed) == 1:
                expected[entry.booking_id, failed[0]] += 2
    rows = history.table("blockers", job="funnel")
    assert Counter(
        {(row["booking_id"], normal(row["condition"])): row["visits"] for row in rows}
    ) == Counter({(booking, normal(name)): count for (booking, name), count in expected.items()})
    assert len(rows) > 3


def normal(condition: str) -> str:
    return condition if condition.startswith("@") else parse(condition, CATALOG).text


def check_edges(history: History) -> None:
    steps = [row for row in history.table("steps", job="funnel") if row["name"] != "campaign"]
    rows = {f"edge.{row['edge']}": row for row in history.table("edges", job="funnel")}
    assert set(rows) == set(EDGES)
    for name, row in rows.items():
        mine = [step for step in steps if step["name"] == name]
        assert (row["bookings"], row["bookings_harmed"]) == (len(mine), len(mine))
        for count in ("came", "passed", "lost_to_false", "lost_to_unknown"):
            assert row[count] == sum(step[count] for step in mine)

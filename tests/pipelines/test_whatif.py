"""Drafts against the live market, as the plain evaluator tells them apart."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines import whatif
from pipelines.day_jobs import run_jobs
from targeting import parse
from tests.pipelines.history import CATALOG, DAY, Entry, History, run_job, visit

pytestmark = pytest.mark.spark
HERALD = "daily-herald"
EDGES = {"edge.1": "geo.country != 'FRA'", "edge.2": "user.age >= 18"}
FLIGHT = "time >= '2031-01-01T00:00:00Z' and time < '2032-01-01T00:00:00Z'"
LIVE = {1: "user.age >= 30", 2: "geo.country = 'USA'"}
Visits = list[dict[str, Any]]


def make_entries(conditions: dict[int, str]) -> list[Entry]:
    """Makes entries whose flight is far from all visits."""
    head = f"publisher.id = '{HERALD}' and @edge.1"
    return [
        Entry(number, 100 + number, HERALD, f"{head} and {FLIGHT} and ({text})")
        for number, text in conditions.items()
    ]


@pytest.fixture
def visits() -> Visits:
    random = Random(9)
    return [
        visit(
            f"v{number}",
            {
                "geo.country": random.choice(["USA", "DEU", "FRA", None]),
                "user.age": random.choice([*range(12, 60), None]),
                "visit_weight": 2,
            },
        )
        for number in range(90)
    ]


def find(visits: Visits, edge: str, text: str) -> set[str]:
    whole = parse(f"({edge}) and ({text})", CATALOG)
    names = ("geo.country", "user.age")
    flat = [{name: row[name] for name in names if row[name] is not None} for row in visits]
    return {row["visit_id"] for row, each in zip(visits, flat, strict=True) if whole.evaluate(each)}


def check(history: History, expected: dict[int, tuple[set[str], set[str]]]) -> None:
    """Checks each booking; `expected` are its visits before and after."""
    rows = {row["booking_id"]: row for row in history.table("changes", job="whatif")}
    assert set(rows) == set(expected)
    samples = history.table("samples", job="whatif")
    for booking, (before, after) in expected.items():
        row = rows[booking]
        counts = (row["visits_before"], row["visits_after"], row["gained"], row["lost"])
        sizes = (before, after, after - before, before - after)
        assert counts == tuple(2 * len(each) for each in sizes)
        for change, ids in (("gained", after - before), ("lost", before - after)):
            found = [
                each["visit_id"]
                for each in samples
                if (each["booking_id"], each["change"]) == (booking, change)
            ]
            assert set(found) <= ids
            assert len(found) == min(20, len(ids))


def test_a_campaigns_draft_gains_and_loses_visits(
    spark: SparkSession, tmp_path: Path, visits: Visits
) -> None:
    history, draft = History(tmp_path), "user.age between 20 and 40"
    history.log(DAY, visits[:40])
    history.log(DAY, visits[40:], part=1)
    snapshot = history.snapshot(make_entries(LIVE), definitions=EDGES)
    order = history.order(snapshot, campaign=101, expression=draft)
    run_job(spark, order, whatif.JOB)
    edge = EDGES["edge.1"]
    check(history, {1: (find(visits, edge, LIVE[1]), find(visits, edge, draft))})


def test_an_edges_draft_changes_the_bookings_behind_it(
    spark: SparkSession, tmp_path: Path, visits: Visits
) -> None:
    history, draft = History(tmp_path), "geo.country in ('USA', 'FRA')"
    history.log(DAY, visits)
    snapshot = history.snapshot(make_entries(LIVE), definitions=EDGES)
    run_job(spark, history.order(snapshot, edge=1, expression=draft), whatif.JOB)
    edge = EDGES["edge.1"]
    check(
        history,
        {key: (find(visits, edge, text), find(visits, draft, text)) for key, text in LIVE.items()},
    )


def test_another_snapshot_is_held_against_the_live_one(
    spark: SparkSession, tmp_path: Path, visits: Visits
) -> None:
    history, drafted = History(tmp_path), {2: "geo.country = 'DEU'", 3: "user.age < 20"}
    history.log(DAY, visits)
    snapshot = history.snapshot(make_entries(LIVE), definitions=EDGES)
    other = history.snapshot(make_entries(drafted), definitions=EDGES)
    run_job(spark, history.order(snapshot, against=other), whatif.JOB)
    edge = EDGES["edge.1"]
    before = {key: find(visits, edge, text) for key, text in LIVE.items()}
    after = {key: find(visits, edge, text) for key, text in drafted.items()}
    every = before.keys() | after.keys()
    check(history, {key: (before.get(key, set()), after.get(key, set())) for key in every})


def test_a_draft_of_nothing_or_that_cannot_be_read_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = History(tmp_path)
    history.log(DAY, [visit("a")])
    snapshot = history.snapshot(make_entries(LIVE), definitions=EDGES)
    (done,) = run_jobs(spark, history.order(snapshot, expression="true"), [whatif.JOB])
    assert "one of --campaign, --edge and --against" in done.error
    order = history.order(snapshot, campaign=101, expression="geo.contry = 'USA'")
    (done,) = run_jobs(spark, order, [whatif.JOB])
    assert "unknown attribute `geo.contry`" in done.error

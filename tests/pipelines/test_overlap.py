"""Overlap against plain sets of visits and users, judged by the plain evaluator."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines import overlap
from targeting import parse
from tests.pipelines.history import CATALOG, DAY, Entry, History, run_job, visit

pytestmark = pytest.mark.spark
PUBLISHERS = ("daily-herald", "evening-gazette")


def test_partners_share_the_visits_and_users_that_plain_sets_share(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlap, "SUPPORT", 30)
    random, history = Random(3), History(tmp_path)
    visits = [make_visit(random, number) for number in range(240)]
    history.log(DAY, visits[:100])
    history.log(DAY, visits[100:], part=1)
    entries = [
        Entry(number, 100 + number, PUBLISHERS[number % 2], make_text(number))
        for number in range(1, 9)
    ]
    run_job(spark, history.order(history.snapshot(entries)), overlap.JOB)
    taken = {entry.campaign_id: find(entry, visits) for entry in entries}
    check_partners(history, entries, taken)
    check_alone(history, entries, taken)


def make_visit(random: Random, number: int) -> dict[str, Any]:
    drawn = {
        "publisher.id": random.choice(PUBLISHERS),
        "user.age": random.randrange(12, 60),
        "user.id": random.choice([None, *(f"user-{n}" for n in range(50))]),
        "visit_weight": 2,
    }
    return visit(f"v{number}", drawn)


def make_text(number: int) -> str:
    publisher = PUBLISHERS[number % 2]
    return (
        f"publisher.id = '{publisher}' and user.age between {10 + 2 * number} and {30 + 3 * number}"
    )


def find(entry: Entry, visits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Finds the visits that an entry's text is true of."""
    expression = parse(entry.text, CATALOG)
    names = ("publisher.id", "user.age")
    return [row for row in visits if expression.evaluate({n: row[n] for n in names}) is True]


def ids_of(visits: list[dict[str, Any]]) -> set[str]:
    return {row["visit_id"] for row in visits}


def users_of(visits: list[dict[str, Any]]) -> set[str]:
    return {row["user.id"] for row in visits} - {None}


def check_partners(
    history: History, entries: list[Entry], taken: dict[int, list[dict[str, Any]]]
) -> None:
    expected = {}
    for one, other in permutations(entries, 2):
        ones, others = taken[one.campaign_id], taken[other.campaign_id]
        shared = 2 * len(ids_of(ones) & ids_of(others))
        if shared >= 30:
            users = 2 * len(users_of(ones) & users_of(others))
            share = pytest.approx(shared / (2 * len(ones)))
            expected[one.campaign_id, other.campaign_id] = (shared, users, share)
    rows = history.table("partners", job="overlap")
    assert {
        (row["campaign_id"], row["partner_id"]): (
            row["visits_both"],
            row["users_both"],
            row["share_of_visits"],
        )
        for row in rows
    } == expected
    assert len(expected) > 5
    ranks = defaultdict(list)
    for row in rows:
        ranks[row["campaign_id"]].append((row["rank"], -row["visits_both"]))
    for ranked in ranks.values():
        assert sorted(ranked) == sorted(ranked, key=lambda pair: (pair[1], pair[0]))


def check_alone(
    history: History, entries: list[Entry], taken: dict[int, list[dict[str, Any]]]
) -> None:
    rows = {row["campaign_id"]: row for row in history.table("alone", job="overlap")}
    for entry in entries:
        visits, row = taken[entry.campaign_id], rows[entry.campaign_id]
        others = set().union(
            *(ids_of(taken[each.campaign_id]) for each in entries if each is not entry)
        )
        assert row["visits"] == 2 * len(visits)
        assert row["exclusive_visits"] == 2 * len(ids_of(visits) - others)
        assert row["users"] == 2 * len(users_of(visits))

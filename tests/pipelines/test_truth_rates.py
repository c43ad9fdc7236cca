"""Truth rates measured by a real Spark session, and the build that goes by them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pytest_django import Settings

from exchange.snapshots.rates import learn_rates
from matcher_ext import ATree, Snapshot
from matcher_ext.index import list_predicates
from pipelines.eligible_visits import refresh_rates
from targeting import parse
from tests.pipelines.history import CATALOG, DAY, NEXT_DAY, NOON, Entry, History, visit

CONDITIONS = [  # as the index writes them
    "geo.country = 'USA'",
    "geo.country not in ('DEU', 'FRA')",
    "user.age between 18 and 30",
    "user.segments all of ('boats', 'cars')",
    "geo.location within 100.0 km of (52.5, 13.4)",
    "imp.floor <= 0.5",
    "user.consent = true",
    "count(user.segments) > 1",
    "time > '2026-10-31T23:59:59.999Z'",
]


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def test_predicates_of_a_snapshot_are_texts_that_can_be_read_again() -> None:
    index = ATree(CATALOG)
    index.define("edge.1", CONDITIONS[0])
    for number, text in enumerate(CONDITIONS):
        index.insert(number, f"{text} and @edge.1")
    texts = list_predicates(index.freeze())
    assert {parse(text, CATALOG).text for text in texts} == {
        parse(text, CATALOG).text for text in CONDITIONS
    }
    assert index.set_truth_rates(dict.fromkeys(texts, 0.5)) == len(CONDITIONS)


@pytest.mark.spark
def test_rates_are_those_of_the_plain_evaluator(spark: SparkSession, history: History) -> None:
    visits = [
        visit("a"),
        visit("b", {"geo.country": "DEU", "user.segments": ["cars", "boats"]}),
        visit("c", {"geo.location": {"lat": 52.5, "lon": 13.5}, "imp.floor": 0.1}),
        visit("d", {"user.age": None, "user.consent": True, "time": NOON - timedelta(days=90)}),
    ]
    history.log(DAY, visits)
    entries = [
        Entry(n, n, "daily-herald", f"publisher.id = 'daily-herald' and {text}")
        for n, text in enumerate(CONDITIONS, 1)
    ]
    folder = history.snapshot(entries)
    path = history.root / "reports" / "truth_rates.json"
    job = history.job(folder, DAY, NEXT_DAY)
    assert refresh_rates(spark, job, path), "the last day has no log: the one before has"
    written = json.loads(path.read_text())
    flat = [
        {key: value for key, value in row.items() if value is not None and key != "visit_id"}
        for row in visits
    ]
    for row in flat:
        row["time"] = int(row["time"].timestamp() * 1000)  # type: ignore[attr-defined]
    assert written["day"] == str(DAY)
    assert written["rates"] == {
        text: sum(parse(text, CATALOG).evaluate(row) is True for row in flat) / 4
        for text in list_predicates(Snapshot.open(folder / "index.atree"))
    }
    assert written["rates"]['geo.country = "USA"'] == 0.75


@pytest.mark.spark
def test_an_earlier_day_does_not_replace_a_later_one(spark: SparkSession, history: History) -> None:
    history.log(DAY, [visit("a")])
    history.log(NEXT_DAY, [visit("a", {"geo.country": "DEU"})])
    folder = history.snapshot()
    path = history.root / "rates.json"
    assert refresh_rates(spark, history.job(folder, NEXT_DAY), path)
    assert not refresh_rates(spark, history.job(folder, DAY), path)
    assert json.loads(path.read_text())["rates"]['geo.country = "USA"'] == 0


def test_a_build_goes_by_what_was_measured_and_else_by_a_sample(
    history: History, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TRUTH_RATES_FILE = history.root / "rates.json"
    settings.VISIT_LOG_DIR = history.root / "visits"
    index = ATree(CATALOG)
    index.insert(1, "geo.country = 'USA' and user.age > 3")
    assert learn_rates(index) == ""
    history.log(DAY, [visit("a"), visit("b")])
    assert learn_rates(index) == "2 sampled visits"
    rates = {'geo.country = "USA"': 0.25, "user.age > 3": 0.5}
    document = {"format": 1, "day": "2026-11-02", "rates": rates}
    settings.TRUTH_RATES_FILE.write_text(json.dumps(document))
    assert learn_rates(index) == "the visits of 2026-11-02"
    damages: list[object] = [{**document, "rates": {"user.age > 3": 7}}, {**document, "format": 9}]
    for damaged in [*damages, []]:
        settings.TRUTH_RATES_FILE.write_text(json.dumps(damaged))
        assert learn_rates(index) == "2 sampled visits"
    assert index.match({"geo.country": "USA", "user.age": 4}) == [1]

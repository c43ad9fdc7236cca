"""Truth rates as builds read them; how they are measured is in test_nightly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_django import Settings

from exchange.snapshots.rates import learn_rates
from matcher_ext import ATree
from matcher_ext.index import list_predicates
from pipelines.truth_rates import write_rates
from targeting import parse
from tests.pipelines.history import CATALOG, DAY, NEXT_DAY, History, visit

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


def test_an_earlier_day_does_not_replace_a_later_one(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "rates.json"
    assert write_rates(path, NEXT_DAY, {"user.age > 3": 0.5})
    assert not write_rates(path, DAY, {"user.age > 3": 0.25})
    assert not write_rates(path, NEXT_DAY, {}), "a day without a visit says nothing"
    assert json.loads(path.read_text())["rates"] == {"user.age > 3": 0.5}


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

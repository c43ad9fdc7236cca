"""The program that measures the index prints one column per workload."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import matcher, rounds
from bench.sets import Set, open_set
from bench.workloads import SYNTHETIC, open_parameters
from matcher_ext.engines import Scan
from targeting import Catalog


def test_shows_every_figure_of_a_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = open_parameters(replace(SYNTHETIC, expressions=200, visits=20), tmp_path)
    catalog = Catalog.of(**dict.fromkeys(workload.attribute_names, "integer"))
    visits = workload.visits()
    batch = workload.batch_visits(300)
    tiny = Set("tiny", catalog, {}, workload.expressions(), visits, visits, batch)
    monkeypatch.setattr(matcher, "open_set", {"tiny": tiny}.get)
    monkeypatch.setattr(rounds, "ROUNDS", 1)
    assert matcher.main(["tiny"]) == 0
    about, _, table = capsys.readouterr().out.partition("| | tiny |\n|---|---|\n")
    assert "500 different visits" in about
    figures = {
        line.split(" | ")[0].strip("| *"): line.split(" | ")[1] for line in table.splitlines()
    }
    assert figures["expressions"] == "200 |"
    assert float(figures["batch counts, times faster than the scan"].rstrip(" |")) > 0


@pytest.fixture(scope="module")
def bookings() -> Set:
    return open_set("b3k")


def test_bookings_of_the_demo_are_entries_of_every_policy_over_its_edges(bookings: Set) -> None:
    some = bookings
    assert len(some.texts) == 3_000
    assert all("publisher.id = " in text for text in some.texts)
    assert any(name.startswith("edge.") for name in some.definitions)
    on_any_path = sum("@reach." in text for text in some.texts)
    assert 900 < on_any_path < 1_100
    assert any("@audience." in text for text in some.texts)
    index = some.open_index()
    index.insert_many(range(len(some.texts)), some.texts)
    found = {number for visit in some.visits for number in index.match(visit)}
    assert {"@reach." in some.texts[number] for number in found} == {True, False}


def test_visits_of_bookings_are_whole(bookings: Set) -> None:
    """Shows objects and names that the catalogue does not know, at all publishers."""
    visits = bookings.visits
    assert sum(len(visit) for visit in visits) > 40 * len(visits)
    assert any("geo.location" in visit for visit in visits)
    assert all("visit_id" in visit for visit in visits)
    assert len({visit["publisher.id"] for visit in visits}) == 12


def test_the_scan_answers_as_the_index_does_but_for_any_path(bookings: Set) -> None:
    """Shows what the benchmark's table says of the scan."""
    some = bookings
    index = some.open_index()
    index.insert_many(range(len(some.texts)), some.texts)
    snapshot = index.freeze()
    scan = Scan(snapshot)
    for visit in some.visits[:50]:
        found = [number for number in snapshot.match(visit) if "@reach." not in some.texts[number]]
        assert sorted(scan.match_ids(visit)) == found

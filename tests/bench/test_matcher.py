"""The program that measures the index prints one column per workload."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import matcher, rounds
from bench.sets import Set, open_set
from bench.workloads import SYNTHETIC, open_parameters
from matcher_ext import ATree
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
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| | tiny |"
    figures = {line.split(" | ")[0].strip("| *"): line.split(" | ")[1] for line in lines[2:]}
    assert figures["expressions"] == "200 |"
    assert float(figures["batch counts, times faster than the scan"].rstrip(" |")) > 0


def test_bookings_of_the_demo_are_entries_over_its_edges() -> None:
    some = open_set("b3k")
    assert len(some.texts) == 3_000
    assert all("publisher.id = " in text for text in some.texts)
    assert any(name.startswith("edge.") for name in some.definitions)
    index = ATree(some.catalog)
    for name, text in some.definitions.items():
        index.define(name, text)
    index.insert_many(range(len(some.texts)), some.texts)
    assert any(index.match(visit) for visit in some.visits)

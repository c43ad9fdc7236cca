"""Every study of the papers runs, small, and what was measured is not measured again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench import paper_report, papers
from bench.paper_cover import count_least
from bench.paper_figures import list_studies
from bench.paper_report import bound_visits, judge
from bench.paper_sharing import count_sharing
from bench.paper_studies import MATCH, Contestant, Study, Sweep
from bench.paper_workloads import (
    MAKERS,
    Made,
    make_equalities,
    make_facts,
    make_intervals,
    make_trees,
)
from matcher_ext.engines import ENGINES
from targeting import Catalog, parse


def test_a_quick_run_shows_every_study_of_every_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert papers.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    studies = list_studies(papers.QUICK_SCALE)
    for study in studies:
        assert f"### {study.title}\n" in printed
    assert "figure 7: sharing" in printed
    assert "not run" not in printed
    assert "cannot be compared" not in re.sub(r"[^\n]*translation[^\n]*", "", printed)
    assert {c.engine for study in studies for c in study.contestants} == set(ENGINES)


def test_sharing_counts_each_subexpression_at_its_level() -> None:
    types = {"a": "integer", "b": "integer"}
    made = Made(types, ["a = 1 and b = 2", "a = 1 or b = 3", "b = 2 and a = 1"], [], [])
    first, second = count_sharing(made).values()
    assert sorted(first.values()) == [1, 2, 3]
    assert sorted(second.values()) == [1, 2]


def tiny_study() -> Study:
    points = {"20": {"make": "equalities", "subscriptions": 20, "visits": 3}}
    contestants = (Contestant("gryphon", "gryphon"), Contestant("scan", "scan"))
    sweep = Sweep("n", points)
    return Study("tiny", "a paper", "tiny", MATCH, sweep, contestants, (("gryphon", "scan"),))


def test_a_run_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = papers.plan_cells([tiny_study()], 0.01)
    first = papers.run_cells(cells, tmp_path)
    assert "1 of 2" in capsys.readouterr().err
    assert papers.run_cells(cells, tmp_path) == first
    assert capsys.readouterr().err == ""
    assert {result["matches"] for result in first.values()} == {first[next(iter(first))]["matches"]}
    assert all(result["MB"] > 0 for result in first.values())


def test_out_of_memory_is_a_result(tmp_path: Path) -> None:
    spec = {"make": "equalities", "subscriptions": 200_000, "visits": 1}
    cell = papers.describe_cell("scan", {}, spec, 0.01)
    program = (
        "import sys, json; from bench import papers; papers.ROOM_BYTES = 200 << 20;"
        "sys.exit(papers.main(['--cell', sys.argv[1]]))"
    )
    assert papers.run_cell(cell, ["-c", program]) == {"failed": "out of memory"}


def test_the_sentence_says_whether_the_order_holds() -> None:
    study = tiny_study()

    def find(gryphon: float, scan: float) -> Any:
        values = (gryphon, scan)
        work = {"nodes visited": 1, "tests": 2, "MB": 3}
        return lambda _, number, __: {"match us": values[number], "refused": 0.0, **work}

    assert "gryphon before scan holds: scan needs 2 times" in judge(study, find(1, 2)).lower()
    refuted = judge(study, find(2, 1)).lower()
    assert "does not hold: scan needs 0.5 times" in refuted
    assert "gryphon 1 visited, 2 tested, 3 mb" in refuted
    assert "are equal" in judge(study, find(2, 2.01))


def test_somebody_who_knows_all_answers_asks_for_the_matches_and_one_of_each_other() -> None:
    subscriptions = [[0, 1], [1, 2], [2, 3], [2, 4]]
    assert count_least(subscriptions, {0, 1}) == 3
    assert count_least(subscriptions, set()) == 2
    assert count_least(subscriptions, {0, 1, 2, 3, 4}) == 5


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_numbers_make_the_same_workload(name: str) -> None:
    key = "expressions" if name in ("abe", "trees") else "subscriptions"
    made, again = (MAKERS[name](**{key: 20}, visits=5) for _ in range(2))
    assert made == again
    catalog = Catalog.of(**made.types)
    assert [parse(text, catalog).text for text in made.texts]
    assert json.dumps(made.visits)


def test_facts_match_as_rarely_as_the_paper_s() -> None:
    made = make_facts(subscriptions=2000, predicates=300, visits=60)
    engine = ENGINES["naive"](Catalog.of(**made.types))
    engine.insert_many(range(2000), made.texts)
    matches = sum(len(engine.match(visit)) for visit in made.visits)
    assert 0.0005 < matches / 2000 / 60 < 0.008
    assert 250 < engine.stats()["predicates"] <= 300


def test_intervals_match_at_the_rate_that_was_asked() -> None:
    made = make_intervals(subscriptions=400, attributes=5, matching=0.05, visits=40)
    engine = ENGINES["dexin"](Catalog.of(**made.types))
    engine.insert_many(range(400), made.texts)
    shares = [len(engine.match(visit)) / 400 for visit in made.visits]
    assert 0.045 < sum(shares) / len(shares) < 0.08


def test_trees_have_their_depth_and_selectivity() -> None:
    deep = make_trees(depth=4, expressions=50)
    flat = make_trees(depth=1, expressions=50)
    assert len("".join(deep.texts)) > 3 * len("".join(flat.texts))
    hopeless = make_trees(expressions=50, selectivity=0.2)
    assert sum("never = 1" in text for text in hopeless.texts) == 40


def test_gryphon_stays_below_the_bound_and_grows_less_than_its_subscriptions() -> None:
    visited = []
    for subscriptions in (200, 2000):
        made = make_equalities(subscriptions=subscriptions, visits=30)
        engine = ENGINES["gryphon"](Catalog.of(**made.types), collapse=False)
        engine.insert_many(range(subscriptions), made.texts)
        for visit in made.visits:
            engine.match(visit)
        visited.append(engine.stats()["visited"] / 30)
        assert visited[-1] < bound_visits(subscriptions)
    assert visited[1] < 5 * visited[0]


def test_draws_a_picture_of_each_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_report, "PICTURES", tmp_path)
    result = {"match us": 1.0, "refused": 0.0}
    text = paper_report.write_report([tiny_study()], lambda *_: result, 1.0, draws=True)
    assert "papers-a paper.png" in text
    assert (tmp_path / "papers-a paper.png").read_bytes().startswith(b"\x89PNG")

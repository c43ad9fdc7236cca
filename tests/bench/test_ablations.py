"""Every design option of the paper is measured, with the answers of the index."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import ablations
from bench.sets import Set
from bench.workloads import ADS, open_parameters
from targeting import Catalog


@pytest.fixture
def tiny(tmp_path: Path) -> Set:
    workload = open_parameters(replace(ADS, expressions=100, visits=25), tmp_path)
    catalog = Catalog.of(**dict.fromkeys(workload.attribute_names, "integer"))
    visits, training = workload.visits(), workload.training_visits()
    return Set("tiny", catalog, {}, workload.expressions(), visits, training)


def test_shows_a_line_for_every_option(
    tiny: Set, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ablations, "open_set", {"tiny": tiny}.get)
    assert ablations.main(["tiny"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    options = [line.split(" | ")[1] for line in lines[2:]]
    assert options == [ablations.SCAN, ablations.INDEX, *ablations.OPTIONS]


def test_stops_at_another_answer_than_the_index_s(tiny: Set) -> None:
    snapshot = ablations.freeze_index(tiny)
    tree = ablations.grow_tree(tiny, {})
    tree.insert(-1, "true")
    with pytest.raises(SystemExit, match="tiny, plain: another answer"):
        ablations.check_answers(tiny, snapshot, tree, "plain")

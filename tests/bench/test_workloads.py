"""The benchmark workloads have the shape that their names promise."""

import re
from dataclasses import replace
from pathlib import Path

from bench.workloads import ADS, SYNTHETIC, Parameters, open_parameters

SMALL_SYNTHETIC = replace(SYNTHETIC, expressions=2000, visits=200)
SMALL_ADS = replace(ADS, expressions=2000, visits=200)


def make(parameters: Parameters, folder: Path) -> tuple[list[str], list[dict[str, int]]]:
    workload = open_parameters(parameters, folder)
    return workload.expressions(), workload.visits()


def count_predicates(text: str) -> int:
    return len(re.findall(r"\ba\d+\b", text))


def test_same_parameters_give_the_same_bytes(tmp_path: Path) -> None:
    first = make(SMALL_ADS, tmp_path / "first")
    assert make(SMALL_ADS, tmp_path / "second") == first
    assert make(replace(SMALL_ADS, seed=2), tmp_path / "third") != first


def test_a_folder_of_other_parameters_is_made_anew(tmp_path: Path) -> None:
    make(SMALL_ADS, tmp_path)
    assert len(make(replace(SMALL_ADS, expressions=50), tmp_path)[0]) == 50


def test_synthetic_expressions_have_up_to_sixteen_predicates(tmp_path: Path) -> None:
    expressions, _ = make(SMALL_SYNTHETIC, tmp_path)
    assert len(expressions) == 2000
    assert max(map(count_predicates, expressions)) == 16


def test_ads_expressions_have_one_to_fifty_six_predicates(tmp_path: Path) -> None:
    expressions, _ = make(SMALL_ADS, tmp_path)
    counts = list(map(count_predicates, expressions))
    assert min(counts) == 1
    assert 40 < max(counts) <= 56


def test_subexpressions_are_shared(tmp_path: Path) -> None:
    expressions, _ = make(SMALL_SYNTHETIC, tmp_path)
    groups = re.findall(r"\([^()]*(?:\([\d, ]*\)[^()]*)*\)", " ".join(expressions))
    assert len(groups) > 2 * len(set(groups))


def test_visits_carry_about_twenty_known_values(tmp_path: Path) -> None:
    _, visits = make(SMALL_SYNTHETIC, tmp_path)
    assert 18 < sum(map(len, visits)) / len(visits) < 22
    assert all(0 <= value < 100 for visit in visits for value in visit.values())

"""The program that plots growth prints its tables and draws one picture."""

from pathlib import Path

import pytest

from bench import growth


def test_measures_every_sweep_and_draws_one_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(growth, "CACHE", tmp_path)
    monkeypatch.setattr(growth, "PICTURE", tmp_path / "results" / "growth.png")
    monkeypatch.setattr(growth, "VISIT_SIZES", (5,))
    monkeypatch.setattr(growth, "DEPTHS", (1, 8))
    assert growth.main(["100", "200"]) == 0
    printed = capsys.readouterr().out
    assert "| | synthetic 100 | synthetic 200 | ads 100 | ads 200 |" in printed
    assert "| | synthetic 5 | ads 5 |" in printed
    assert "| | synthetic 1 | synthetic 8 |" in printed
    assert (tmp_path / "results" / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_grows_from_ten_thousand_expressions_five_attributes_and_one_level() -> None:
    by_size, by_visit, by_depth = growth.plan_sweeps(growth.SIZES)
    assert {number for _, number in by_size.points} == {10_000, 30_000, 100_000, 300_000}
    assert min(number for _, number in by_visit.points) == 5
    assert max(number for _, number in by_visit.points) == 100
    assert [number for _, number in by_depth.points] == list(range(1, 9))
    assert {p.expressions for p in by_depth.points.values()} == {30_000}

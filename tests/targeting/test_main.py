from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from targeting.__main__ import main


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    path = tmp_path / "catalog.json"
    attributes = [{"name": "age", "type": "integer"}, {"name": "segments", "type": "string set"}]
    path.write_text(json.dumps({"attributes": attributes}))
    return str(path)


def test_check_says_it_in_plain_words(catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--catalog", catalog, "age >= 18"]) == 0
    assert capsys.readouterr().out == "Visits where age is at least 18\n"


def test_check_names_suspicious_conditions(
    catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--catalog", catalog, "age >= 18 and age < 18"]) == 0
    assert "never: `age >= 18` and `age < 18` are never true together" in capsys.readouterr().out


def test_check_prints_every_problem_with_its_place(
    catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--catalog", catalog, "agee = 1 or segments = 'a'"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "line 1, column 1: unknown attribute `agee` (did you mean `age`?)",
        "line 1, column 22: `=` does not apply to `segments`, which is a set of texts "
        "(use `one of (..)`)",
    ]


def test_format_prints_the_canonical_text(catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["format", "--catalog", catalog, "age>=18&&!(age==20)"]) == 0
    assert capsys.readouterr().out == "age >= 18 and not age = 20\n"


def test_format_reads_a_file_or_standard_input(
    catalog: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "expression.txt"
    path.write_text("age  =  1")
    monkeypatch.setattr(sys, "stdin", io.StringIO("age  =  2"))
    assert main(["format", "--catalog", catalog, "--file", str(path)]) == 0
    assert main(["format", "--catalog", catalog]) == 0
    assert capsys.readouterr().out == "age = 1\nage = 2\n"


def test_explain_shows_truths_values_and_fixes(
    catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", "--catalog", catalog, "--visit", '{"age": 17, "segments": ["a"]}']
    assert main([*arguments, "age >= 18 and segments one of ('a')"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "no  and",
        "no    age >= 18  (17)",
        "yes   segments one of ('a')  ([\"a\"])",
        "would match if `age >= 18` were met",
        "would match if `age >= 18` were dropped",
    ]


def test_evaluate_answers_each_visit_of_a_file(
    catalog: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "visits.jsonl"
    path.write_text('{"age": 18}\n{"age": 17}\n\n{}\n')
    assert main(["evaluate", "--catalog", catalog, "--visit", str(path), "age >= 18"]) == 1
    assert capsys.readouterr().out == "true\nfalse\nundefined\n"


def test_definitions_and_lists_come_from_files(
    catalog: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definitions, lists = tmp_path / "definitions.json", tmp_path / "lists.json"
    definitions.write_text('{"teens": "age in $teens"}')
    lists.write_text('{"teens": [13, 14]}')
    files = ["--definitions", str(definitions), "--lists", str(lists)]
    arguments = ["evaluate", "--catalog", catalog, *files, "--visit", '{"age": 13}']
    assert main([*arguments, "@teens"]) == 0
    assert main([*arguments, "@adults"]) == 1
    assert "unknown name `@adults`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [("[]", "a JSON object is expected"), ("{", "Expecting"), ('{"a": 1}', "not a catalogue")],
)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, content: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(content)
    assert main(["check", "--catalog", str(path), "age = 1"]) == 2
    assert said in capsys.readouterr().err


def test_runs_as_a_module(catalog: str) -> None:
    command = [sys.executable, "-m", "targeting", "format", "--catalog", catalog, "age=1"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "age = 1\n"

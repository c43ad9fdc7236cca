"""The cases that all judges share, through the job: every case is a publisher with one visit.

A log cannot carry everything that JSON can: NOT_IN_ARROW names those cases, and the test fails when
the list is wrong in either direction.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines import eligibility
from tests.cases import Case, load_cases
from tests.pipelines.history import DAY, NOON, Entry, History, run_job

pytestmark = pytest.mark.spark

NOT_IN_ARROW = {
    "numbers: a huge integer for a float",
    "sets: one bad element spoils the set",
    "truth: more than 64 bits is missing",
}
# The log's own time is what the server stamped, so a case's `time` is carried under another name.
RENAMED = {"time": "moment"}
CASES = load_cases()
FILES = sorted({case.name.partition(":")[0] for case in CASES})


@pytest.mark.parametrize("file", FILES)
def test_the_job_agrees_with_every_case(file: str, spark: SparkSession, tmp_path: Path) -> None:
    cases = [case for case in CASES if case.name.startswith(f"{file}:")]
    loggable = [case for case in cases if as_columns(case) is not None]
    assert {case.name for case in cases} - {case.name for case in loggable} == {
        name for name in NOT_IN_ARROW if name.startswith(f"{file}:")
    }
    history = History(tmp_path)
    for part, visits in enumerate(pack(loggable)):
        log_part(history, part, visits)
    snapshot = history.snapshot(entries(loggable), catalog_of(cases[0]))
    done = run_job(spark, history.order(snapshot), eligibility.JOB)
    assert done.input["visits"] == len(loggable)
    found: dict[str, list[int]] = defaultdict(list)
    for campaign, publisher in sorted(history.eligible()):
        found[publisher].append(campaign)
    assert {case.name: found[case.name] for case in loggable} == {
        case.name: sorted(case.expected) for case in loggable
    }


def catalog_of(case: Case) -> Any:
    """Gives the case's catalogue and the attributes that every log has."""
    rows = case.catalog.to_json()["attributes"]
    for row in rows:
        row["name"] = RENAMED.get(row["name"], row["name"])
    own = [{"name": "publisher.id", "type": "string"}, {"name": "time", "type": "timestamp"}]
    return type(case.catalog).from_json({"attributes": own + rows})


def entries(cases: list[Case]) -> list[Entry]:
    """Makes an entry of each expression, once for each case, restricted to the case's own
    publisher."""
    made: list[Entry] = []
    for case in cases:
        for number, text in case.expressions.items():
            rewritten = re.sub(r"\btime\b(?= )", RENAMED["time"], text)
            narrowed = f"publisher.id = '{case.name}' and ({rewritten})"
            made.append(Entry(len(made) + 1, number, case.name, narrowed))
    return made


def as_columns(case: Case) -> dict[str, pa.Array] | None:
    """Gives the visit as columns of one row, or None if Arrow has no type for a value."""
    try:
        return {
            RENAMED.get(name, name): pa.array([value])
            for name, value in case.visit.items()
            if value is not None
        }
    except (pa.ArrowException, OverflowError):
        return None


def pack(cases: list[Case]) -> list[list[Case]]:
    """Packs cases into as few tables as possible, each with one type per column."""
    tables: list[tuple[dict[str, pa.DataType], list[Case]]] = []
    for case in cases:
        kinds = {name: array.type for name, array in (as_columns(case) or {}).items()}
        for taken, members in tables:
            if all(taken.get(name, kind) == kind for name, kind in kinds.items()):
                taken.update(kinds)
                members.append(case)
                break
        else:
            tables.append((kinds, [case]))
    return [members for _, members in tables]


def log_part(history: History, part: int, cases: list[Case]) -> None:
    schema = {
        "visit_id": pa.string(),
        "publisher.id": pa.string(),
        "time": pa.timestamp("ms", "UTC"),
    }
    rows = []
    for case in cases:
        columns = as_columns(case) or {}
        schema |= {name: array.type for name, array in columns.items()}
        own = {"visit_id": case.name, "publisher.id": case.name, "time": NOON}
        rows.append(own | {name: array[0].as_py() for name, array in columns.items()})
    history.log(DAY, rows, schema=pa.schema(schema), part=part)

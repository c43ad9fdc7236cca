"""The scan, the index, its snapshot and the plain evaluator give the same answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.workloads import ADS, SYNTHETIC, Parameters, open_parameters
from matcher_ext import ATree, Snapshot
from matcher_ext.engines import Scan
from targeting import Catalog, parse
from tests.matcher_ext.expressions import CATALOG, texts, visits


@pytest.mark.parametrize("parameters", [SYNTHETIC, ADS], ids=["synthetic", "ads"])
def test_agrees_with_index_snapshot_and_plain_evaluator(
    parameters: Parameters, tmp_path: Path
) -> None:
    # Few attributes, so that most of an expression's are in a visit.
    small = replace(parameters, expressions=300, visits=60, attributes=30, values=20)
    workload = open_parameters(small, tmp_path / "workload")
    catalog = Catalog.of(**dict.fromkeys(workload.attribute_names, "integer"))
    texts = workload.expressions()
    index = ATree(catalog)
    index.insert_many(range(len(texts)), texts)
    index.learn_truth_rates(workload.training_visits())
    index.freeze().save(tmp_path / "index.atree")
    snapshot = Snapshot.open(tmp_path / "index.atree")
    scan = Scan(snapshot)
    expressions = [parse(text, catalog) for text in texts]
    matches = 0
    for visit in workload.visits():
        expected = [i for i, one in enumerate(expressions) if one.evaluate(visit) is True]
        assert index.match(visit) == expected
        assert snapshot.match(visit) == expected
        assert sorted(scan.match_ids(visit)) == expected
        matches += len(expected)
    assert 0 < matches < len(texts) * len(workload.visits())


@given(st.lists(texts(), max_size=8), st.lists(visits(), max_size=4))
@settings(deadline=None)
def test_scans_every_type_like_the_plain_evaluator(
    expressions: list[str], seen: list[dict[str, Any]]
) -> None:
    index = ATree(CATALOG)
    index.insert_many(range(len(expressions)), expressions)
    scan = Scan(index.freeze())
    for visit in seen:
        expected = [
            i for i, one in enumerate(expressions) if parse(one, CATALOG).evaluate(visit) is True
        ]
        assert sorted(scan.match_ids(visit)) == expected


def test_an_expression_too_long_for_a_flat_program_is_scanned_all_the_same() -> None:
    # Written out, without sharing, a chain of exclusive ors doubles with every link.
    chain = " xor ".join(f"(age >= {bound})" for bound in range(40))
    index = ATree(CATALOG)
    index.insert_many([0, 1, 2], ["age >= 3", chain, "age < 3"])
    scan = Scan(index.freeze())
    assert sorted(scan.match_ids({"age": 4})) == [0, 1]
    assert sorted(scan.match_ids({"age": 3})) == [0]
    assert sorted(scan.match_ids({"age": 2})) == [1, 2]

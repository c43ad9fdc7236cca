"""The scan, the index, its snapshot and the plain evaluator give the same answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.workloads import ADS, SYNTHETIC, Parameters, open_parameters
from matcher_ext import ATree, Snapshot
from matcher_ext.scan import Scan
from targeting import Catalog, parse


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

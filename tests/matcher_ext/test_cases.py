"""The cases that all judges share, through every face of the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from matcher_ext import ATree, LiveIndex, Snapshot
from tests.cases import Case, load_cases


@pytest.mark.parametrize("case", load_cases(), ids=str)
def test_every_face_matches_what_the_case_expects(case: Case, tmp_path: Path) -> None:
    index = ATree(case.catalog)
    index.insert_many(case.expressions, case.expressions.values())
    index.freeze().save(tmp_path / "index.atree")
    opened = Snapshot.open(tmp_path / "index.atree")
    assert index.match(case.visit) == case.expected
    assert opened.match(case.visit) == case.expected
    assert make_live(case, opened).match(case.visit) == case.expected
    reasons = opened.why_not(case.visit, case.expressions)
    assert [entry for entry, why in reasons.items() if not why] == case.expected


def make_live(case: Case, snapshot: Snapshot) -> LiveIndex:
    """Lays every other entry beside the snapshot."""
    live = LiveIndex(snapshot)
    for number in list(case.expressions)[::2]:
        live.delete(number)
        live.insert(number, case.expressions[number])
    return live

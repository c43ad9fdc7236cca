"""What the table of builds forbids, and how it tells progress."""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.db import IntegrityError

from exchange.snapshots.models import PHASE_SPAN, Phase, SnapshotBuild

Status = SnapshotBuild.Status


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.QUEUED, Status.BUILDING, Status.LIVE])
def test_only_one_build_may_wait_run_or_be_live(status: SnapshotBuild.Status) -> None:
    SnapshotBuild.objects.create(status=status)
    with pytest.raises(IntegrityError):
        SnapshotBuild.objects.create(status=status)


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.REPLACED, Status.FAILED])
def test_any_number_of_builds_may_be_over(status: SnapshotBuild.Status) -> None:
    SnapshotBuild.objects.create(status=status)
    assert SnapshotBuild.objects.create(status=status).is_over


def test_percent_never_moves_backwards() -> None:
    shown = [
        SnapshotBuild(status=Status.BUILDING, phase=phase, rows_done=done, rows_total=total).percent
        for phase in Phase
        for done, total in [(0, 0), (0, 8), (4, 8), (8, 8)]
    ]
    assert shown == sorted(shown)
    assert shown[0] == 0
    assert SnapshotBuild(status=Status.LIVE, phase=Phase.ACTIVATING).percent == 100


def test_spans_of_the_phases_join_without_gap() -> None:
    spans = [PHASE_SPAN[phase] for phase in Phase]
    assert spans[0][0] == 0
    assert spans[-1][1] == 100
    assert all(left[1] == right[0] for left, right in pairwise(spans))

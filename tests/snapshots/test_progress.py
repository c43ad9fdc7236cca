"""Progress of a running build, and its end when someone else gave the build up."""

from __future__ import annotations

import time

import pytest

from exchange.snapshots.models import Phase, SnapshotBuild
from exchange.snapshots.progress import BuildLostError, Progress

Status = SnapshotBuild.Status


@pytest.fixture
def build(transactional_db: None) -> SnapshotBuild:
    return SnapshotBuild.objects.create(status=Status.BUILDING)


def wait_for(build: SnapshotBuild, **expected: object) -> None:
    until = time.monotonic() + 60
    while any(getattr(build, name) != value for name, value in expected.items()):
        assert time.monotonic() < until, f"{build.phase} {build.rows_done}"
        time.sleep(0.02)
        build.refresh_from_db()


def test_phase_and_rows_are_written_with_a_heartbeat(build: SnapshotBuild) -> None:
    with Progress(build.pk) as progress:
        progress.begin(Phase.INDEXING, 100)
        progress.advance(40)
        wait_for(build, phase=Phase.INDEXING, rows_done=40, rows_total=100)
        assert build.heartbeat_at is not None
        progress.begin(Phase.WRITING)
        wait_for(build, phase=Phase.WRITING, rows_done=0)


def test_build_that_was_given_up_stops_at_its_next_step(build: SnapshotBuild) -> None:
    def go_on() -> None:
        with Progress(build.pk) as progress:
            SnapshotBuild.objects.filter(pk=build.pk).update(status=Status.FAILED)
            until = time.monotonic() + 60
            while time.monotonic() < until:
                progress.advance(1)
                time.sleep(0.02)

    with pytest.raises(BuildLostError):
        go_on()
    build.refresh_from_db()
    assert build.status == Status.FAILED

"""What people are told about the live snapshot: how far it is, what waits, what is held back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F

from exchange.snapshots.changes import count_changes
from exchange.snapshots.deltas import needs_build
from exchange.snapshots.models import DeltaLog, SnapshotBuild

Status = SnapshotBuild.Status


@dataclass(frozen=True, slots=True)
class Standing:
    """`waits_for` says why a build is due; `held_count` is of changes since a rollback,
    `waiting_count` of those that the next record takes; `estimate` is what the last build took."""

    live: SnapshotBuild | None
    log: DeltaLog | None
    waits_for: str
    held_count: int
    waiting_count: int
    estimate: timedelta | None


def read_standing() -> Standing:
    log = DeltaLog.objects.first()
    live = SnapshotBuild.objects.filter(status=Status.LIVE).defer("skipped").first()
    is_held = log is not None and log.is_held
    count = count_changes(log.position) if log is not None else 0
    return Standing(
        live=live,
        log=log,
        waits_for=needs_build(log) if log is not None and not is_held else "",
        held_count=count if is_held else 0,
        waiting_count=0 if is_held else count,
        estimate=estimate_build(),
    )


def estimate_build() -> timedelta | None:
    done = SnapshotBuild.objects.exclude(snapshot_id="").filter(
        started_at__isnull=False, finished_at__isnull=False
    )
    last = done.annotate(took=F("finished_at") - F("started_at")).order_by("-id").first()
    return None if last is None else max(last.took, timedelta(seconds=1))

"""Tells people about the live snapshot: how far it is, what waits, what is held back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django.db.models import F

from exchange.snapshots.changes import count_changes
from exchange.snapshots.deltas import needs_build
from exchange.snapshots.models import DeltaLog, SnapshotBuild

Status = SnapshotBuild.Status


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands. `waits_for` says why a build is due; `held_count` is of changes since a
    rollback, `waiting_count` of those that the next record takes; `estimate` is what the last build
    took."""

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


class Move(StrEnum):
    """What an operator may do with a build: each has one move at most."""

    MAKE_LIVE = "make_live"
    LET_IN = "let_in"
    ROLL_BACK = "roll_back"


def find_move(build: SnapshotBuild, standing: Standing, kept: Collection[str]) -> Move | None:
    """Finds what may be done with a build: make a newer one live, with everything that was saved
    since; roll back to an older one, as it was built; let in what was held back on the live one.
    `kept`: whose files are still there."""
    is_checked = build.status in {Status.READY, Status.LIVE, Status.REPLACED}
    if not is_checked or build.snapshot_id not in kept:
        return None
    live, log = standing.live, standing.log
    if live is None or build.pk > live.pk:
        return Move.MAKE_LIVE
    if build.pk < live.pk:
        return Move.ROLL_BACK
    return Move.LET_IN if log is not None and log.is_held else None


def estimate_build() -> timedelta | None:
    done = SnapshotBuild.objects.exclude(snapshot_id="").filter(
        started_at__isnull=False, finished_at__isnull=False
    )
    last = done.annotate(took=F("finished_at") - F("started_at")).order_by("-id").first()
    return None if last is None else max(last.took, timedelta(seconds=1))

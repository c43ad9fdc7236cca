"""Watches for what operators are warned of: builds that fail, saved changes that nobody serves.

Looked at every second by the thread that looks at everything (`site.health`); a scrape reads what
it saw last.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.db.models import Max

from exchange.snapshots.changes import count_changes
from exchange.snapshots.models import DeltaLog, SnapshotBuild


@dataclass(frozen=True, slots=True)
class Builds:
    """How builds go. `failed` are those since the last one that succeeded. `waiting_seconds` is how
    long a saved change has been waiting for its delta; what a rollback holds back does not wait."""

    failed: int
    waiting_seconds: float


class BuildWatch:
    """Looks at builds. Changes carry no time, so it remembers since when it has seen the same delta
    be the last one while something waits. Not thread-safe: one thread looks."""

    def __init__(self) -> None:
        self._waits_for = 0
        self._since = 0.0

    def look(self) -> Builds:
        return Builds(count_failed(), self._measure_wait())

    def _measure_wait(self) -> float:
        log = DeltaLog.objects.only("number", "position", "is_held").first()
        now = time.monotonic()
        is_waiting = log is not None and not log.is_held and count_changes(log.position) > 0
        if log is None or not is_waiting:
            self._waits_for = 0
            return 0.0
        if self._waits_for != log.number + 1:
            self._waits_for, self._since = log.number + 1, now
        return now - self._since


def count_failed() -> int:
    builds = SnapshotBuild.objects.order_by()
    last = builds.exclude(snapshot_id="").aggregate(last=Max("pk"))["last"] or 0
    return builds.filter(status=SnapshotBuild.Status.FAILED, pk__gt=last).count()

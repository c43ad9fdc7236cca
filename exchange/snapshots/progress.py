"""Shows that a running build lives, and how far it is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from exchange.snapshots.models import Phase, SnapshotBuild

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0

Listener = Callable[[Phase, int, int], None]


class BuildLostError(Exception):
    """Says that someone else gave the build up while it ran; it must not go live any more."""


def ignore_progress(_phase: Phase, _rows_done: int, _rows_total: int) -> None:
    """Stands in for builds that nobody watches from inside the process."""


class Progress:
    """Tells how far a build is. Written by a thread with its own connection: small transactions
    that everyone sees, although the build's own read transaction is open, and a heartbeat also
    during a long step. Only the build's thread calls `begin` and `advance`; only the beating thread
    writes."""

    def __init__(self, build_id: int, listener: Listener = ignore_progress) -> None:
        self._build_id = build_id
        self._listener = listener
        self._state = (Phase.READING, 0, 0)
        self._begun_at = time.monotonic()
        self._seconds: dict[str, float] = {}
        self._wake = threading.Event()
        self._is_over = False
        self._is_lost = False
        self._thread = threading.Thread(target=self._beat, name="build-heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        self._wake.set()
        self._thread.join()

    def begin(self, phase: Phase, rows_total: int = 0) -> None:
        self.check_owned()
        self._seconds = self.seconds
        self._begun_at = time.monotonic()
        self._state = (phase, 0, rows_total)
        self._wake.set()
        self._listener(*self._state)

    @property
    def seconds(self) -> dict[str, float]:
        """Says where the time went so far, by phase."""
        phase, spent = self._state[0], time.monotonic() - self._begun_at
        return {**self._seconds, phase: round(self._seconds.get(phase, 0) + spent, 2)}

    def advance(self, rows: int) -> None:
        self.check_owned()
        phase, rows_done, rows_total = self._state
        self._state = (phase, rows_done + rows, rows_total)
        self._listener(*self._state)

    def check_owned(self) -> None:
        if self._is_lost:
            raise BuildLostError(f"Build {self._build_id} was given up while it ran.")

    def _beat(self) -> None:
        try:
            while not self._is_over:
                self._write()
                self._wake.wait(BEAT_SECONDS)
                self._wake.clear()
        finally:
            connection.close()

    def _write(self) -> None:
        phase, rows_done, rows_total = self._state
        running = SnapshotBuild.objects.filter(
            pk=self._build_id, status=SnapshotBuild.Status.BUILDING
        )
        try:
            beaten = running.update(
                phase=phase,
                rows_done=rows_done,
                rows_total=rows_total,
                heartbeat_at=timezone.now(),
            )
        except DatabaseError as error:
            # A beat may be missed; a build that misses too many is given up by the sweep.
            logger.warning("A heartbeat of build %s was lost: %s", self._build_id, error)
            connection.close()
        else:
            self._is_lost = not beaten

"""Keeps the state that a server answers from up with the snapshot directory.

Takes up what the manifest names and the records that follow. What cannot be loaded is replaced by
what else the directory holds (`recovery`), until something about it moves. Not thread-safe: whoever
refreshes sees to that; readers take the reference `live` once.
"""

from __future__ import annotations

import logging
import time

from exchange.serving.directory import (
    MANIFEST_FILE,
    DirectoryError,
    Manifest,
    SnapshotDirectory,
)
from exchange.serving.instruments import FAILED_SWAPS, RECOVERED, SNAPSHOT_READ_AT, SWAPS
from exchange.serving.live import LiveSnapshot
from exchange.serving.recovery import (
    UNREADABLE,
    FileMark,
    Seen,
    Trouble,
    ask_for_build,
    forget_build_request,
    look,
    mark_of,
    recover,
    renew,
)
from exchange.serving.stops import STOPS_FILE

logger = logging.getLogger(__name__)

# What could not be loaded is tried again when one of its files changed, and else after this.
RETRY_SECONDS = 60.0


class Following:
    """Holds the state: `live` is replaced as a whole; `recovery` says why it is another one."""

    def __init__(self, directory: SnapshotDirectory) -> None:
        self.live: LiveSnapshot | None = None
        self._directory = directory
        self._seen: FileMark = None
        self._trouble: Trouble | None = None
        self._last_refusal = ""

    @property
    def recovery(self) -> str | None:
        return None if self._trouble is None else self._trouble.reason

    def refresh(self) -> bool:
        """Takes up what the directory names; if that cannot be loaded, what else it holds."""
        seen: Seen = ()
        if self._trouble is not None:
            seen = look(self._directory, self.live)
            if not self._trouble.is_worth_a_try(seen, RETRY_SECONDS):
                return self._go_on(self._trouble)
        try:
            changes = [self._refresh_snapshot(), self._follow()]
        except (*UNREADABLE, ValueError) as error:
            return self._recover(error, seen)
        self._end_trouble()
        return any(changes)

    def _refresh_snapshot(self) -> bool:
        mark = self._mark(MANIFEST_FILE)
        is_whole = self.live is not None and not self.live.is_recovered
        if is_whole and mark == self._seen:
            return False
        before = self.live
        self._take_up(self._directory.read_manifest())
        self._seen = mark
        return self.live is not before

    def _follow(self) -> bool:
        """Takes up deltas. One that cannot be read is never left out."""
        live = self.live
        if live is None or live.is_recovered:
            return False
        self.live = live.follow(self._directory)
        return self.live is not live

    def _take_up(self, manifest: Manifest | None) -> None:
        """Opens what the manifest names. One that vanished changes nothing for a server that has
        read it: no snapshot is ever taken back."""
        old = self.live
        if manifest is None:
            if (old is None or old.is_recovered) and self._mark(STOPS_FILE) is not None:
                raise DirectoryError(f"{self._directory.root / MANIFEST_FILE} is missing")
            return
        is_same = old is not None and old.manifest.snapshot_id == manifest.snapshot_id
        if old is not None and is_same and not old.is_recovered:
            self.live = old.renew(self._directory, manifest)
        else:
            self.live = LiveSnapshot.open(self._directory, manifest)
            SWAPS.inc()
        SNAPSHOT_READ_AT.set(manifest.read_at.timestamp())

    def _recover(self, error: Exception, seen: Seen) -> bool:
        """Takes an older state that is safe. Where there is none, what is served already goes on;
        what was recovered before does not, because more may have been stopped since. The first try
        is followed by another, and so is one during which something moved: a record may just be on
        its way."""
        self.refuse(error)
        before, stops = self.live, self._mark(STOPS_FILE)
        found = recover(self._directory, before)
        if found is not None or (before is not None and before.is_recovered):
            self.live = found
        now = look(self._directory, self.live)
        reason = self._name(error)
        if self._trouble is not None:
            ask_for_build(self._directory, reason)
        self._trouble = Trouble(
            reason=reason,
            stops=stops,
            seen=now if now == seen else (),
            tried_at=time.monotonic(),
        )
        RECOVERED.set(1)
        if self.live is not None:
            SNAPSHOT_READ_AT.set(self.live.read_at_seconds)
        return self.live is not before

    def _go_on(self, trouble: Trouble) -> bool:
        """Stops what was stopped since, while the trouble is the same as before."""
        live, mark = self.live, self._mark(STOPS_FILE)
        if mark == trouble.stops:
            return False
        trouble.stops = mark
        if live is None or not live.is_recovered:
            self.live = recover(self._directory, live) or live
        else:
            self.live = renew(live, self._directory)
        return self.live is not live

    def _end_trouble(self) -> None:
        if self._trouble is None:
            return
        forget_build_request(self._directory)
        self._trouble = None
        self._last_refusal = ""
        RECOVERED.set(0)
        logger.info("The state that the snapshot directory names is served again.")

    def refuse(self, error: Exception) -> bool:
        """Logs a trouble, once per kind and not with every try."""
        FAILED_SWAPS.inc()
        if str(error) != self._last_refusal:
            self._last_refusal = str(error)
            logger.error("Not taken up from the snapshot directory: %s", error)
        return False

    def _name(self, error: Exception) -> str:
        """Names the trouble for whoever asks how we are: without where on this machine the
        directory lies."""
        return str(error).replace(f"{self._directory.root}/", "")

    def _mark(self, name: str) -> FileMark:
        return mark_of(self._directory, name)

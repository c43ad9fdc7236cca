"""Matches in the ad server's own process: follows the platform, answers without it.

    ads = Follower("http://127.0.0.1:8001", "tl_..", "treeline-state")
    ads.start(wait_seconds=60)
    ads.eligible("alpine-news", {"geo.country": "FRA"}, limit=10)

A thread asks every second what is live, fetches what is new, checks it, and swaps it in whole.
While the platform is away the last state goes on answering, for as long as `serve_for_seconds`
says; a start without the platform begins with what the folder keeps. No question ever waits for
the network.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from matcher_ext.following.downloading import DownloadError, Offer, Platform
from matcher_ext.following.followed_state import Booking, FollowedState, OpenedSnapshot
from matcher_ext.following.kept_files import KeptFiles
from matcher_ext.values.refusals import SnapshotError
from matcher_ext.visits.flat_visits import copy_flat, flatten, stamp_milliseconds

logger = logging.getLogger(__name__)

# Errors that come from the platform, the network, the disk or another version of the platform.
TROUBLE = (DownloadError, SnapshotError, OSError, ValueError, KeyError, TypeError)


class NoStateError(Exception):
    """Nothing was fetched yet, and nothing was kept."""


class StaleStateError(Exception):
    """The platform has not confirmed the state for longer than it may be served."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a follower is. `snapshot_age_seconds` counts from when the database was read for the
    snapshot, as at the endpoint. `unconfirmed_seconds` counts from when the platform last said that
    this state is the live one: a change can be that late here. `failures` are those since then, 0
    while all is well; `last_error` stays after it is over."""

    snapshot_id: str | None
    delta: int
    bookings: int
    snapshot_age_seconds: float | None
    unconfirmed_seconds: float | None
    failures: int
    last_error: str | None


class Follower:
    """Answers any number of threads, while a thread of its own follows. The folder is this
    process's alone. Start it after forking: threads do not survive that."""

    def __init__(
        self,
        url: str,
        api_key: str,
        folder: str | Path,
        *,
        serve_for_seconds: float | None = 3600.0,
        poll_seconds: float = 1.0,
        most_pause_seconds: float = 30.0,
        timeout_seconds: float = 30.0,
    ) -> None:
        """Sets a follower up. It serves a state that the platform does not confirm for
        `serve_for_seconds`, None for ever. After each failure it pauses twice as long, up to
        `most_pause_seconds`."""
        self._platform = Platform(url, api_key, timeout_seconds)
        self._folder = Path(folder)
        self._serve_for_seconds = serve_for_seconds
        self._poll_seconds = poll_seconds
        self._most_pause_seconds = most_pause_seconds
        self._kept: KeptFiles | None = None
        self._state: FollowedState | None = None
        self._confirmed_at = 0.0
        self._failures = 0
        self._last_error: str | None = None
        self._ready = threading.Event()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, wait_seconds: float = 0.0) -> bool:
        """Takes up what the folder keeps, follows from now on, and waits so long for a first state;
        tells whether there is one. Raises FolderInUseError if another process has the folder."""
        if self._thread is not None:
            raise RuntimeError("this follower was started before")
        self._kept = KeptFiles(self._folder)
        self._resume(self._kept)
        self._thread = threading.Thread(target=self._follow, name="treeline-follower", daemon=True)
        self._thread.start()
        return self._ready.wait(wait_seconds)

    def stop(self) -> None:
        """Follows no longer and releases the folder; the last state goes on answering."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        if self._kept is not None:
            self._kept.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def eligible(
        self, publisher: str, visit: Mapping[str, object], limit: int | None = None
    ) -> list[Booking]:
        """Lists what `POST /api/v1/eligibility` answers as `eligible`: the best `limit`, or all.
        Raises NoStateError, StaleStateError, and VisitError for a visit that is too large."""
        if limit is not None and limit < 1:
            raise ValueError("limit is at least 1")
        now = time.time()
        state = self._require_state(now)
        attributes = state.opened.attributes
        flat = copy_flat(visit, attributes)
        if flat is None:
            flat = flatten(visit, attributes)
        stamp_milliseconds(flat, publisher, int(now * 1000))
        return state.find_eligible(flat, limit)

    def status(self) -> Status:
        state, now = self._state, time.time()
        return Status(
            snapshot_id=None if state is None else state.offer.snapshot_id,
            delta=0 if state is None else state.delta,
            bookings=0 if state is None else len(state),
            snapshot_age_seconds=None if state is None else max(now - state.offer.read_at, 0.0),
            unconfirmed_seconds=None if state is None else max(now - self._confirmed_at, 0.0),
            failures=self._failures,
            last_error=self._last_error,
        )

    def _require_state(self, now: float) -> FollowedState:
        state, limit = self._state, self._serve_for_seconds
        if state is None:
            raise NoStateError(self._last_error or "nothing was fetched yet")
        if limit is not None and now - self._confirmed_at > limit:
            raise StaleStateError(
                f"not confirmed for {now - self._confirmed_at:.0f} s: {self._last_error}"
            )
        return state

    def _resume(self, kept_files: KeptFiles) -> None:
        """Takes up what is kept, if it is whole; else it will be fetched again."""
        try:
            kept = kept_files.read()
            if kept is None:
                return
            begun = FollowedState.begin(kept.offer, OpenedSnapshot.open(kept.folder))
            state = begun.apply(kept.changes.records)
        except TROUBLE as error:
            self._note(error)
            return
        self._publish(state, kept.confirmed_at)

    def _follow(self) -> None:
        pause = 0.0
        while not self._end.wait(pause):
            try:
                self.refresh()
            except TROUBLE as error:
                pause = max(self._note(error), getattr(error, "wait_seconds", 0.0))
            except Exception as error:
                # Without this thread nothing would ever be stopped again.
                logger.exception("The follower failed; it goes on")
                pause = self._note(error)
            else:
                pause = self._poll_seconds * secrets.SystemRandom().uniform(0.9, 1.1)

    def _note(self, error: Exception) -> float:
        """Logs a trouble once, and says how long to wait: at random, so that ad servers do not all
        come back at once."""
        if str(error) != self._last_error or not self._failures:
            logger.warning("Not followed: %s", error)
        self._failures += 1
        self._last_error = str(error) or repr(error)
        longest = min(self._poll_seconds * 2.0 ** min(self._failures, 30), self._most_pause_seconds)
        return longest * secrets.SystemRandom().uniform(0.5, 1.0)

    def refresh(self) -> None:
        """Takes up what is live now, in one step. The thread calls it, or a caller with a schedule
        of its own who started no thread."""
        kept = self._require_kept()
        offer = self._platform.ask_live()
        state = self._state
        if state is not None and offer.activated_at < state.offer.activated_at:
            raise DownloadError("the platform offers an older snapshot than this one")
        if state is None or not is_same(state.offer, offer):
            state = self._take_up(kept, offer, state)
        elif offer.delta > state.delta:
            state = self._follow_changes(kept, offer, state)
        if state.delta >= offer.delta:
            self._confirm(kept)

    def _take_up(
        self, kept: KeptFiles, offer: Offer, before: FollowedState | None
    ) -> FollowedState:
        """Takes up another snapshot, or the same one with another log; serves it once complete."""
        if before is not None and before.offer.snapshot_id == offer.snapshot_id:
            opened = before.opened.without_changes()
        else:
            with kept.stage() as staged:
                self._platform.fetch_files(offer, staged)
                opened = OpenedSnapshot.open(staged)
                kept.adopt(staged, offer)
        changes = self._platform.fetch_changes(offer, offer.built_delta)
        state = FollowedState.begin(offer, opened).apply(changes.records)
        self._publish(state, time.time())
        kept.keep(offer, changes)
        logger.info("Snapshot %s is served, change %d", offer.snapshot_id, state.delta)
        return state

    def _follow_changes(
        self, kept: KeptFiles, offer: Offer, before: FollowedState
    ) -> FollowedState:
        """Fetches and serves new changes, before keeping them: what they stop must end even if the
        disk is full."""
        changes = self._platform.fetch_changes(offer, before.delta)
        state = before.apply(changes.records)
        self._publish(state, self._confirmed_at)
        kept.keep_changes(offer, changes)
        return state

    def _publish(self, state: FollowedState, confirmed_at: float) -> None:
        self._confirmed_at = confirmed_at
        self._state = state
        self._ready.set()

    def _confirm(self, kept: KeptFiles) -> None:
        if self._failures:
            logger.info("Followed again")
        self._failures = 0
        self._confirmed_at = time.time()
        kept.confirm(self._confirmed_at)

    def _require_kept(self) -> KeptFiles:
        if self._kept is None:
            self._kept = KeptFiles(self._folder)
        return self._kept


def is_same(one: Offer, other: Offer) -> bool:
    return (one.snapshot_id, one.log_id, one.built_delta) == (
        other.snapshot_id,
        other.log_id,
        other.built_delta,
    )

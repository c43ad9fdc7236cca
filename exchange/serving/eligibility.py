"""Answers which campaigns are eligible for a visit, from the snapshot directory alone.

No Django, no database, no log line per request. A new snapshot is opened aside and swapped in as
one reference, so a request sees one snapshot from its first byte to its last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from exchange.serving.answers import (
    EVERYTHING,
    NO_WARNINGS,
    Options,
    Part,
    write_part,
    write_warnings,
)
from exchange.serving.directory import (
    KEYS_FILE,
    MANIFEST_FILE,
    DirectoryError,
    KeyEntry,
    Manifest,
    SnapshotDirectory,
    hash_key,
)
from exchange.serving.instruments import FAILED_SWAPS, SNAPSHOT_READ_AT, SWAPS, TALLY
from exchange.serving.key_use import KeyUse
from exchange.serving.live import LiveSnapshot
from exchange.serving.problems import ProblemError
from exchange.serving.visits import flatten
from matcher_ext import SnapshotError

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.25
# The server's clock decides, never the visit: a flight or a daypart must not be the caller's to
# choose. `local_time` is the same instant, shifted by the index to the visitor's own clock.
STAMPED_TIMES = ("time", "local_time")
PUBLISHER = "publisher.id"
STAMPED = {*STAMPED_TIMES, PUBLISHER}
ELIGIBILITY_READ = "eligibility:read"
# What a damaged, half-mounted or forbidden directory raises; anything else is our own bug.
UNREADABLE = (DirectoryError, SnapshotError, OSError)


class Answer(msgspec.Struct, frozen=True):
    """An answer's JSON, and what the servers count about it."""

    body: bytes
    count: int
    match_seconds: float

    def document(self) -> dict[str, Any]:
        """For pages; the endpoint sends the body as it is."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


class EligibilityService:
    """Thread-safe: readers take the current references once; only `refresh` replaces them."""

    def __init__(self, directory: Path) -> None:
        self._directory = SnapshotDirectory(directory)
        self._live: LiveSnapshot | None = None
        self._keys: dict[str, KeyEntry] = {}
        self._seen: dict[str, tuple[int, int, int] | None] = {}
        self._last_refusal = ""
        self._key_use = KeyUse(directory)
        self._refreshing = threading.Lock()
        self.refresh()

    @property
    def live(self) -> LiveSnapshot | None:
        return self._live

    def publishers_of(self, key: str, scope: str = ELIGIBILITY_READ) -> tuple[str, ...]:
        """What a key may ask for; raises the problem to answer with if it may ask nothing."""
        hashed = hash_key(key)
        entry = self._keys.get(hashed)
        if entry is None:
            raise unauthorized("The API key is not known, or was revoked.")
        now = datetime.now(UTC)
        if entry.expires_at <= now:
            raise unauthorized("The API key has expired.")
        self._key_use.note(hashed, now)
        if scope not in entry.scopes:
            raise ProblemError(
                HTTPStatus.FORBIDDEN, "scope_missing", f"Your key lacks the scope {scope}."
            )
        return entry.publishers

    def answer(
        self,
        publisher: str,
        visit: Mapping[str, object],
        options: Options = EVERYTHING,
        at: datetime | None = None,
    ) -> Answer:
        """One visit against the state that is live when it comes."""
        live = self._live
        if live is None:
            raise no_snapshot()
        now = time.time()
        part, match_seconds = answer_part(
            live, publisher, visit, options, now if at is None else at.timestamp()
        )
        body = b"%s%.1f,%s}" % (live.heading, live.age_seconds(now), part.body)
        return Answer(body, part.count, match_seconds)

    def refresh(self) -> bool:
        """Takes up what is new in the directory. What cannot be read leaves the old in place."""
        with self._refreshing:
            return any([self._refresh_keys(), self._refresh_snapshot(), self._follow()])

    def watch(self) -> None:
        """Keeps refreshing in a thread of its own, so that no request waits for it."""
        threading.Thread(target=self._watch, name="snapshot-watch", daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            self.refresh()
            self._key_use.flush()
            TALLY.flush()

    def _refresh_keys(self) -> bool:
        try:
            mark = self._mark(KEYS_FILE)
            if mark == self._seen.get(KEYS_FILE):
                return False
            self._keys = dict(self._directory.read_keys())
        except UNREADABLE as error:
            return self._refuse(error)
        self._seen[KEYS_FILE] = mark
        return True

    def _refresh_snapshot(self) -> bool:
        try:
            mark = self._mark(MANIFEST_FILE)
            if mark == self._seen.get(MANIFEST_FILE):
                return False
            self._take_up(self._directory.read_manifest())
        except UNREADABLE as error:
            return self._refuse(error)
        self._seen[MANIFEST_FILE] = mark
        return True

    def _follow(self) -> bool:
        """Takes up deltas. One that cannot be read is waited for: none is ever left out."""
        live = self._live
        if live is None:
            return False
        try:
            self._live = live.follow(self._directory)
        except (*UNREADABLE, ValueError) as error:
            return self._refuse(error)
        return self._live is not live

    def _take_up(self, manifest: Manifest | None) -> None:
        """No snapshot is ever taken back, so a manifest that vanished changes nothing."""
        if manifest is None:
            return
        old = self._live
        if old is not None and old.manifest.snapshot_id == manifest.snapshot_id:
            self._live = old.renew(self._directory, manifest)
        else:
            self._live = LiveSnapshot.open(self._directory, manifest)
            SWAPS.inc()
        SNAPSHOT_READ_AT.set(manifest.read_at.timestamp())

    def _refuse(self, error: Exception) -> bool:
        """Said once per kind of trouble, not twice a second: the next try is in half a second."""
        FAILED_SWAPS.inc()
        if str(error) != self._last_refusal:
            self._last_refusal = str(error)
            logger.error("Not taken up from the snapshot directory: %s", error)
        return False

    def _mark(self, name: str) -> tuple[int, int, int] | None:
        """Tells one renamed-in file from the next without reading it."""
        try:
            found = (self._directory.root / name).stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def answer_part(
    live: LiveSnapshot,
    publisher: str,
    visit: Mapping[str, object],
    options: Options,
    at_seconds: float,
) -> tuple[Part, float]:
    """One visit's part of an answer, and how long the index took."""
    flat = flatten(visit, live.attributes)
    unknown = () if flat.keys() <= live.attributes else flat.keys() - live.attributes - STAMPED
    stamp_milliseconds(flat, publisher, int(at_seconds * 1000))
    started = time.perf_counter()
    ids, malformed = live.match(flat)
    match_seconds = time.perf_counter() - started
    warnings = write_warnings(malformed, unknown) if malformed or unknown else NO_WARNINGS
    return write_part(live.bookings, ids, options, warnings), match_seconds


def stamp(flat: dict[str, object], publisher: str, at: datetime) -> None:
    stamp_milliseconds(flat, publisher, int(at.timestamp() * 1000))


def stamp_milliseconds(flat: dict[str, object], publisher: str, at: int) -> None:
    for name in STAMPED_TIMES:
        flat[name] = at
    flat[PUBLISHER] = publisher


def no_snapshot() -> ProblemError:
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "no_snapshot",
        "No snapshot is live yet. Try again in a moment.",
        headers={"Retry-After": "2"},
    )


def unauthorized(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.UNAUTHORIZED,
        "bad_key",
        detail,
        headers={"WWW-Authenticate": 'Api-Key realm="eligibility"'},
    )


@cache
def service_for(directory: Path) -> EligibilityService:
    """The process's one service of a directory, kept up to date in the background."""
    service = EligibilityService(directory)
    service.watch()
    return service

"""Answers which campaigns are eligible for a visit, from the snapshot directory alone.

No Django, no database, no log line per request. A new snapshot is opened aside and swapped in as
one reference, so a request sees one snapshot from its first byte to its last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from exchange.serving.bookings import Bookings
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    KEYS_FILE,
    MANIFEST_FILE,
    DirectoryError,
    KeyEntry,
    Manifest,
    SnapshotDirectory,
    hash_key,
)
from exchange.serving.instruments import FAILED_SWAPS, SNAPSHOT_READ_AT, SWAPS
from exchange.serving.key_use import KeyUse
from exchange.serving.problems import ProblemError
from exchange.serving.visits import flatten
from matcher_ext import Snapshot, SnapshotError

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
MAX_WARNINGS = 50
# The server's clock decides, never the visit: a flight or a daypart must not be the caller's to
# choose. `local_time` is the same instant, shifted by the index to the visitor's own clock.
STAMPED_TIMES = ("time", "local_time")
PUBLISHER = "publisher.id"
STAMPED = {*STAMPED_TIMES, PUBLISHER}
ELIGIBILITY_READ = "eligibility:read"
# What a damaged, half-mounted or forbidden directory raises; anything else is our own bug.
UNREADABLE = (DirectoryError, SnapshotError, OSError)


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """An open snapshot. Immutable, shared by all threads."""

    manifest: Manifest
    index: Snapshot
    bookings: Bookings
    attributes: frozenset[str]

    @classmethod
    def open(cls, directory: SnapshotDirectory, manifest: Manifest) -> LiveSnapshot:
        folder = directory.folder(manifest.snapshot_id)
        if not directory.is_whole(manifest.snapshot_id):
            raise DirectoryError(f"{folder} is missing, or not what was built")
        index = Snapshot.open(folder / INDEX_FILE)
        bookings = Bookings(folder / BOOKINGS_FILE)
        return cls(manifest, index, bookings, frozenset(row[0] for row in index.catalog_rows))

    def age_seconds(self, now: datetime) -> float:
        return max((now - self.manifest.read_at).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
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
        visit: dict[str, object],
        limit: int | None = None,
        at: datetime | None = None,
    ) -> Answer:
        """`count` is of all that are eligible, also where `limit` shortens the list."""
        live = self._live
        if live is None:
            raise ProblemError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "no_snapshot",
                "No snapshot is live yet. Try again in a moment.",
                headers={"Retry-After": "2"},
            )
        now = datetime.now(UTC)
        flat = flatten(visit, live.attributes)
        stamp(flat, publisher, at or now)
        started = time.perf_counter()
        ids, malformed = live.index.match_with_warnings(flat)
        match_seconds = time.perf_counter() - started
        body = b'{"snapshot_id":"%s","snapshot_age_seconds":%.1f,"eligible":[%s],"count":%d,' % (
            live.manifest.snapshot_id.encode(),
            live.age_seconds(now),
            b",".join(live.bookings.fragments_of(ids, limit)),
            len(ids),
        )
        warnings = msgspec.json.encode(describe(malformed, flat.keys() - live.attributes))
        return Answer(b'%s"warnings":%s}' % (body, warnings), len(ids), match_seconds)

    def refresh(self) -> bool:
        """Takes up what is new in the directory. What cannot be read leaves the old in place."""
        with self._refreshing:
            return any([self._refresh_keys(), self._refresh_snapshot()])

    def watch(self) -> None:
        """Keeps refreshing in a thread of its own, so that no request waits for it."""
        threading.Thread(target=self._watch, name="snapshot-watch", daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            self.refresh()
            self._key_use.flush()

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

    def _take_up(self, manifest: Manifest | None) -> None:
        """No snapshot is ever taken back, so a manifest that vanished changes nothing."""
        if manifest is None:
            return
        old = self._live
        if old is not None and old.manifest.snapshot_id == manifest.snapshot_id:
            self._live = LiveSnapshot(manifest, old.index, old.bookings, old.attributes)
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


def stamp(flat: dict[str, object], publisher: str, at: datetime) -> None:
    milliseconds = int(at.timestamp() * 1000)
    for name in STAMPED_TIMES:
        flat[name] = milliseconds
    flat[PUBLISHER] = publisher


def describe(malformed: Iterable[str], unknown: Iterable[str]) -> list[dict[str, str]]:
    """Names only: what a visit carries may be personal."""
    found = [("malformed_attribute", name) for name in sorted(malformed)]
    found += [("unknown_attribute", name) for name in sorted(unknown) if name not in STAMPED]
    return [{"code": code, "attribute": name} for code, name in found[:MAX_WARNINGS]]


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

"""Answers which campaigns are eligible for a visit, from the snapshot directory alone.

No Django, no database, no log line per request. A new snapshot is opened aside and swapped in as
one reference, so a request sees one snapshot from its first byte to its last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Mapping, Sequence, Set
from datetime import datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from exchange.serving.answer_log import AnswerLog
from exchange.serving.answers import (
    EVERYTHING,
    FOUND,
    NO_WARNINGS,
    Options,
    Part,
    WarningNote,
    write_warnings,
)
from exchange.serving.callers import ELIGIBILITY_READ, Caller, KeyRing, require_scope
from exchange.serving.directory import (
    KEYS_FILE,
    MANIFEST_FILE,
    DirectoryError,
    Manifest,
    SnapshotDirectory,
)
from exchange.serving.instruments import (
    DELTA,
    DELTA_SIZE,
    FAILED_SWAPS,
    SNAPSHOT_READ_AT,
    SWAPS,
    TALLY,
)
from exchange.serving.key_use import KeyUse
from exchange.serving.live import LiveSnapshot
from exchange.serving.openrtb import read_impressions
from exchange.serving.problems import ProblemError
from exchange.serving.requests import EligibilityRequest, decode, request_decoder
from exchange.serving.visits import STAMPED, copy_flat, flatten, stamp_milliseconds
from matcher_ext import SnapshotError
from matcher_ext.desk import Unfinished

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.25
STEP_SECONDS = 0.001
# What a damaged, half-mounted or forbidden directory raises; anything else is our own bug.
UNREADABLE = (DirectoryError, SnapshotError, OSError)


class Answer(msgspec.Struct, frozen=True, gc=False):
    """An answer's JSON, and its parts: one per visit."""

    body: bytes
    parts: tuple[Part, ...]

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    def document(self) -> dict[str, Any]:
        """For pages; the endpoint sends the body as it is."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


class EligibilityService:
    """Thread-safe: readers take the current references once; only `refresh` replaces them."""

    def __init__(self, directory: Path) -> None:
        self._log: AnswerLog | None = None
        self._directory = SnapshotDirectory(directory)
        self._live: LiveSnapshot | None = None
        self._keys = KeyRing({})
        self._seen: dict[str, tuple[int, int, int] | None] = {}
        self._last_refusal = ""
        self._key_use = KeyUse(directory)
        self._refreshing = threading.Lock()
        self.refresh()

    @property
    def live(self) -> LiveSnapshot | None:
        return self._live

    @property
    def passes(self) -> Mapping[str, Caller]:
        """Callers that were let in, by the header that they came with."""
        return self._keys.passes

    @property
    def sample_every(self) -> int:
        return 0 if self._log is None else self._log.every

    def keep_answers(self, log: AnswerLog) -> None:
        """From now on; the watching thread writes them down."""
        self._log = log

    def admit(self, header: str, scope: str = ELIGIBILITY_READ) -> Caller:
        """Who asks, by the header `Authorization`; raises the problem to answer with if the key
        may not be used for this."""
        now = time.time()
        caller = self._keys.find(header, now)
        self._key_use.note(caller.key_hash, now)
        require_scope(caller, scope)
        return caller

    def answer(
        self,
        publisher: str,
        visit: Mapping[str, object],
        options: Options = EVERYTHING,
        at: datetime | None = None,
    ) -> Answer:
        """One visit against the state that is live when it comes."""
        live = self.require_live()
        now = time.time()
        moment = now if at is None else at.timestamp()
        body, part = self._answer_visit(live, publisher, visit, options, moment)
        return Answer(write_answer(live, now, body), (part,))

    def finish(self, live: LiveSnapshot, left: Unfinished, body: bytes) -> Answer:
        """What the desk leaves: answers that need more than its frame, or are to be kept."""
        now = time.time()
        text, count = left.text, left.count
        if left.paths is not None and left.ids is not None:
            text, count = live.write_routed(left.ids, left.paths, Options(limit=left.limit))
        if left.paths is not None or left.malformed:
            warnings = write_warnings(left.malformed, ()) if left.malformed else NO_WARNINGS
            text = write_answer(live, now, FOUND % (text, count, warnings))
        if left.is_sampled and self._log is not None and left.ids is not None:
            flat = dict(decode(request_decoder, body).visit or {})
            stamp_milliseconds(flat, left.publisher, int(now * 1000))
            self._log.add(live, flat, left.ids)
        return Answer(text, (Part(count, left.match_seconds, left.malformed),))

    def answer_request(self, caller: Caller, request: EligibilityRequest) -> Answer:
        """A visit, or every impression of a bid request."""
        publisher = caller.choose_publisher(request.publisher)
        if request.visit is not None:
            return self.answer(publisher, request.visit, request)
        live = self.require_live()
        now = time.time()
        body, parts = self._answer_imps(live, publisher, request, now)
        return Answer(write_answer(live, now, body), parts)

    def answer_batch(
        self, caller: Caller, requests: Sequence[msgspec.Raw]
    ) -> Generator[None, None, Answer]:
        """All of them against one state; a bad one gets its problem in its place. Pauses after
        every millisecond or so of work, so that others can be answered."""
        live = self.require_live()
        now = time.time()
        answers: list[bytes] = []
        parts: list[Part] = []
        pause_at = time.perf_counter() + STEP_SECONDS
        for raw in requests:
            if time.perf_counter() > pause_at:
                yield
                pause_at = time.perf_counter() + STEP_SECONDS
            try:
                body, added = self._answer_one_of_many(live, caller, raw, now)
                answers.append(b"{%s}" % body)
                parts += added
            except ProblemError as problem:
                answers.append(b'{"problem":%s}' % problem.body())
        heading = b"%s%.1f" % (live.heading, live.age_seconds(now))
        return Answer(b'%s,"answers":[%s]}' % (heading, b",".join(answers)), tuple(parts))

    def require_live(self) -> LiveSnapshot:
        live = self._live
        if live is None:
            raise no_snapshot()
        return live

    def _answer_one_of_many(
        self, live: LiveSnapshot, caller: Caller, raw: msgspec.Raw, now: float
    ) -> tuple[bytes, tuple[Part, ...]]:
        request = decode(request_decoder, raw)
        publisher = caller.choose_publisher(request.publisher)
        if request.visit is None:
            return self._answer_imps(live, publisher, request, now)
        body, part = self._answer_visit(live, publisher, request.visit, request, now)
        return body, (part,)

    def _answer_imps(
        self, live: LiveSnapshot, publisher: str, request: EligibilityRequest, now: float
    ) -> tuple[bytes, tuple[Part, ...]]:
        imps = read_impressions(request.bid_request or {}, live.opened.sources)
        bodies: list[bytes] = []
        parts: list[Part] = []
        for imp in imps:
            body, part = self._answer_visit(live, publisher, imp.visit, request, now, imp.notes)
            bodies.append(b'{"imp_id":%s,%s}' % (msgspec.json.encode(imp.imp_id), body))
            parts.append(part)
        return b'"imps":[%s]' % b",".join(bodies), tuple(parts)

    def _answer_visit(
        self,
        live: LiveSnapshot,
        publisher: str,
        visit: Mapping[str, object],
        options: Options,
        at_seconds: float,
        notes: Sequence[WarningNote] = (),
    ) -> tuple[bytes, Part]:
        flat = copy_flat(visit, live.attributes)
        unknown: Set[str] = frozenset()
        if flat is None:
            flat = flatten(visit, live.attributes)
            unknown = flat.keys() - live.attributes - STAMPED
        stamp_milliseconds(flat, publisher, int(at_seconds * 1000))
        log = self._log
        is_kept = log is not None and log.is_due()
        started = time.perf_counter()
        items, count, malformed, ids = live.answer(flat, options, keeps_ids=is_kept)
        match_seconds = time.perf_counter() - started
        warnings = NO_WARNINGS
        if malformed or unknown or notes:
            warnings = write_warnings(malformed, unknown, notes)
        if is_kept and log is not None and ids is not None:
            log.add(live, flat, ids)
        body = FOUND % (items, count, warnings)
        return body, Part(count, match_seconds, malformed, bool(unknown))

    def refresh(self) -> bool:
        """Takes up what is new in the directory. What cannot be read leaves the old in place."""
        with self._refreshing:
            changes = [self._refresh_keys(), self._refresh_snapshot(), self._follow()]
            if self._live is not None:
                DELTA.set(self._live.delta)
                DELTA_SIZE.set(len(self._live.changed))
            return any(changes)

    def watch(self) -> None:
        """Keeps refreshing in a thread of its own, so that no request waits for it."""
        threading.Thread(target=self._watch, name="snapshot-watch", daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            self.refresh()
            self._note_use()
            self._key_use.flush()
            TALLY.flush()
            if self._log is not None:
                self._log.flush()

    def _refresh_keys(self) -> bool:
        try:
            mark = self._mark(KEYS_FILE)
            if mark == self._seen.get(KEYS_FILE):
                return False
            keys = KeyRing(self._directory.read_keys())
        except UNREADABLE as error:
            return self._refuse(error)
        self._note_use()
        self._keys = keys
        self._seen[KEYS_FILE] = mark
        return True

    def _note_use(self) -> None:
        """Of requests that the desk answered."""
        for caller in tuple(self._keys.passes.values()):
            if caller.used_at_seconds:
                self._key_use.note(caller.key_hash, caller.used_at_seconds)

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


def write_answer(live: LiveSnapshot, now: float, body: bytes) -> bytes:
    return b"%s%.1f,%s}" % (live.heading, live.age_seconds(now), body)


def no_snapshot() -> ProblemError:
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "no_snapshot",
        "No snapshot is live yet. Try again in a moment.",
        headers={"Retry-After": "2"},
    )


@cache
def service_for(directory: Path) -> EligibilityService:
    """The process's one service of a directory, kept up to date in the background."""
    service = EligibilityService(directory)
    service.watch()
    return service

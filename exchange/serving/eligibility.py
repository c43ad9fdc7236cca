"""Answers which campaigns are eligible for a visit, from the snapshot directory alone.

No Django, no database, no log line per request. A new snapshot is opened aside and swapped in as
one reference, so a request sees one snapshot from its first byte to its last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence, Set
from datetime import datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from exchange.serving.answer_log import AnswerLog
from exchange.serving.answers import (
    EVERYTHING,
    FOUND,
    Options,
    Part,
    WarningNote,
    write_warnings,
)
from exchange.serving.callers import (
    ELIGIBILITY_READ,
    Caller,
    KeyRing,
    read_key,
    require_scope,
)
from exchange.serving.directory import KEYS_FILE, SnapshotDirectory
from exchange.serving.following import Following
from exchange.serving.instruments import DELTA, DELTA_SIZE, TALLY
from exchange.serving.key_use import KeyUse
from exchange.serving.live import LiveSnapshot
from exchange.serving.openrtb import stream_impressions
from exchange.serving.problems import ProblemError, too_large
from exchange.serving.recovery import UNREADABLE, FileMark, mark_of
from exchange.serving.requests import (
    MAX_BATCH,
    MAX_BODY_BYTES,
    EligibilityRequest,
    decode,
    request_decoder,
)
from exchange.serving.visit_log import VisitLog
from exchange.serving.visits import STAMPED, copy_flat, flatten, stamp_milliseconds

if TYPE_CHECKING:
    from matcher_ext.serving.fast_endpoint import Kept

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.25
STEP_SECONDS = 0.001
MAX_ANSWER_BYTES = 32 * 1024 * 1024
# What could not be loaded is tried again when one of its files changed, and else after this.
RETRY_SECONDS = 60.0


class Answer(msgspec.Struct, frozen=True, gc=False):
    """An answer's JSON, and its parts: one per visit."""

    body: bytes
    parts: tuple[Part, ...]

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    def document(self) -> dict[str, Any]:
        """Decodes the body for pages; the endpoint sends it as it is."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


Result = TypeVar("Result")
# A computation that pauses on the way, so that others are answered, and ends with its result.
Steps = Generator[None, None, Result]


class Pace:
    """Says when a step has been long enough."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + STEP_SECONDS

    def is_over(self) -> bool:
        """Says so once for each step: the next step begins with it."""
        now = time.perf_counter()
        if now < self._until:
            return False
        self._until = now + STEP_SECONDS
        return True


class EligibilityService:
    """Answers for one snapshot directory. Thread-safe: readers take the current references once;
    only `refresh` replaces them. A state that cannot be loaded is replaced by an older one without
    what was stopped since: `recovery` says why."""

    def __init__(self, directory: Path) -> None:
        self._log: AnswerLog | None = None
        self._visits: VisitLog | None = None
        self._directory = SnapshotDirectory(directory)
        self._following = Following(self._directory)
        self._keys: KeyRing | None = None
        self._keys_seen: FileMark = None
        self._key_use = KeyUse(directory)
        self._refreshing = threading.Lock()
        self.refresh()

    @property
    def live(self) -> LiveSnapshot | None:
        return self._following.live

    @property
    def recovery(self) -> str | None:
        """Says why the state that the directory names is not served; None: it is."""
        return self._following.recovery

    @property
    def passes(self) -> Mapping[str, Caller]:
        """Lists callers that were let in, by the header that they came with."""
        return {} if self._keys is None else self._keys.passes

    @property
    def sample_every(self) -> int:
        return 0 if self._log is None else self._log.every

    @property
    def log_one_in(self) -> int:
        return 0 if self._visits is None else self._visits.one_in

    def keep_answers(self, log: AnswerLog) -> None:
        """Keeps answers from now on; the watching thread writes them down."""
        self._log = log

    def log_visits(self, log: VisitLog) -> None:
        """Keeps visits from now on, as `keep_answers` keeps answers."""
        self._visits = log

    def keep(self, live: LiveSnapshot, kept: Iterable[Kept]) -> None:
        """Keeps what the compiled way chose, as bytes: the watching thread reads them."""
        for each in kept:
            *_, booking_ids, is_logged = each
            if self._log is not None and booking_ids is not None:
                self._log.add(live, each, booking_ids)
            if self._visits is not None and is_logged:
                self._visits.add(live, each)

    def admit(self, header: str, scope: str = ELIGIBILITY_READ) -> Caller:
        """Finds who asks, by the header `Authorization`; raises the problem to answer with if the
        key may not be used for this."""
        now = time.time()
        if self._keys is None:
            read_key(header)  # tells a caller without a key so
            raise no_keys()
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
        """Answers one visit from the state that is live when it comes."""
        live = self.require_live()
        now = time.time()
        moment = now if at is None else at.timestamp()
        body, part = self._answer_visit(live, publisher, visit, options, moment)
        return Answer(write_answer(live, now, body), (part,))

    def answer_bid_request(self, publisher: str, request: EligibilityRequest) -> Steps[Answer]:
        """Answers every impression of a bid request from one state."""
        live = self.require_live()
        now = time.time()
        body, parts = yield from self._answer_imps(live, publisher, request, now, Pace())
        return Answer(write_answer(live, now, body), parts)

    def answer_batch(self, caller: Caller, requests: Sequence[msgspec.Raw]) -> Steps[Answer]:
        """Answers a batch from one state; a bad request gets its problem in its place."""
        live = self.require_live()
        now = time.time()
        pace = Pace()
        answers: list[bytes] = []
        parts: list[Part] = []
        written = 0
        for raw in requests:
            if len(parts) > MAX_BATCH or written > MAX_ANSWER_BYTES:
                raise too_much_to_say()
            text, added = yield from self.answer_one_of_many(live, caller, raw, now, pace)
            answers.append(text)
            written += len(text)
            parts += added
        heading = b"%s%.1f" % (live.heading, live.age_seconds(now))
        return Answer(b'%s,"answers":[%s]}' % (heading, b",".join(answers)), tuple(parts))

    def answer_one_of_many(
        self,
        live: LiveSnapshot,
        caller: Caller,
        raw: bytes | msgspec.Raw,
        now: float,
        pace: Pace,
    ) -> Steps[tuple[bytes, tuple[Part, ...]]]:
        """Answers one request of a batch with its part of the answer, or its problem."""
        if pace.is_over():
            yield
        try:
            body, added = yield from self._answer_decoded(live, caller, raw, now, pace)
        except ProblemError as problem:
            return b'{"problem":%s}' % problem.body(), ()
        return b"{%s}" % body, added

    def require_live(self) -> LiveSnapshot:
        live = self.live
        if live is None:
            raise no_snapshot()
        return live

    def _answer_decoded(
        self,
        live: LiveSnapshot,
        caller: Caller,
        raw: bytes | msgspec.Raw,
        now: float,
        pace: Pace,
    ) -> Steps[tuple[bytes, tuple[Part, ...]]]:
        if memoryview(raw).nbytes > MAX_BODY_BYTES:
            raise too_large(MAX_BODY_BYTES)
        request = decode(request_decoder, raw)
        publisher = caller.choose_publisher(request.publisher)
        if request.visit is None:
            return (yield from self._answer_imps(live, publisher, request, now, pace))
        if pace.is_over():
            yield
        body, part = self._answer_visit(live, publisher, request.visit, request, now)
        return body, (part,)

    def _answer_imps(
        self,
        live: LiveSnapshot,
        publisher: str,
        request: EligibilityRequest,
        now: float,
        pace: Pace,
    ) -> Steps[tuple[bytes, tuple[Part, ...]]]:
        imps = stream_impressions(request.bid_request or {}, live.opened.sources)
        bodies: list[bytes] = []
        parts: list[Part] = []
        for imp in imps:
            if pace.is_over():
                yield
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
        items, count, malformed, ids = live.answer(flat, options)
        match_seconds = time.perf_counter() - started
        warnings = live.warnings
        if malformed or unknown or notes:
            warnings = write_warnings(malformed, unknown, notes, live.notes)
        if is_kept and log is not None:
            log.add(live, flat, ids)
        if self._visits is not None and self._visits.is_due(flat, live):
            self._visits.add(live, flat)
        body = FOUND % (items, count, warnings)
        return body, Part(count, match_seconds, malformed, bool(unknown))

    def refresh(self) -> bool:
        """Takes up what is new in the directory. What cannot be read leaves the old in place."""
        with self._refreshing:
            changes = [self._refresh_keys(), self._following.refresh()]
            if (live := self.live) is not None:
                DELTA.set(live.delta)
                DELTA_SIZE.set(len(live.changed))
            return any(changes)

    def watch(self) -> None:
        """Keeps refreshing in a thread of its own, so that no request waits for it."""
        threading.Thread(target=self._watch, name="snapshot-watch", daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_SECONDS)
            try:
                self.refresh()
                self.write_down()
            except Exception:
                # Without this thread nothing would be stopped or revoked any more.
                logger.exception("What follows the snapshot directory failed; it goes on")

    def write_down(self, *, at_once: bool = False) -> None:
        """Writes down what requests have left behind in memory."""
        self._note_use()
        self._key_use.flush()
        TALLY.flush()
        for log in (self._log, self._visits):
            if log is not None:
                log.flush(at_once=at_once)

    def _refresh_keys(self) -> bool:
        """Reads changed keys. A lost or damaged file revokes none of those that were read."""
        mark = mark_of(self._directory, KEYS_FILE)
        if mark is None or mark == self._keys_seen:
            return False
        try:
            keys = KeyRing(self._directory.read_keys())
        except UNREADABLE as error:
            return self._following.refuse(error)
        self._note_use()
        self._keys, self._keys_seen = keys, mark
        return True

    def _note_use(self) -> None:
        """Notes the keys of requests that the desk answered."""
        for caller in tuple(self.passes.values()):
            if caller.used_at_seconds:
                self._key_use.note(caller.key_hash, caller.used_at_seconds)


def write_answer(live: LiveSnapshot, now: float, body: bytes) -> bytes:
    return b"%s%.1f,%s}" % (live.heading, live.age_seconds(now), body)


def too_much_to_say() -> ProblemError:
    return ProblemError(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "answer_too_large",
        f"A batch may ask for {MAX_BATCH:,} visits or imps, and its answer may have "
        f"{MAX_ANSWER_BYTES:,} bytes. Ask for fewer, or with a `limit`.",
    )


def no_snapshot() -> ProblemError:
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "no_snapshot",
        "No snapshot is live yet. Try again in a moment.",
        headers={"Retry-After": "2"},
    )


def no_keys() -> ProblemError:
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "no_keys",
        "The API keys cannot be read. Try again in a moment.",
        headers={"Retry-After": "2"},
    )


@cache
def service_for(directory: Path) -> EligibilityService:
    """Makes the process's one service of a directory, kept up to date in the background."""
    service = EligibilityService(directory)
    service.watch()
    return service

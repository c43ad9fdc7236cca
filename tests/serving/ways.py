"""One body asked both ways: what is said, counted and kept of it must be the same."""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exchange.serving import instruments
from exchange.serving.answer_log import AnswerLog
from exchange.serving.directory import hash_key
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from exchange.serving.http.messages import Answer, Request, write_problem
from exchange.serving.instruments import SECONDS, Sums, Tally
from exchange.serving.kept import Kept
from exchange.serving.problems import ProblemError
from matcher_ext.serving import Counts, Desk
from tests.serving.calling import write
from tests.serving.published import BOTH_KEY, HERALD_KEY

AGE = re.compile(rb'"snapshot_age_seconds":[\d.]+')


@dataclass(frozen=True, slots=True)
class Compared:
    kind: str  # who answered, and with which status
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Left:
    """By a request: its reply, what was counted, and which answers were kept."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    matches: int
    visits: int
    bad: dict[str, int]
    kept: list[tuple[Any, ...]]


class Ways:
    """One state after another, asked either way; every answer is kept."""

    def __init__(self, service: EligibilityService) -> None:
        self.service = service
        service.keep_answers(AnswerLog(Path(tempfile.gettempdir()), every=1, salt=b"x" * 32))
        self.counts = Counts(SECONDS)
        # Another test's service may still flush the process's own tally in its thread.
        self.tally = Tally()
        self.compiled = EligibilityEndpoint(service, 1e12, self.tally)
        self.general = EligibilityEndpoint(service, 1e12, self.tally)
        self.desk = Desk(self.compiled._buckets.by_key, self.counts)
        self.compiled.batch._desk = Desk(self.compiled._buckets.by_key, self.counts)
        for key in (HERALD_KEY, BOTH_KEY):
            service.admit(f"Api-Key {key}")
            self.compiled._buckets.take(hash_key(key))

    def close(self) -> None:
        assert self.service._log is not None
        self.service._log._kept.clear()

    def compare(self, body: bytes, key: str) -> Compared:
        header = f"Api-Key {key}"
        live = self.service.require_live()
        found = self.desk.answer(live.answers, self.service.passes, header, body, 1)
        counted = self._take_counts()
        self.service.keep(live, self.desk.take_kept())
        kept = self._take_kept()
        self._take_sums()
        expected = self._leave(lambda: self.general._answer_any(header, body, time.perf_counter()))
        if found is None:
            difference = "left something" if counted[1] or kept else ""
            return Compared(f"given back {expected.status}", difference)
        left = Left(200, {}, AGE.sub(b"", found), *counted, kept)
        return Compared("compiled", describe(left, expected))

    def compare_batch(self, body: bytes, key: str) -> Compared:
        header = f"Api-Key {key}"
        request = Request(self.compiled.batch)
        request.authorization, request.body = header, body
        caller = self.service.admit(header)
        self._take_sums()
        found = self._leave(lambda: self.compiled.batch.answer(request))
        counted = self._take_counts()
        bad = Counter(found.bad)
        bad.update(counted[2])
        matches, visits = found.matches + counted[0], found.visits + counted[1]
        found = replace(found, matches=matches, visits=visits, bad=dict(bad))
        expected = self._leave(lambda: self.general.batch._answer_any(caller, body))
        return Compared(f"batch {expected.status}", describe(found, expected))

    def _leave(self, ask: Callable[[], Answer]) -> Left:
        try:
            reply = write(ask())
        except ProblemError as problem:
            reply = write_problem(problem)
        sums = self._take_sums()
        visits = sum(sums.match_time.take()[0])
        body, kept = AGE.sub(b"", reply.body), self._take_kept()
        bad = dict(sums.bad)
        return Left(reply.status.value, reply.headers, body, sums.matches, visits, bad, kept)

    def _take_sums(self) -> Sums:
        sums, self.tally._sums = self.tally._sums, Sums()
        return sums

    def _take_counts(self) -> tuple[int, int, dict[str, int]]:
        _, matches, _, match_time, malformed, has_unknown = self.counts.take()
        bad = dict(malformed)
        if has_unknown:
            bad[instruments.NOT_IN_CATALOGUE] = has_unknown
        return matches, sum(match_time[0]), bad

    def _take_kept(self) -> list[tuple[Any, ...]]:
        assert self.service._log is not None
        kept = list(self.service._log._kept)
        self.service._log._kept.clear()
        return sorted(read_kept(each) for each in kept)


def read_kept(kept: Kept) -> tuple[Any, ...]:
    visit = {
        name: value
        for name, value in kept.read_visit().items()
        if name not in ("time", "local_time")
    }
    assert kept.booking_ids is not None
    return repr(sorted(visit.items())), sorted(kept.booking_ids.tolist())


def describe(found: Left, expected: Left) -> str:
    """Describes in which they differ."""
    differences = [
        f"{name}: compiled {getattr(found, name)!r:.600} general {getattr(expected, name)!r:.600}"
        for name in Left.__slots__
        if getattr(found, name) != getattr(expected, name)
    ]
    return "\n".join(differences)

"""Measures a request's cost in process: one thread, no connections, all different requests in turn.

Times are of the processor (`time.process_time`) and include the clock's own, which a line of its
own gives. Every request is timed by itself, in passes over all of them, after one pass that is not
timed: so none is repeated while the caches still hold what it reads. A part is timed by itself on
what the part before it gives; where a line subtracts, it says so.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any

from bench.questions import BATCHES, BID_REQUESTS, VISITS, Kind
from exchange.market.seed import seeded_catalog
from exchange.serving.answer_log import AnswerLog
from exchange.serving.eligibility import EligibilityService
from exchange.serving.endpoint import EligibilityEndpoint
from exchange.serving.http.messages import Request
from exchange.serving.live import STAMPS
from exchange.serving.memory import keep_freed_memory
from exchange.serving.openrtb import read_impressions
from exchange.serving.requests import (
    MAX_BATCH,
    MAX_BODY_BYTES,
    EligibilityRequest,
    decode,
    request_decoder,
)
from exchange.serving.visits import copy_flat, flatten, stamp_milliseconds
from matcher_ext import ATree
from matcher_ext.requests.typed_visits import count_tokens, read_request

PASSES = 2
LEAST_TIMED = 100  # calls, where there are few requests, such as batches
NO_LIMIT = 1e9
KEPT_EVERY = 100  # one answer of so many is kept, as the server does by default
Work = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Times:
    """Times of several calls, in microseconds."""

    mean: float
    p50: float
    p99: float

    @classmethod
    def of(cls, work: Work, arguments: Sequence[Any]) -> Times:
        clock = time.process_time_ns
        for argument in arguments:
            work(argument)
        taken = []
        for _ in range(max(PASSES, LEAST_TIMED // len(arguments))):
            for argument in arguments:
                started = clock()
                work(argument)
                taken.append(clock() - started)
        taken.sort()
        return cls(
            mean(taken) / 1e3, taken[len(taken) // 2] / 1e3, taken[len(taken) * 99 // 100] / 1e3
        )

    def cells(self, divisor: int = 1) -> str:
        return " | ".join(f"{each / divisor:.1f}" for each in (self.mean, self.p50, self.p99))


class Process:
    """A server process without its connections."""

    def __init__(self, root: Path, key: str, answers: Path) -> None:
        self.service = EligibilityService(root)
        self.header = f"Api-Key {key}"
        self.service.admit(self.header)
        self.service.keep_answers(AnswerLog(answers, every=KEPT_EVERY, salt=b"benchmark"))
        self.endpoint = EligibilityEndpoint(self.service, NO_LIMIT)
        self.live = self.service.require_live()
        # As the server does:
        keep_freed_memory()
        gc.collect()
        gc.freeze()

    def answer(self, request: Request) -> bytes:
        found = request.route.answer(request)
        if isinstance(found, bytes):
            return found
        assert isinstance(found, Iterator)
        while True:
            try:
                next(found)
            except StopIteration as end:
                body: bytes = end.value
                return body

    def requests(self, kind: Kind) -> list[Request]:
        route = self.endpoint.batch if kind.name == BATCHES else self.endpoint
        return [self._request(route, body) for body in kind.bodies]

    def _request(self, route: Any, body: bytes) -> Request:
        request = Request(route)
        request.method, request.authorization, request.body = "POST", self.header, body
        return request

    def share_in_one_call(self, kind: Kind) -> float:
        """Gives the share of requests that compiled code answers by itself, once their key has been
        let in; of batches, that of those whose requests it answers all."""
        if kind.name == BATCHES:
            return mean(map(self._is_answered_whole, kind.bodies))
        desk, service = self.endpoint._desk, self.service
        return mean(
            desk.answer(self.live.answers, service.passes, self.header, body) is not None
            for body in kind.bodies
        )

    def _is_answered_whole(self, body: bytes) -> bool:
        batch = self.endpoint.batch._desk.open_batch(
            self.live.answers,
            self.service.admit(self.header),
            body,
            most=MAX_BATCH,
            most_bytes=MAX_BODY_BYTES,
        )
        return batch is not None and batch.go_on(60) is None

    def flatten(self, asked: EligibilityRequest) -> list[dict[str, object]]:
        """Makes the visits of a request ready for the index."""
        assert asked.publisher is not None
        now = int(time.time() * 1000)
        flats = [self._flatten_one(visit) for visit in self._visits_of(asked)]
        for flat in flats:
            stamp_milliseconds(flat, asked.publisher, now)
        return flats

    def _visits_of(self, asked: EligibilityRequest) -> Sequence[dict[str, object]]:
        if asked.visit is not None:
            return [asked.visit]
        imps = read_impressions(asked.bid_request or {}, self.live.opened.sources)
        return [imp.visit for imp in imps]

    def _flatten_one(self, visit: dict[str, object]) -> dict[str, object]:
        names = self.live.attributes
        flat = copy_flat(visit, names)
        return flatten(visit, names) if flat is None else flat


def measure(size: str, root: Path, key: str, kinds: Sequence[Kind]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        process = Process(root, key, Path(folder))
        tell_whole(size, process, kinds)
        for kind in kinds:
            if kind.name in (VISITS, BID_REQUESTS):
                tell_parts(size, process, kind)
        process.service.write_down(at_once=True)


def tell_whole(size: str, process: Process, kinds: Sequence[Kind]) -> None:
    print(f"\nIn process, {size}: from a request's body to the bytes of its answer.")
    print(f"Microseconds of the processor, {PASSES} passes over all, after one that warms up.\n")
    print("| requests | different | mean us | p50 us | p99 us | in one compiled call |")
    print("|---|---|---|---|---|---|")
    for kind in kinds:
        times = Times.of(process.answer, process.requests(kind))
        name = f"{kind.name}, a visit of them" if kind.visits_each > 1 else kind.name
        cells = f"{len(kind.bodies):,} | {times.cells(kind.visits_each)}"
        print(f"| {name} | {cells} | {process.share_in_one_call(kind):.1%} |", flush=True)
    clock = Times.of(id, [None] * 10_000)
    print(f"| nothing: the clock | | {clock.cells()} | |")


def tell_parts(size: str, process: Process, kind: Kind) -> None:
    """Times the steps of the compiled way, as far as each can be taken by itself."""
    live = process.live
    asked = [decode(request_decoder, body) for body in kind.bodies]
    flats = list(chain.from_iterable(map(process.flatten, asked)))
    empty = ATree(seeded_catalog()).freeze()
    each = len(flats) / len(asked)
    whole = Times.of(process.answer, process.requests(kind))
    counted = Times.of(count_tokens, kind.bodies)
    bids, moment = live.opened.bids, int(time.time() * 1000)
    read = Times.of(lambda body: read_request(bids, STAMPS, body, moment, False), kind.bodies)
    read_dict = Times.of(empty.match_ids, flats)
    matched = Times.of(live.index.match_ids, flats)
    eligible = mean(len(live.index.match_ids(flat)) for flat in flats)
    print(f"\nParts of {kind.name}, {size}: {len(flats):,} different visits or imps,")
    print(f"{mean(map(len, flats)):.0f} attributes and {eligible:.0f} eligible bookings each.\n")
    print("| part | mean us | p50 us | p99 us |\n|---|---|---|---|")
    rows = {
        "the whole request, timed again": whole,
        "parse: the body's tape": counted,
        "read: its tape, and its visits from it (memory made anew)": read,
        "of a visit: a ready dict read by an index without entries": read_dict,
        "of a visit: a ready dict read and matched (`match_ids`)": matched,
    }
    for name, times in rows.items():
        print(f"| {name} | {times.cells()} |")
    match = matched.mean - read_dict.mean
    print(f"| by subtracting: match alone, of a visit | {match:.1f} | | |")
    rest = whole.mean - read.mean - each * match
    print(f"| by subtracting: order, write and all the rest | {rest:.1f} | | |", flush=True)

"""Answers `/api/v1/eligibility` and `:batch`, the hot path: from a request to
`EligibilityService`."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from exchange.serving.callers import Caller
from exchange.serving.eligibility import (
    MAX_ANSWER_BYTES,
    STEP_SECONDS,
    Answer,
    EligibilityService,
    Pace,
    too_much_to_say,
)
from exchange.serving.eligibility import Steps as StepsTo
from exchange.serving.http.messages import Request, Steps
from exchange.serving.instruments import BATCH, ELIGIBILITY, TALLY, Tally
from exchange.serving.live import LiveSnapshot
from exchange.serving.rates import Buckets
from exchange.serving.requests import (
    MAX_BATCH,
    MAX_BATCH_BYTES,
    MAX_BODY_BYTES,
    EligibilityRequest,
    batch_decoder,
    count_visits,
    decode,
    request_decoder,
)
from matcher_ext.serving import Batch, Desk

PATH = "/api/v1/eligibility"
BATCH_PATH = "/api/v1/eligibility:batch"
VISITS_PER_SECOND = 50_000


class EligibilityEndpoint:
    """A route; `batch` is the other one, with which it shares what a key may ask for."""

    name = ELIGIBILITY
    methods: tuple[str, ...] = ("POST",)
    most_bytes = MAX_BODY_BYTES

    def __init__(
        self,
        service: EligibilityService,
        visits_per_second: float = VISITS_PER_SECOND,
        tally: Tally = TALLY,
    ) -> None:
        self._service = service
        self._buckets = Buckets(visits_per_second)
        self._tally = tally
        self._desk = Desk(self._buckets.by_key, tally.at_desk)
        self.batch = BatchEndpoint(service, self._buckets, tally)

    def admit(self, request: Request) -> None:
        self._service.admit(request.authorization)

    def answer(self, request: Request) -> bytes | Steps:
        """Asks the desk, which answers in one compiled call whatever is valid and of a caller that
        was here before; all else takes the general way below, which alone refuses."""
        started = time.perf_counter()
        service, header, body = self._service, request.authorization, request.body
        live, desk = service.live, self._desk
        if live is None:
            return self._answer_any(header, body, started)
        found = desk.answer(
            live.answers, service.passes, header, body, service.sample_every, service.log_one_in
        )
        if desk.has_kept:
            service.keep(live, desk.take_kept())
        return self._answer_any(header, body, started) if found is None else found

    def _answer_any(self, header: str, body: bytes, started: float) -> bytes | Steps:
        caller = self._service.admit(header)
        self._buckets.take(caller.key_hash, count_visits(body))
        asked = decode(request_decoder, body)
        publisher = caller.choose_publisher(asked.publisher)
        if asked.visit is None:
            return self._answer_bid_request(publisher, asked, started)
        return self._note(started, self._service.answer(publisher, asked.visit, asked))

    def _answer_bid_request(
        self, publisher: str, asked: EligibilityRequest, started: float
    ) -> Steps:
        answer = yield from self._service.answer_bid_request(publisher, asked)
        return self._note(started, answer)

    def _note(self, started: float, answer: Answer) -> bytes:
        self._tally.add(self.name, time.perf_counter() - started, answer.parts)
        return answer.body


class BatchEndpoint:
    """A route that answers in steps, so that others are answered meanwhile."""

    name = BATCH
    methods: tuple[str, ...] = ("POST",)
    most_bytes = MAX_BATCH_BYTES

    def __init__(self, service: EligibilityService, buckets: Buckets, tally: Tally) -> None:
        self._service = service
        self._buckets = buckets
        self._tally = tally
        self._desk = Desk(buckets.by_key, tally.of_batches)

    def admit(self, request: Request) -> None:
        self._service.admit(request.authorization)

    def answer(self, request: Request) -> Steps:
        """Asks the desk, request by request; those that it gives back take the general way."""
        caller = self._service.admit(request.authorization)
        live = self._service.require_live()
        batch = self._desk.open_batch(
            live.answers,
            caller,
            request.body,
            self._service.sample_every,
            self._service.log_one_in,
            most=MAX_BATCH,
            most_bytes=MAX_BODY_BYTES,
            seconds=STEP_SECONDS,
        )
        while batch is not None and not batch.is_read:
            yield
            if not batch.read_on(STEP_SECONDS):
                batch = None
        if batch is None:
            return (yield from self._answer_any(caller, request.body))
        self._buckets.take(caller.key_hash, batch.asked_visits)
        yield from self._answer_all(live, caller, batch)
        text = self._desk.close_batch(batch, caller)
        if self._desk.has_kept:
            self._service.keep(live, self._desk.take_kept())
        return text

    def _answer_all(self, live: LiveSnapshot, caller: Caller, batch: Batch) -> Steps:
        now, pace = time.time(), Pace()
        while batch.left:
            given_back = batch.go_on(STEP_SECONDS, MAX_BATCH, MAX_ANSWER_BYTES)
            if batch.left and (batch.visits > MAX_BATCH or batch.size > MAX_ANSWER_BYTES):
                raise too_much_to_say()
            if given_back is not None:
                text, parts = yield from self._service.answer_one_of_many(
                    live, caller, given_back, now, pace
                )
                self._tally.add_parts(parts)
                batch.add(text, len(parts))
            elif batch.left:
                yield
        return b""

    def _answer_any(self, caller: Caller, body: bytes) -> Steps:
        started = time.perf_counter()
        requests = decode(batch_decoder, body).requests
        visits = yield from count_all(requests)
        self._buckets.take(caller.key_hash, visits)
        answer = yield from self._service.answer_batch(caller, requests)
        self._tally.add(self.name, time.perf_counter() - started, answer.parts)
        return answer.body


def count_all(requests: Sequence[msgspec.Raw]) -> StepsTo[int]:
    pace = Pace()
    visits = 0
    for raw in requests:
        if pace.is_over():
            yield
        visits += count_visits(raw)
    return visits

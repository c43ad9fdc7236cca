"""`/api/v1/eligibility` and `:batch`: the hot path, from a request to `EligibilityService`."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from exchange.serving.eligibility import Answer, EligibilityService, Pace
from exchange.serving.eligibility import Steps as StepsTo
from exchange.serving.http.messages import Request, Steps
from exchange.serving.instruments import ELIGIBILITY, TALLY
from exchange.serving.rates import Buckets
from exchange.serving.requests import (
    MAX_BATCH_BYTES,
    MAX_BODY_BYTES,
    EligibilityRequest,
    batch_decoder,
    count_visits,
    decode,
    request_decoder,
)
from matcher_ext.desk import Desk, Unfinished

PATH = "/api/v1/eligibility"
BATCH_PATH = "/api/v1/eligibility:batch"
VISITS_PER_SECOND = 50_000


class EligibilityEndpoint:
    """A route; `batch` is the other one, with which it shares what a key may ask for."""

    name = ELIGIBILITY
    methods: tuple[str, ...] = ("POST",)
    most_bytes = MAX_BODY_BYTES

    def __init__(
        self, service: EligibilityService, visits_per_second: float = VISITS_PER_SECOND
    ) -> None:
        self._service = service
        self._buckets = Buckets(visits_per_second)
        self._desk = Desk(self._buckets.by_key, TALLY.at_desk)
        self.batch = BatchEndpoint(service, self._buckets)

    def admit(self, request: Request) -> None:
        self._service.admit(request.authorization)

    def answer(self, request: Request) -> bytes | Steps:
        """Plain requests of callers that were here before are answered by the desk, in one
        compiled call; all others take the way below."""
        started = time.perf_counter()
        service, header, body = self._service, request.authorization, request.body
        live = service.live
        found = live and self._desk.answer(
            live.plain, service.passes, header, body, service.sample_every
        )
        if type(found) is bytes:
            return found
        if live is None or not isinstance(found, Unfinished):
            return self._answer_any(header, body, started)
        return self._note(started, service.finish(live, found, body))

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
        TALLY.add(self.name, time.perf_counter() - started, answer.parts)
        return answer.body


class BatchEndpoint:
    """A route that answers in steps, so that others are answered meanwhile."""

    name = "batch"
    methods: tuple[str, ...] = ("POST",)
    most_bytes = MAX_BATCH_BYTES

    def __init__(self, service: EligibilityService, buckets: Buckets) -> None:
        self._service = service
        self._buckets = buckets

    def admit(self, request: Request) -> None:
        self._service.admit(request.authorization)

    def answer(self, request: Request) -> Steps:
        started = time.perf_counter()
        caller = self._service.admit(request.authorization)
        requests = decode(batch_decoder, request.body).requests
        visits = yield from count_all(requests)
        self._buckets.take(caller.key_hash, visits)
        answer = yield from self._service.answer_batch(caller, requests)
        TALLY.add(self.name, time.perf_counter() - started, answer.parts)
        return answer.body


def count_all(requests: Sequence[msgspec.Raw]) -> StepsTo[int]:
    pace = Pace()
    visits = 0
    for raw in requests:
        if pace.is_over():
            yield
        visits += count_visits(raw)
    return visits

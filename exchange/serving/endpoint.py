"""`/api/v1/eligibility` and `:batch` as a bare WSGI application: the hot path, before Django.

Reads the request, asks `EligibilityService`, and turns every refusal into a problem document.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from exchange.serving import problems
from exchange.serving.eligibility import Answer, EligibilityService
from exchange.serving.instruments import ELIGIBILITY, REQUESTS, TALLY
from exchange.serving.problems import ProblemError
from exchange.serving.rates import Buckets
from exchange.serving.requests import (
    MAX_BATCH_BYTES,
    MAX_BODY_BYTES,
    batch_decoder,
    decode,
    read_body,
    request_decoder,
)
from matcher_ext.desk import Desk, Unfinished

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PATH = "/api/v1/eligibility"
BATCH_PATH = "/api/v1/eligibility:batch"
VISITS_PER_SECOND = 50_000
JSON = ("Content-Type", "application/json")
NOT_STORED = ("Cache-Control", "no-store")


class EligibilityEndpoint:
    """WSGI callables, shared by all threads of a worker."""

    def __init__(
        self, service: EligibilityService, visits_per_second: float = VISITS_PER_SECOND
    ) -> None:
        self._service = service
        self._buckets = Buckets(visits_per_second)
        self._desk = Desk(self._buckets.by_key, TALLY.at_desk)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Plain requests of callers that were here before are answered by the desk, in one
        compiled call; all others take the way below."""
        started = time.perf_counter()
        service = self._service
        header = environ.get("HTTP_AUTHORIZATION", "")
        try:
            # Read before any refusal: bytes left unread would end the caller's kept-alive
            # connection.
            body = read_post(environ, MAX_BODY_BYTES)
            live = service.live
            found = live and self._desk.answer(
                live.plain, service.passes, header, body, service.sample_every
            )
            if type(found) is bytes:
                return reply(found, start_response)
            if live is not None and isinstance(found, Unfinished):
                answer = service.finish(live, found, body)
            else:
                answer = self._answer_any(header, body)
        except ProblemError as problem:
            return refuse(ELIGIBILITY, problem, start_response)
        TALLY.add(ELIGIBILITY, time.perf_counter() - started, answer.parts)
        return reply(answer.body, start_response)

    def _answer_any(self, header: str, body: bytes) -> Answer:
        caller = self._service.admit(header)
        self._buckets.take(caller.key_hash)
        return self._service.answer_request(caller, decode(request_decoder, body))

    def batch(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started = time.perf_counter()
        try:
            body = read_post(environ, MAX_BATCH_BYTES)
            caller = self._service.admit(environ.get("HTTP_AUTHORIZATION", ""))
            requests = decode(batch_decoder, body).requests
            self._buckets.take(caller.key_hash, len(requests))
            answer = self._service.answer_batch(caller, requests)
        except ProblemError as problem:
            return refuse("batch", problem, start_response)
        TALLY.add("batch", time.perf_counter() - started, answer.parts)
        return reply(answer.body, start_response)


def read_post(environ: WSGIEnvironment, most_bytes: int) -> bytes:
    require_method(environ, "POST")
    return read_body(environ, most_bytes)


def require_method(environ: WSGIEnvironment, method: str) -> None:
    if environ["REQUEST_METHOD"] != method:
        raise ProblemError(
            HTTPStatus.METHOD_NOT_ALLOWED,
            "method_not_allowed",
            f"Ask with {method}.",
            headers={"Allow": method},
        )


def reply(body: bytes, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [JSON, ("Content-Length", str(len(body))), NOT_STORED])
    return [body]


def refuse(endpoint: str, problem: ProblemError, start_response: StartResponse) -> Iterable[bytes]:
    body = problem.body()
    REQUESTS.labels(endpoint, str(problem.status.value)).inc()
    start_response(
        f"{problem.status.value} {problem.status.phrase}",
        [
            ("Content-Type", problems.CONTENT_TYPE),
            ("Content-Length", str(len(body))),
            *problem.headers.items(),
        ],
    )
    return [body]

"""`/api/v1/eligibility` and `:batch` as a bare WSGI application: the hot path, before Django.

Reads the request, asks `EligibilityService`, and turns every refusal into a problem document.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from exchange.serving import problems
from exchange.serving.callers import Caller, read_key
from exchange.serving.eligibility import Answer, EligibilityService
from exchange.serving.instruments import REQUESTS, TALLY
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

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PATH = "/api/v1/eligibility"
BATCH_PATH = "/api/v1/eligibility:batch"
VISITS_PER_SECOND = 50_000


class EligibilityEndpoint:
    """WSGI callables, shared by all threads of a worker."""

    def __init__(
        self, service: EligibilityService, visits_per_second: float = VISITS_PER_SECOND
    ) -> None:
        self._service = service
        self._buckets = Buckets(visits_per_second)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self._reply("eligibility", self._answer_one, environ, start_response)

    def batch(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self._reply("batch", self._answer_many, environ, start_response)

    def _reply(
        self,
        name: str,
        answer_to: Callable[[WSGIEnvironment], Answer],
        environ: WSGIEnvironment,
        start_response: StartResponse,
    ) -> Iterable[bytes]:
        started = time.perf_counter()
        try:
            answer = answer_to(environ)
        except ProblemError as problem:
            return refuse(name, problem, start_response)
        body = answer.body
        start_response(
            "200 OK",
            [
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(body))),
                ("Cache-Control", "no-store"),
            ],
        )
        TALLY.add(name, time.perf_counter() - started, answer.parts)
        return [body]

    def _answer_one(self, environ: WSGIEnvironment) -> Answer:
        require_method(environ, "POST")
        # Read before any refusal: bytes left unread would end the caller's kept-alive connection.
        body = read_body(environ, MAX_BODY_BYTES)
        caller = self._admit(environ)
        self._buckets.take(caller.key_hash)
        return self._service.answer_request(caller, decode(request_decoder, body))

    def _answer_many(self, environ: WSGIEnvironment) -> Answer:
        require_method(environ, "POST")
        body = read_body(environ, MAX_BATCH_BYTES)
        caller = self._admit(environ)
        requests = decode(batch_decoder, body).requests
        self._buckets.take(caller.key_hash, len(requests))
        return self._service.answer_batch(caller, requests)

    def _admit(self, environ: WSGIEnvironment) -> Caller:
        return self._service.admit(read_key(environ.get("HTTP_AUTHORIZATION", "")))


def require_method(environ: WSGIEnvironment, method: str) -> None:
    if environ["REQUEST_METHOD"] != method:
        raise ProblemError(
            HTTPStatus.METHOD_NOT_ALLOWED,
            "method_not_allowed",
            f"Ask with {method}.",
            headers={"Allow": method},
        )


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

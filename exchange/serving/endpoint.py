"""`POST /api/v1/eligibility` as a bare WSGI application: the hot path, answered before Django.

Reads the request, asks `EligibilityService`, and turns every refusal into a problem document.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from exchange.serving import problems
from exchange.serving.answers import Options
from exchange.serving.eligibility import Answer, EligibilityService, unauthorized
from exchange.serving.instruments import REQUESTS, TALLY, Note
from exchange.serving.problems import ProblemError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PATH = "/api/v1/eligibility"
MAX_BODY_BYTES = 256 * 1024
KEY_SCHEME = "Api-Key "


class EligibilityRequest(Options, frozen=True, kw_only=True, forbid_unknown_fields=True):
    visit: dict[str, object]
    publisher: str | None = None


decoder = msgspec.json.Decoder(EligibilityRequest)


class EligibilityEndpoint:
    """A WSGI callable, shared by all threads of a worker."""

    def __init__(self, service: EligibilityService) -> None:
        self._service = service

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started = time.perf_counter()
        try:
            answer = self._answer(environ)
        except ProblemError as problem:
            return refuse(problem, start_response)
        start_response(
            "200 OK",
            [
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(answer.body))),
                ("Cache-Control", "no-store"),
            ],
        )
        TALLY.add(Note(time.perf_counter() - started, answer.match_seconds, answer.count))
        return [answer.body]

    def _answer(self, environ: WSGIEnvironment) -> Answer:
        if environ["REQUEST_METHOD"] != "POST":
            raise ProblemError(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "Ask with POST.",
                headers={"Allow": "POST"},
            )
        # Read before any refusal: bytes left unread would end the caller's kept-alive connection.
        body = read_body(environ)
        publishers = self._service.publishers_of(read_key(environ))
        request = decode(body)
        publisher = choose_publisher(request.publisher, publishers)
        return self._service.answer(publisher, request.visit, request)


def read_key(environ: WSGIEnvironment) -> str:
    header: str = environ.get("HTTP_AUTHORIZATION", "")
    if not header.startswith(KEY_SCHEME):
        raise unauthorized("Send the header `Authorization: Api-Key <your key>`.")
    return header[len(KEY_SCHEME) :].strip()


def read_body(environ: WSGIEnvironment) -> bytes:
    """Never more than the limit, whatever length the caller claims or leaves out."""
    claimed = environ.get("CONTENT_LENGTH") or ""
    if claimed.isdecimal() and int(claimed) > MAX_BODY_BYTES:
        raise too_large()
    body: bytes = environ["wsgi.input"].read(MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise too_large()
    return body


def decode(body: bytes) -> EligibilityRequest:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_request", str(error)) from None
    except RecursionError:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, "invalid_request", "The body is nested too deeply."
        ) from None


def choose_publisher(named: str | None, allowed: tuple[str, ...]) -> str:
    """The key decides; the request only chooses among what the key allows."""
    if named is None:
        if len(allowed) == 1:
            return allowed[0]
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            "publisher_needed",
            "Your key covers several publishers: name one in `publisher`.",
        )
    if named not in allowed:
        raise ProblemError(
            HTTPStatus.FORBIDDEN, "publisher_not_allowed", "Your key does not cover this publisher."
        )
    return named


def too_large() -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "body_too_large",
        f"A request may have {MAX_BODY_BYTES} bytes, not more.",
    )


def refuse(problem: ProblemError, start_response: StartResponse) -> Iterable[bytes]:
    body = problem.body()
    REQUESTS.labels(str(problem.status.value)).inc()
    start_response(
        f"{problem.status.value} {problem.status.phrase}",
        [
            ("Content-Type", problems.CONTENT_TYPE),
            ("Content-Length", str(len(body))),
            *problem.headers.items(),
        ],
    )
    return [body]

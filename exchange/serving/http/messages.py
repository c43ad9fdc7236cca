"""Defines what a connection and an endpoint tell each other: requests, replies, routes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

from exchange.serving import problems
from exchange.serving.problems import ProblemError

JSON = "application/json"
HEAD = b"HTTP/1.1 %d %b\r\nDate: %b\r\n"


class Request:
    """One request. Its body is whole when `Route.answer` sees it, empty when `Route.admit` does."""

    __slots__ = (
        "address",
        "authorization",
        "body",
        "is_forwarded",
        "keeps_alive",
        "method",
        "path",
        "problem",
        "query",
        "route",
        "speaks_1_0",
    )

    def __init__(self, route: Route, address: str = "") -> None:
        self.route = route
        self.address = address
        self.method = "GET"
        self.path = ""
        self.query = ""
        self.authorization = ""
        self.body = b""
        self.is_forwarded = False  # by a proxy, which hides the caller's address
        self.keeps_alive = True
        self.speaks_1_0 = False
        self.problem: ProblemError | None = None

    def with_body(self, body: bytes) -> Request:
        """Copies the request as it was read, with another body."""
        made = Request.__new__(Request)
        made.route = self.route
        made.address = self.address
        made.method = self.method
        made.path = self.path
        made.query = self.query
        made.authorization = self.authorization
        made.body = body
        made.is_forwarded = self.is_forwarded
        made.keeps_alive = True
        made.speaks_1_0 = self.speaks_1_0
        made.problem = None
        return made


@dataclass(frozen=True, slots=True)
class Reply:
    body: bytes
    kind: str = JSON
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Download:
    """A reply that is sent piece by piece, as fast as its reader takes it; pieces are made in a
    thread. Without a length it is sent in chunks."""

    kind: str
    length: int | None
    pieces: Iterator[bytes]


Steps = Generator[None, None, bytes]
# Bare bytes are a JSON document with status 200; steps end with one, and others are answered
# between two of them.
Answer = bytes | Reply | Download | Steps


class Route(Protocol):
    """An address. `admit` decides before the body is read, `answer` once it is there; both refuse
    by raising `ProblemError`. Called by the loop's only thread: neither may wait."""

    name: str
    methods: tuple[str, ...]
    most_bytes: int

    def admit(self, request: Request) -> None: ...

    def answer(self, request: Request) -> Answer: ...


def write_problem(problem: ProblemError) -> Reply:
    return Reply(problem.body(), problems.CONTENT_TYPE, problem.status, problem.headers)


def write_head(
    date: bytes, status: HTTPStatus, fields: Mapping[str, str], *, keeps_alive: bool
) -> bytes:
    """Writes a head, with `keep-alive` for callers of HTTP/1.0, who take silence for a no."""
    lines = [HEAD % (status.value, status.phrase.encode(), date)]
    lines += [f"{name}: {value}\r\n".encode("latin-1") for name, value in fields.items()]
    lines.append(b"Connection: keep-alive\r\n\r\n" if keeps_alive else b"Connection: close\r\n\r\n")
    return b"".join(lines)


def malformed(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.BAD_REQUEST, "malformed_request", detail)


def head_too_large(most: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        "head_too_large",
        f"Address and headers may have {most} bytes, not more.",
    )


def too_late() -> ProblemError:
    return ProblemError(
        HTTPStatus.REQUEST_TIMEOUT, "request_timeout", "The request did not come in time."
    )


def own_fault() -> ProblemError:
    return ProblemError(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal_error",
        "The request could not be answered. The fault is ours.",
    )

"""Calls the routes of serving in process, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from exchange.serving.endpoint import PATH
from exchange.serving.http.messages import (
    Answer,
    Download,
    Request,
    Route,
    write_problem,
)
from exchange.serving.http.messages import (
    Reply as Written,
)
from exchange.serving.problems import ProblemError, method_not_allowed, too_large
from tests.serving.asking import Reply
from tests.serving.published import HERALD_KEY

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def call(
    route: Route,
    body: bytes,
    *,
    method: str = "POST",
    path: str = PATH,
    query: str = "",
    key: str | None = HERALD_KEY,
) -> Reply:
    request = Request(route)
    request.method, request.path, request.query, request.body = method, path, query, body
    if key is not None:
        request.authorization = f"Api-Key {key}"
    try:
        if method not in route.methods:
            raise method_not_allowed(route.methods)
        if len(body) > route.most_bytes:
            raise too_large(route.most_bytes)
        written = write(route.answer(request))
    except ProblemError as problem:
        written = write_problem(problem)
    headers = {"Content-Type": written.kind, **written.headers}
    names = {name.lower(): value for name, value in headers.items()}
    return Reply(written.status.value, names, written.body)


def write(answer: Answer) -> Written:
    """Writes an answer as a connection would, whole."""
    if isinstance(answer, bytes):
        return Written(answer)
    if isinstance(answer, Written):
        return answer
    if isinstance(answer, Download):
        return Written(b"".join(answer.pieces), answer.kind, HTTPStatus.OK)
    try:
        while True:
            next(answer)
    except StopIteration as done:
        return Written(done.value)


def post(route: Route, document: object, **options: Any) -> Reply:
    return call(route, json.dumps(document).encode(), **options)


def as_wsgi(route: Route) -> WSGIApplication:
    """Wraps a route for tools that can call nothing else."""

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        key = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Api-Key ")
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        reply = call(route, body, method=method, path=path, key=key)
        status = HTTPStatus(reply.status)
        start_response(f"{status.value} {status.phrase}", list(reply.headers.items()))
        return [reply.body]

    return application

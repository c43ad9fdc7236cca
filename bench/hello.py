"""The least that a WSGI application can do with a request: what eligibility is measured beside.

It reads the body, as every endpoint that is asked by POST must: under granian that alone is a
round trip between two threads. `long_application` answers as many bytes as eligibility does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

LONG = b"hello" * 700


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    return answer(b"hello", environ, start_response)


def long_application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    return answer(LONG, environ, start_response)


def answer(body: bytes, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    environ["wsgi.input"].read()
    headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]

"""Answers with the least that a server can do: what eligibility is measured beside.

Every hello reads the body, as an endpoint that is asked by POST must, and answers as many bytes as
its address says: `/3500`. `python -m bench.hello PORT` is the one on our own connections; the
others run under servers of other makers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from exchange.serving.http.crowd import Limits
from exchange.serving.http.messages import Request, Route
from exchange.serving.requests import MAX_BATCH_BYTES
from exchange.serving.server import listen, run

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


@cache
def write_answer(path: str) -> tuple[bytes, list[tuple[str, str]]]:
    """Writes the answer of that length, and its headers."""
    length = int(path.strip("/") or 5) if path.strip("/").isdecimal() else 5
    answer = (b"hello" * (length // 5 + 1))[:length]
    return answer, [("Content-Type", "text/plain"), ("Content-Length", str(length))]


def wsgi(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    environ["wsgi.input"].read()
    answer, headers = write_answer(environ["PATH_INFO"])
    start_response("200 OK", headers)
    return [answer]


async def asgi(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    while (await receive()).get("more_body"):
        pass
    answer, headers = write_answer(scope["path"])
    head = [(name.lower().encode(), value.encode()) for name, value in headers]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": answer})


class Hello:
    """Says hello to everybody, at every address."""

    name = "hello"
    methods: tuple[str, ...] = ("GET", "POST")
    most_bytes = MAX_BATCH_BYTES

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def admit(self, request: Request) -> None:
        """Lets everybody in."""

    def answer(self, _request: Request) -> bytes:
        return self._answer


class Hellos:
    """Finds the hello of an address as quickly as endpoints are found."""

    def __init__(self) -> None:
        self.nowhere: Route = Hello(b"hello")
        self._known: dict[bytes, Route] = {}

    def find(self, target: bytes, _request: Request) -> Route:
        if target not in self._known:
            self._known[target] = Hello(write_answer(target.decode())[0])
        return self._known[target]


if __name__ == "__main__":
    lifeline, _ = os.pipe()
    run(Hellos(), listen("127.0.0.1", int(sys.argv[1])), lifeline, Limits())

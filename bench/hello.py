"""The least that a server can do with a request: what eligibility is measured beside.

Every hello reads the body, as an endpoint that is asked by POST must, and answers as many bytes as
eligibility does on the average. `python -m bench.hello PORT` is the one on our own connections; the
others run under servers of other makers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from exchange.serving.http.crowd import Limits
from exchange.serving.http.messages import Request, Route
from exchange.serving.server import listen, run

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ANSWER = b"hello" * 700
HEADERS = {"Content-Type": "text/plain", "Content-Length": str(len(ANSWER))}


def wsgi(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    environ["wsgi.input"].read()
    start_response("200 OK", list(HEADERS.items()))
    return [ANSWER]


async def asgi(
    _scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    while (await receive()).get("more_body"):
        pass
    headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})


class Hello:
    """Everything, everywhere, to everybody."""

    name = "hello"
    methods: tuple[str, ...] = ("GET", "POST")
    most_bytes = 1_000_000

    def __init__(self) -> None:
        self.nowhere: Route = self

    def find(self, _target: bytes, _request: Request) -> Route:
        return self

    def admit(self, request: Request) -> None:
        """Everybody may."""

    def answer(self, _request: Request) -> bytes:
        return ANSWER


if __name__ == "__main__":
    lifeline, _ = os.pipe()
    run(Hello(), listen("127.0.0.1", int(sys.argv[1])), lifeline, Limits())

"""Stands between a follower and its platform and spoils what passes, as told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.listening import listening
from tests.waiting import PATIENCE_SECONDS

Damage = Callable[[str, bytes], bytes]


def nothing(_path: str, body: bytes) -> bytes:
    return body


class DamagingProxy:
    """`damage` may be replaced at any time; `asked` are the paths that came by. What it makes
    shorter breaks off: the length stays the true one."""

    def __init__(self, port: int) -> None:
        self.target_port = port
        self.damage: Damage = nothing
        self.asked: list[str] = []
        self.redirect_to = ""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.pass_on(self)

            def log_message(self, *_arguments: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        if self.redirect_to:
            handler.send_response(302)
            handler.send_header("Location", self.redirect_to + handler.path)
            handler.end_headers()
            return
        headers = {"Authorization": handler.headers.get("Authorization", "")}
        connection = HTTPConnection("127.0.0.1", self.target_port, timeout=PATIENCE_SECONDS)
        connection.request("GET", handler.path, headers=headers)
        response = connection.getresponse()
        body = response.read()
        handler.send_response(response.status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(self.damage(handler.path, body))
        handler.close_connection = True
        connection.close()

    @contextmanager
    def standing(self) -> Iterator[DamagingProxy]:
        with listening(self.server):
            yield self

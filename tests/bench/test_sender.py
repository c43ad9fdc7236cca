"""The load generator of machines without `wrk`, against a small real server."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bench.sender import send
from tests.listening import listening


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_known = self.headers["Authorization"] == "Api-Key tl_known"
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keeps quiet."""


class Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Passes over that the sender hangs up when its time is over."""


@pytest.fixture
def port() -> Iterator[int]:
    server = Server(("127.0.0.1", 0), Echo)
    with listening(server):
        yield server.server_address[1]


@pytest.fixture
def bodies(tmp_path: Path) -> Path:
    (tmp_path / "bodies").write_text('{"visit":{}}\n{"visit":{"geo.country":"USA"}}\n')
    return tmp_path / "bodies"


def test_keeps_all_connections_busy_and_times_the_answers(port: int, bodies: Path) -> None:
    for seconds in (0.3, 3, 30):  # a machine that does other things may take longer
        load = send(port, "/ask", "tl_known", bodies, connections=3, seconds=seconds)
        if load.requests > 10:
            break
    assert load.requests > 10
    assert 0 < load.p50_ms <= load.p99_ms
    assert load.rate > 0


def test_a_refused_request_ends_the_measurement(port: int, bodies: Path) -> None:
    with pytest.raises(SystemExit, match="401"):
        send(port, "/ask", "tl_unknown", bodies, connections=1, seconds=60)

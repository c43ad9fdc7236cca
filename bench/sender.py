"""Makes load on machines without `wrk`: keeps every connection busy, one request each."""

from __future__ import annotations

import selectors
import socket
import time
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Load:
    requests: int
    rate: float
    p50_ms: float
    p99_ms: float


@dataclass(slots=True)
class Connection:
    socket: socket.socket
    sent_at: float = 0.0
    answer: bytes = b""

    def is_answered(self) -> bool:
        """Tells whether the whole answer is here; ends the program if it is not a 200."""
        head, separator, body = self.answer.partition(b"\r\n\r\n")
        if not separator:
            return False
        if b" 200 " not in head[:20]:
            raise SystemExit(f"a request failed: {self.answer[:300]!r}")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        return len(body) >= int(length)


def send(port: int, path: str, key: str, bodies: Path, connections: int, seconds: float) -> Load:
    requests = cycle(format_request(path, key, line) for line in bodies.read_bytes().splitlines())
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        connection = Connection(socket.create_connection(("127.0.0.1", port)))
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        ask(connection, next(requests))
    taken: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        for ready, _ in selector.select(1):
            connection = ready.data
            connection.answer += connection.socket.recv(65_536)
            if connection.is_answered():
                taken.append(time.perf_counter() - connection.sent_at)
                ask(connection, next(requests))
    for ready in list(selector.get_map().values()):
        ready.data.socket.close()
    return describe(taken, time.perf_counter() - started)


def format_request(path: str, key: str, body: bytes) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Api-Key {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ask(connection: Connection, request: bytes) -> None:
    connection.answer = b""
    connection.sent_at = time.perf_counter()
    connection.socket.sendall(request)


def describe(taken: list[float], seconds: float) -> Load:
    ordered = sorted(taken) or [0.0]
    p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    return Load(len(taken), len(taken) / seconds, p50 * 1000, p99 * 1000)

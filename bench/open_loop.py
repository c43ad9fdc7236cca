"""Sends requests at fixed moments, whether or not earlier ones were answered, as ad servers do.

A client that waits for its answers asks less when a server is slow, and so hides the slowness. Here
the time of a request runs from the moment at which it was due. The program `python -m
bench.open_loop PORT KEY BODIES RATE SECONDS` prints one JSON line.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path

import uvloop

from bench.sender import format_request

PATH = "/api/v1/eligibility"
CONNECTIONS = 32
ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the requests. `failed` were refused, broken off, or not answered in time."""

    answered: int
    failed: int
    p50_ms: float
    p99_ms: float
    slowest_ms: float


class Caller(asyncio.Protocol):
    """One connection that is kept, with one request at a time."""

    def __init__(self, senders: Senders) -> None:
        self._senders = senders
        self._answer = b""
        self._missing = -1  # bytes of the body still to come; -1 while the head is not whole
        self.due_at = 0.0
        self.is_busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def ask(self, request: bytes, due_at: float) -> None:
        self.due_at, self.is_busy = due_at, True
        self._answer, self._missing = b"", -1
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._missing < 0:
            self._answer += data
            head, end, body = self._answer.partition(b"\r\n\r\n")
            if not end:
                return
            length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            self._missing = int(length) - len(body)
        else:
            self._missing -= len(data)
        if self._missing <= 0:
            self.is_busy = False
            self._senders.note(self, is_ok=b" 200 " in self._answer[:20])

    def connection_lost(self, _error: Exception | None) -> None:
        self._senders.lose(self)


class Senders:
    """All connections, and the requests that wait for a free one."""

    def __init__(self, port: int, requests: list[bytes]) -> None:
        self._port = port
        self._requests = cycle(requests)
        self._free: list[Caller] = []
        self._due: deque[float] = deque()
        self.taken: list[float] = []
        self.failed = 0

    async def connect(self) -> None:
        """Connects as soon as somebody listens."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                _, caller = await loop.create_connection(
                    lambda: Caller(self), "127.0.0.1", self._port
                )
                break
            except OSError:
                await asyncio.sleep(0.005)
        self._free.append(caller)
        self._send_due()

    async def send(self, rate: float, seconds: float) -> None:
        await asyncio.gather(*(self.connect() for _ in range(CONNECTIONS)))
        started = time.perf_counter()
        sent = 0
        while (now := time.perf_counter() - started) < seconds:
            while sent < now * rate:
                self._due.append(started + sent / rate)
                sent += 1
            self._send_due()
            await asyncio.sleep(0.0005)
        give_up = time.perf_counter() + ANSWER_SECONDS
        while len(self.taken) + self.failed < sent and time.perf_counter() < give_up:
            await asyncio.sleep(0.01)
        self.failed += sent - len(self.taken) - self.failed

    def _send_due(self) -> None:
        while self._due and self._free:
            self._free.pop().ask(next(self._requests), self._due.popleft())

    def note(self, caller: Caller, *, is_ok: bool) -> None:
        if is_ok:
            self.taken.append(time.perf_counter() - caller.due_at)
        else:
            self.failed += 1
        self._free.append(caller)
        self._send_due()

    def lose(self, caller: Caller) -> None:
        """Replaces a lost connection; a request that was under way on it has failed."""
        if caller in self._free:
            self._free.remove(caller)
        self.failed += caller.is_busy
        asyncio.get_running_loop().create_task(self.connect())


def measure(port: int, key: str, bodies: Path, rate: float, seconds: float) -> Outcome:
    requests = [format_request(PATH, key, line) for line in bodies.read_bytes().splitlines()]

    async def run() -> Senders:
        senders = Senders(port, requests)
        await senders.send(rate, seconds)
        return senders

    senders = uvloop.run(run())
    taken = sorted(senders.taken) or [float("nan")]
    return Outcome(
        answered=len(senders.taken),
        failed=senders.failed,
        p50_ms=taken[len(taken) // 2] * 1000,
        p99_ms=taken[len(taken) * 99 // 100] * 1000,
        slowest_ms=taken[-1] * 1000,
    )


if __name__ == "__main__":
    port, key, bodies, rate, seconds = sys.argv[1:]
    print(json.dumps(asdict(measure(int(port), key, Path(bodies), float(rate), float(seconds)))))

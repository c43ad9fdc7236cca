"""Watches all connections of a process: who is late, who is idle, who gives way when it is full.

Only connections that keep the process waiting are looked at closely: in the middle of a request, or
of an answer that nobody takes. Most requests come in one piece and are answered before the loop
turns again; they are never among these.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from dataclasses import dataclass
from email.utils import formatdate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exchange.serving.http.connection import HttpConnection

logger = logging.getLogger(__name__)

RESERVED_DESCRIPTORS = 64
TICK_SECONDS = 0.25
TICKS_PER_LOOK = 8  # at who is idle: all connections are looked at


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a client may take, and how many may do so at the same time."""

    head_seconds: float = 5.0
    body_seconds: float = 10.0
    reading_seconds: float = 20.0  # for an answer, from the moment that our buffer is full
    parting_seconds: float = 2.0
    idle_seconds: float = 75.0
    head_bytes: int = 16 * 1024
    most_late: int = 2_000
    most_late_per_address: int = 500
    most_connections: int = 10_000
    most_connections_per_address: int = 5_000
    most_held_bytes: int = 512 * 1024 * 1024  # of bodies that have not come to their end

    @classmethod
    def within(cls, descriptors: int) -> Limits:
        """Derives limits from the number of files that may be open, some of which are not
        connections."""
        most = min(cls().most_connections, max(descriptors - RESERVED_DESCRIPTORS, 16))
        return cls(most_connections=most, most_connections_per_address=max(most // 2, 8))


class Line:
    """Connections in the order in which they joined, each with a deadline."""

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._deadlines: dict[HttpConnection, float] = {}
        self._by_address: dict[str, dict[HttpConnection, None]] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def join(self, connection: HttpConnection, deadline: float) -> HttpConnection | None:
        """Puts a connection in line, where one that is in keeps its place; returns the one that has
        to leave if the line is too long now."""
        self._deadlines[connection] = deadline
        neighbours = self._by_address.setdefault(connection.address, {})
        neighbours[connection] = None
        if len(neighbours) > self._most_per_address:
            return next(iter(neighbours))
        if len(self._deadlines) > self._most:
            return next(iter(self._deadlines))
        return None

    def leave(self, connection: HttpConnection) -> None:
        if self._deadlines.pop(connection, None) is None:
            return
        neighbours = self._by_address[connection.address]
        del neighbours[connection]
        if not neighbours:
            del self._by_address[connection.address]

    def members(self) -> list[HttpConnection]:
        return list(self._deadlines)

    def overdue(self, now: float) -> list[HttpConnection]:
        return [each for each, deadline in self._deadlines.items() if deadline <= now]


class Crowd:
    """All connections. Belongs to the loop's thread. A connection is late while it keeps us
    waiting; when too many are, the one that began first has to go: whoever just began is rather in
    time."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.is_ending = False
        # Held for a step of a long answer: one such step is taken per turn of the loop.
        self.step = asyncio.Lock()
        self.date = b""
        self.now = 0.0
        self._going_on: list[HttpConnection] = []
        # All connections, those silent for the longest time first.
        self._present = Line(limits.most_connections, limits.most_connections_per_address)
        self._late = Line(limits.most_late, limits.most_late_per_address)
        self._parting = Line(limits.most_late, limits.most_late_per_address)
        self._read_clocks()

    def __len__(self) -> int:
        return len(self._present)

    def enter(self, connection: HttpConnection) -> None:
        """Notes a connection that is new, or has asked for something."""
        self._present.leave(connection)
        silent = self._present.join(connection, self.now + self.limits.idle_seconds)
        if silent is not None:
            silent.abort()

    def leave(self, connection: HttpConnection) -> None:
        for line in (self._present, self._late, self._parting):
            line.leave(connection)

    def wait_for(self, connection: HttpConnection, seconds: float) -> None:
        """Counts a connection as late from now on, for so long at most."""
        first = self._late.join(connection, self.now + seconds)
        if first is not None:
            self._late.leave(first)
            first.expire()

    def settle(self, connection: HttpConnection) -> None:
        """Counts a connection as late no longer."""
        self._late.leave(connection)

    def part_from(self, connection: HttpConnection, seconds: float) -> None:
        """Gives a connection that has been told everything a moment to read it."""
        self._late.leave(connection)
        first = self._parting.join(connection, self.now + seconds)
        if first is not None:
            first.abort()

    def go_on_soon(self, connection: HttpConnection) -> None:
        """Calls it when all bytes that have come were read. Answering one request after another
        finds the matcher's code and tables at hand, which the kernel's reads in between would push
        out of the processor's caches."""
        if not self._going_on:
            asyncio.get_running_loop().call_soon(self._go_on)
        self._going_on.append(connection)

    def _go_on(self) -> None:
        connections, self._going_on = self._going_on, []
        for connection in connections:
            try:
                connection.go_on()
            except Exception:
                # Goes on: others wait behind it.
                logger.exception("A connection failed; the others go on")
                connection.abort()

    async def keep_watch(self) -> None:
        """Ends who is late or idle for too long, as long as the loop runs."""
        turn = 0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            turn += 1
            try:
                self._look_around(is_long=turn % TICKS_PER_LOOK == 0)
            except Exception:
                # Goes on: without this task there would be no deadlines any more.
                logger.exception("What watches connections failed; it goes on")

    def _look_around(self, *, is_long: bool) -> None:
        self._read_clocks()
        for connection in self._late.overdue(self.now):
            connection.expire()
        for connection in self._parting.overdue(self.now):
            connection.leave_or_wait()
        held = sum(each.held_bytes for each in self._late.members())
        for connection in self._late.members():
            if held <= self.limits.most_held_bytes:
                break
            held -= connection.held_bytes
            connection.expire()
        if is_long:
            self.close_idle(self.now)

    def close_idle(self, now: float = math.inf) -> None:
        """Closes connections that have asked for nothing for too long at that moment; by default
        all that ask for nothing."""
        for connection in self._present.overdue(now):
            if connection.is_idle:
                connection.close()

    def end_all(self) -> None:
        for connection in self._present.overdue(math.inf):
            connection.abort()

    def _read_clocks(self) -> None:
        """Reads the time once for all connections, until the next tick."""
        self.now = time.monotonic()
        self.date = formatdate(usegmt=True).encode()

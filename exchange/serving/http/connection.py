"""Serves one client's connection: requests are answered in the order in which they come.

Nothing here waits. Reading stops while an answer is under way or its reader is slow, so that a
client cannot ask for more than it takes.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import struct
import time
from concurrent.futures import Executor
from contextlib import suppress
from http import HTTPStatus
from typing import cast

from exchange.serving.http.crowd import Crowd
from exchange.serving.http.messages import (
    Answer,
    Download,
    Reply,
    Request,
    Steps,
    own_fault,
    too_late,
    write_head,
    write_problem,
)
from exchange.serving.http.reader import RequestReader, Routes, Stage
from exchange.serving.instruments import REQUESTS
from exchange.serving.problems import ProblemError

logger = logging.getLogger(__name__)

PLAIN_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
    b"Date: %b\r\nContent-Length: %d\r\n\r\n"
)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
WRITE_BUFFER_BYTES = 512 * 1024
# How much is read and answered in one go; then others have their turn.
PIECE_BYTES = 8 * 1024
TURN_SECONDS = 0.001
# A client that takes less than this while it is waited for counts as taking nothing.
LEAST_TAKEN_BYTES = 16 * 1024
AT_ONCE = struct.pack("ii", 1, 0)
# States of TCP, as Linux numbers them: reset by the client; the client sends no more.
TCP_CLOSE, TCP_CLOSE_WAIT = 7, 8
CLIENT_GONE = "499"  # as nginx counts them


class HttpConnection(asyncio.Protocol):
    """A connection. Belongs to the loop's thread, and to its `Crowd` from start to end."""

    __slots__ = (
        "_active_at",
        "_crowd",
        "_executor",
        "_fed",
        "_has_ended",
        "_is_called",
        "_is_choked",
        "_is_client_done",
        "_is_paused",
        "_late_for",
        "_reader",
        "_room",
        "_routes",
        "_task",
        "_transport",
        "_unread",
        "_unsent",
        "address",
    )

    def __init__(self, routes: Routes, crowd: Crowd, executor: Executor) -> None:
        self._routes = routes
        self._crowd = crowd
        self._executor = executor
        self._task: asyncio.Task[None] | None = None  # an answer that is under way
        self._room: asyncio.Future[None] | None = None
        self._is_called = False
        self._is_choked = False
        self._is_paused = False
        self._is_client_done = False
        self._has_ended = False
        self._late_for: tuple[int, Stage] | None = None
        self._unread = b""
        self._fed = 0  # bytes of it: cutting them off each time would copy the rest
        self._unsent = 0
        self._active_at = crowd.now

    @property
    def is_idle(self) -> bool:
        is_free = not (self._task or self._is_choked or self._unread or self._reader.ready)
        return self._reader.stage is Stage.BETWEEN and is_free

    @property
    def held_bytes(self) -> int:
        return self._reader.held_bytes + len(self._unread) - self._fed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_BUFFER_BYTES)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if peer else ""
        self._reader = RequestReader(self._routes, self.address, self._crowd.limits.head_bytes)
        self._crowd.enter(self)

    def data_received(self, data: bytes) -> None:
        if self._has_ended:
            return
        if self._unread or len(data) > PIECE_BYTES:
            self._unread, self._fed = self._unread[self._fed :] + data, 0
        else:
            self._reader.feed(data)
        self._crowd.go_on_soon(self)

    def eof_received(self) -> bool:
        """Notes that the client sends no more; it may still wait for answers."""
        self._is_client_done = True
        if self._has_ended:
            return False
        self.go_on()
        return not self._has_ended

    def connection_lost(self, _error: Exception | None) -> None:
        self._has_ended = True
        self._crowd.leave(self)
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._is_choked = True
        self._unsent = self._transport.get_write_buffer_size()
        self._crowd.wait_for(self, self._crowd.limits.reading_seconds)

    def resume_writing(self) -> None:
        self._is_choked = False
        self._late_for = None
        self._crowd.settle(self)
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        self.go_on()

    def expire(self) -> None:
        """Ends a connection that is late or has to make room, with a word where one can be said."""
        if self._is_choked and self._has_taken():
            self._crowd.wait_for(self, self._crowd.limits.reading_seconds)
        elif self._is_choked or self._has_ended or self._reader.is_turned_away:
            self.abort()
        else:
            self._reader.refuse(too_late())
            self.go_on()

    def leave_or_wait(self) -> None:
        """Ends the connection when its time to part is over; who goes on reading has some more."""
        if self._has_taken():
            self._part()
        else:
            self.abort()

    def close(self) -> None:
        """Closes the connection once what was written is taken."""
        self._has_ended = True
        self._part()
        self._transport.close()

    def abort(self) -> None:
        """Resets the connection: an answer that breaks off must not look like a whole one."""
        self._has_ended = True
        self._crowd.leave(self)
        if self._task or self._transport.get_write_buffer_size():
            connection = self._transport.get_extra_info("socket")
            with suppress(OSError):  # it is gone already
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self._transport.abort()

    def _has_taken(self) -> bool:
        """Tells whether the client took a good part of what waits for it since the last time."""
        before, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        taken = before - self._unsent
        return taken >= LEAST_TAKEN_BYTES or (taken > 0 and not self._unsent)

    def _part(self) -> None:
        limits = self._crowd.limits
        self._unsent = self._transport.get_write_buffer_size()
        is_read = not self._unsent
        self._crowd.part_from(self, limits.parting_seconds if is_read else limits.reading_seconds)

    def go_on(self) -> None:
        """Answers what is ready, as far as it may, and says how it stands with this connection."""
        if self._has_ended:
            return
        reader = self._reader
        ready = reader.ready
        if ready and not self._unread and len(ready) == 1 and not (self._task or self._is_choked):
            self._answer(ready.popleft())  # what nearly all of them are
        elif ready or self._unread:
            self._take_turn()
        if self._has_ended:
            return
        if self._is_client_done and not (ready or self._unread):
            reader.stage = Stage.OVER
        is_blocked = bool(ready or self._unread or self._task or self._is_choked)
        if is_blocked is not self._is_paused:
            self._is_paused = is_blocked
            if is_blocked:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()
        if not is_blocked and (reader.stage is not Stage.BETWEEN or self._late_for):
            self._await_client()

    def _take_turn(self) -> None:
        """Reads and answers for a moment. If that was not enough, the loop calls again."""
        reader = self._reader
        until = time.perf_counter() + TURN_SECONDS
        while not (self._task or self._is_choked or self._has_ended):
            if reader.ready:
                self._answer(reader.ready.popleft())
            elif self._unread and reader.stage is not Stage.OVER:
                self._feed_piece()
            else:
                self._unread, self._fed = b"", 0
                return
            if time.perf_counter() > until:
                self._crowd.go_on_soon(self)
                return

    def _feed_piece(self) -> None:
        piece = self._unread[self._fed : self._fed + PIECE_BYTES]
        self._fed += len(piece)
        if self._fed == len(self._unread):
            self._unread, self._fed = b"", 0
        self._reader.feed(piece)

    def _await_client(self) -> None:
        """Waits for the client's next word; from a request's first byte on it has only so long."""
        reader, limits = self._reader, self._crowd.limits
        if reader.stage is Stage.BETWEEN:
            self._late_for = None
            self._crowd.settle(self)
        elif reader.stage is Stage.OVER:
            self._say_farewell()
        else:
            if reader.wants_continue:
                reader.wants_continue = False
                self._transport.write(CONTINUE)
            if self._late_for != (reader.number, reader.stage):
                self._late_for = reader.number, reader.stage
                is_head = reader.stage is Stage.HEAD
                self._crowd.wait_for(self, limits.head_seconds if is_head else limits.body_seconds)

    def _say_farewell(self) -> None:
        """Lets the client read our last answer: closing at once, with bytes of it unread, would
        make its system throw the answer away."""
        if self._is_client_done:
            self.close()
            return
        self._has_ended = True
        self._transport.write_eof()
        self._part()

    def _answer(self, request: Request) -> None:
        if self._active_at != self._crowd.now:
            self._active_at = self._crowd.now
            self._crowd.enter(self)
        request.keeps_alive = request.keeps_alive and not self._crowd.is_ending
        answer = ask_route(request)
        if type(answer) is bytes and request.keeps_alive and not request.speaks_1_0:
            self._transport.write(PLAIN_HEAD % (self._crowd.date, len(answer)) + answer)
        elif isinstance(answer, bytes):
            self._send(request, Reply(answer))
        elif isinstance(answer, Reply):
            self._send(request, answer)
        else:
            self._begin(request, answer)
        if not request.keeps_alive:
            self._reader.stage = Stage.OVER
            self._reader.ready.clear()

    def _begin(self, request: Request, answer: Download | Steps) -> None:
        """Takes a first step, which ends a short answer; a task goes on with the others."""
        if not isinstance(answer, Download) and (reply := take_step(request, answer)) is not None:
            self._send(request, reply)
        else:
            # From here on it is not the client who keeps us waiting.
            self._late_for = None
            self._crowd.settle(self)
            self._task = asyncio.get_running_loop().create_task(self._finish(request, answer))

    def _send(self, request: Request, reply: Reply) -> None:
        fields = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body))}
        if reply.status is HTTPStatus.OK:
            fields["Cache-Control"] = "no-store"
        head = self._write_head(request, reply.status, {**fields, **reply.headers})
        if request.method == "HEAD":
            self._transport.write(head)
        elif len(reply.body) < PIECE_BYTES:
            self._transport.write(head + reply.body)
        else:
            self._transport.writelines((head, reply.body))

    def _write_head(self, request: Request, status: HTTPStatus, fields: dict[str, str]) -> bytes:
        return write_head(self._crowd.date, status, fields, keeps_alive=request.keeps_alive)

    async def _finish(self, request: Request, answer: Download | Steps) -> None:
        """Sends an answer that takes a while; others are answered between its parts."""
        try:
            if isinstance(answer, Download):
                await self._send_pieces(request, answer)
            else:
                await self._take_steps(request, answer)
        except Exception:
            logger.exception("An answer to %s broke off", request.path)
            self.abort()
        self._task = None
        self.go_on()

    async def _take_steps(self, request: Request, steps: Steps) -> None:
        """Works at the answer for as long as there is somebody to read it."""
        reply = None
        while reply is None:
            async with self._crowd.step:
                if self._has_ended:
                    return
                if self._is_gone(request):
                    REQUESTS.labels(request.route.name, CLIENT_GONE).inc()
                    self.abort()
                    return
                reply = take_step(request, steps)
                await asyncio.sleep(0)
        self._send(request, reply)

    def _is_gone(self, request: Request) -> bool:
        """Asks the system, as nothing is read now. Who has closed looks the same as who sends no
        more but waits for answers: a word, which clients read over, is refused by the former."""
        connection = self._transport.get_extra_info("socket")
        state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        if state == TCP_CLOSE_WAIT and not (self._is_called or request.speaks_1_0):
            self._is_called = True
            self._transport.write(CONTINUE)
        return bool(state == TCP_CLOSE)

    async def _send_pieces(self, request: Request, download: Download) -> None:
        loop = asyncio.get_running_loop()
        fields = {"Content-Type": download.kind, "Cache-Control": "no-store"}
        is_chunked = download.length is None and not request.speaks_1_0
        if is_chunked:
            fields["Transfer-Encoding"] = "chunked"
        elif download.length is not None:
            fields["Content-Length"] = str(download.length)
        else:
            request.keeps_alive = False
            self._reader.stage = Stage.OVER
        self._transport.write(self._write_head(request, HTTPStatus.OK, fields))
        left = math.inf if download.length is None else download.length
        while piece := await loop.run_in_executor(self._executor, next, download.pieces, b""):
            left -= len(piece)
            if left < 0:
                break
            self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
            if self._is_choked:
                self._room = loop.create_future()
                await self._room
        if is_chunked:
            self._transport.write(b"0\r\n\r\n")
        elif download.length is not None and left:
            raise OSError(f"{request.path} has changed while it was sent")


def ask_route(request: Request) -> Answer:
    """Gets the route's answer, or the problem that there is, which is counted."""
    try:
        if request.problem is None:
            return request.route.answer(request)
        problem = request.problem
    except ProblemError as found:
        problem = found
    except Exception:
        logger.exception("A request to %s could not be answered", request.path)
        problem = own_fault()
    return count_problem(request, problem)


def take_step(request: Request, steps: Steps) -> Reply | None:
    """Takes one step of an answer; None as long as it was not the last one."""
    try:
        next(steps)
    except StopIteration as done:
        return Reply(done.value)
    except ProblemError as problem:
        return count_problem(request, problem)
    except Exception:
        logger.exception("A request to %s could not be answered", request.path)
        return count_problem(request, own_fault())
    return None


def count_problem(request: Request, problem: ProblemError) -> Reply:
    REQUESTS.labels(request.route.name, str(problem.status.value)).inc()
    return write_problem(problem)

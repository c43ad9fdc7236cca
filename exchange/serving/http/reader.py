"""Reads one connection's requests from its bytes, in whatever pieces they come; does no I/O.

    head: is it clear where it ends? -> address and method -> limits -> key -> body -> ready

The parser (llhttp) refuses what two programs could read differently: two lengths, a length beside
chunks, bare line feeds, folded lines. What else could hide a request in another is refused here, as
is what it would take in without an end: lines before a request, a head, fields after a body.
"""

from __future__ import annotations

import logging
from collections import deque
from enum import Enum, auto
from typing import Protocol

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from exchange.serving.http.messages import (
    Request,
    Route,
    head_too_large,
    malformed,
    own_fault,
)
from exchange.serving.http.repeated_heads import MOST_DIGITS, RepeatedHead
from exchange.serving.problems import ProblemError, method_not_allowed, too_large

logger = logging.getLogger(__name__)

FORWARDED = frozenset((b"x-forwarded-for", b"forwarded", b"x-real-ip"))
SINGLE = frozenset((b"host", b"authorization"))
MOST_HEADERS = 100
FIELD_BYTES = 4  # beside name and value
MOST_BLANK_BYTES = 1024
# Bounds framing: a chunk of a single byte has several bytes of it.
FRAMING_PER_BYTE = 16
# Heads of a connection that are kept for its next requests. A client that sends another head each
# time gains nothing from more.
MOST_KEPT_HEADS = 8
UPGRADING = frozenset((b"connection", b"upgrade", b"http2-settings"))


class Routes(Protocol):
    @property
    def nowhere(self) -> Route:
        """Gives the route of requests whose address is not known."""

    def find(self, target: bytes, request: Request) -> Route:
        """Finds the route of an address, `nowhere` if there is none; notes path and query."""


class Stage(Enum):
    """Says which part of a request the reader expects next."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()
    OVER = auto()  # it reads no further request


class RequestReader:
    """Reads one connection's requests. `ready` are requests to answer, in their order: whole ones,
    and refused ones as soon as they are. `number` counts the requests that began."""

    __slots__ = (
        "_address",
        "_body",
        "_body_bytes",
        "_framing_bytes",
        "_head_bytes",
        "_head_limit",
        "_headers",
        "_heads_left",
        "_is_admitted",
        "_parser",
        "_repeated",
        "_request",
        "_routes",
        "_target",
        "number",
        "ready",
        "stage",
        "wants_continue",
    )

    def __init__(self, routes: Routes, address: str, head_limit: int) -> None:
        self._routes = routes
        self._address = address
        self._head_limit = head_limit
        self._parser = HttpRequestParser(self)
        self.ready: deque[Request] = deque()
        self.stage = Stage.BETWEEN
        self.number = 0
        self.wants_continue = False
        self._repeated: RepeatedHead | None = None
        self._heads_left = MOST_KEPT_HEADS
        self._begin()

    @property
    def held_bytes(self) -> int:
        """Counts what is held of a body that has not come to its end."""
        return len(self._body) if self.stage is Stage.BODY else 0

    def feed(self, data: bytes) -> None:
        if self.stage is Stage.OVER or self._read_repeated(data):
            return
        before = (self.stage, self.number, self._body_bytes)
        self._parse(data)
        if before[0] is Stage.BETWEEN and self.number == before[1] + 1:
            self._keep_head(data)
        if (self.stage, self.number) == before[:2]:
            self._count_framing(len(data) - (self._body_bytes - before[2]))
        if self.stage is Stage.BODY:
            self._admit()

    def _read_repeated(self, data: bytes) -> bool:
        """Reads a whole request with the head of the one before it, and tells whether these bytes
        are one. The parser stands between two requests then, and need not know of it."""
        if self._repeated is None or self.stage is not Stage.BETWEEN or self._framing_bytes:
            return False
        request = self._repeated.read(data)
        if request is None:
            return False
        self.number += 1
        self.ready.append(request)
        return True

    def _keep_head(self, data: bytes) -> None:
        """Keeps the bytes with which one request began, if it is whole and nobody refused it."""
        is_plain = self.stage is Stage.BETWEEN and b"upgrade" not in self._headers
        is_short = self._head_bytes + len(self._target) + MOST_DIGITS <= self._head_limit
        if not (is_plain and is_short and self._heads_left) or self._request.problem is not None:
            return
        self._heads_left -= 1
        self._repeated = RepeatedHead.of(data, self._request)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except HttpParserCallbackError:
            logger.exception("A request could not be read")
            self.refuse(own_fault())
        except HttpParserError as error:
            self.refuse(malformed(f"This is not HTTP/1.1: {error}."))

    def _count_framing(self, count: int) -> None:
        """Bounds the bytes beside the body that led no further in the request. The parser would
        keep them for ever, and take the longer for each piece the more it has."""
        self._framing_bytes += count
        if self.stage is Stage.BETWEEN and self._framing_bytes > MOST_BLANK_BYTES:
            self.refuse(malformed("This is no request."))
        elif self.stage is Stage.HEAD and self._framing_bytes > self._head_limit:
            self.refuse(head_too_large(self._head_limit))
        elif self.stage is Stage.BODY and self._framing_bytes > (
            self._head_limit + FRAMING_PER_BYTE * self._body_bytes
        ):
            self.refuse(malformed("The body has more framing than content."))

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Reads the request again as one that asks for no other protocol: Java's client asks for
        HTTP/2 with every first one, and the parser would leave the body to that protocol."""
        if self.stage is Stage.OVER:
            return
        request, headers = self._request, self._headers
        if b"upgrade" not in headers:  # CONNECT, which was refused
            request.keeps_alive = False
            self.stage = Stage.OVER
            return
        lines = [b"%b %b HTTP/1.1" % (request.method.encode(), self._target)]
        lines += [
            b"%b: %b" % (name, value) for name, value in headers.items() if name not in UPGRADING
        ]
        if b"close" in headers.get(b"connection", b"").lower():
            lines.append(b"connection: close")
        self._parser = HttpRequestParser(self)
        self.stage = Stage.BETWEEN
        self._parse(b"\r\n".join([*lines, b"", b""]) + rest)

    def refuse(self, problem: ProblemError) -> None:
        """Refuses the request that is being read and reads no further, because nobody can tell any
        more where the next one begins. What was read before is still answered."""
        if self.stage is Stage.OVER:
            return
        request = self._request if self.stage is Stage.BODY else Request(self._routes.nowhere)
        request.keeps_alive = False
        self.stage = Stage.OVER
        if request.problem is None:
            request.problem = problem
            self.ready.append(request)

    @property
    def is_turned_away(self) -> bool:
        """Tells whether the body that is being read belongs to a request that was refused."""
        return self.stage is Stage.BODY and self._request.problem is not None

    def _begin(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._target = b""
        self._head_bytes = 0
        self._framing_bytes = 0
        self._body: bytes | bytearray = b""
        self._body_bytes = 0
        self._is_admitted = False
        self.wants_continue = False

    def on_message_begin(self) -> None:
        """Begins a request, unless one was refused: the parser goes on to the end of its bytes."""
        if self.stage is Stage.OVER:
            return
        self._begin()
        self.number += 1
        self.stage = Stage.HEAD

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Notes a field; those that follow the last chunk come too late to have a say."""
        if self.stage is not Stage.HEAD:
            return
        name = name.lower()
        self._head_bytes += len(name) + len(value) + FIELD_BYTES
        if name in SINGLE and name in self._headers:
            value = b""  # two of them are none
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        if self.stage is Stage.OVER:
            return
        headers = self._headers
        request = Request(self._routes.nowhere)
        request.address = self._address
        request.method = self._parser.get_method().decode()
        request.authorization = headers.get(b"authorization", b"").decode("latin-1")
        request.is_forwarded = not FORWARDED.isdisjoint(headers)
        request.keeps_alive = self._parser.should_keep_alive()
        request.speaks_1_0 = self._parser.get_http_version() == "1.0"
        request.route = self._routes.find(self._target, request)
        self._request = request
        self.stage = Stage.BODY
        self._framing_bytes = 0
        if fault := self._find_fault(request, headers):
            self.refuse(fault)
        elif request.method not in request.route.methods and not self._is_upgrade:
            self._reject(method_not_allowed(request.route.methods))

    def on_body(self, body: bytes) -> None:
        if self.stage is Stage.OVER:
            return
        request = self._request
        self._body_bytes += len(body)
        if self._body_bytes > request.route.most_bytes:
            self.refuse(too_large(request.route.most_bytes))
        elif request.problem is None:
            if not self._body:
                self._body = body
            else:
                if isinstance(self._body, bytes):
                    self._body = bytearray(self._body)
                self._body += body

    def on_message_complete(self) -> None:
        if self.stage is Stage.OVER or self._is_upgrade:
            return
        request = self._request
        self._framing_bytes = 0
        self.stage = Stage.BETWEEN if request.keeps_alive else Stage.OVER
        self.wants_continue = False
        if request.problem is None:
            request.body = bytes(self._body)
            self._body = b""
            self.ready.append(request)

    def _find_fault(self, request: Request, headers: dict[bytes, bytes]) -> ProblemError | None:
        """Finds what makes it unclear where the request ends or whose it is, or is too much."""
        if self._head_bytes + len(self._target) > self._head_limit or len(headers) > MOST_HEADERS:
            return head_too_large(self._head_limit)
        if request.speaks_1_0:
            if b"transfer-encoding" in headers:
                return malformed("HTTP/1.0 has no chunks.")
        elif self._parser.get_http_version() != "1.1":
            return malformed("Ask with HTTP/1.1.")
        elif not headers.get(b"host"):
            return malformed("Send one header `Host`.")
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            return malformed("Send the body as it is, or in chunks.")
        if int(headers.get(b"content-length", 0)) > request.route.most_bytes:
            return too_large(request.route.most_bytes)
        return None

    def _admit(self) -> None:
        """Asks for the key before the body has come: who may not ask need not send it."""
        if self._is_admitted or self._request.problem is not None:
            return
        self._is_admitted = True
        try:
            self._request.route.admit(self._request)
        except ProblemError as problem:
            self._reject(problem)
            return
        self.wants_continue = self._expects_word and not self._request.speaks_1_0

    @property
    def _expects_word(self) -> bool:
        return self._headers.get(b"expect", b"").lower() == b"100-continue"

    @property
    def _is_upgrade(self) -> bool:
        return b"upgrade" in self._headers and self._parser.should_upgrade()

    def _reject(self, problem: ProblemError) -> None:
        """Refuses at once and reads over the body, so that the connection can be kept. It cannot be
        if the client waits for our word, and may then send its body or not."""
        if self._expects_word:
            self.refuse(problem)
            return
        self._request.problem = problem
        self.ready.append(self._request)

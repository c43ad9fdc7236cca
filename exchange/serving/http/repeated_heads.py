"""Reads what a client sends again and again: heads that differ in the length of the body alone.

    POST /api/v1/eligibility HTTP/1.1 .. Content-Length: 1463 .. {"publisher": ..
    '-- before ------------------------------------------'    '- after '

The parser has read these bytes once, and reading them is what most of a connection's time goes
into. It alone decides what is refused: whatever is not the same to the byte, comes in pieces, or
comes with more behind it is the parser's.
"""

from __future__ import annotations

import re

from exchange.serving.http.messages import Request

LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,7})\r\n", re.IGNORECASE)
HEAD_END = b"\r\n\r\n"
LONGEST_HEAD = 2 * 1024
MOST_DIGITS = 7


class RepeatedHead:
    """A head that was read, with the request that it made. Immutable."""

    __slots__ = ("_after", "_before", "_request")

    def __init__(self, before: bytes, after: bytes, request: Request) -> None:
        self._before = before
        self._after = after
        self._request = request

    @classmethod
    def of(cls, data: bytes, request: Request) -> RepeatedHead | None:
        """Keeps the head of `data`, the bytes that the parser made this request of. None: requests
        like it are left to the parser."""
        end = data.find(HEAD_END) + len(HEAD_END)
        head = data[:end]
        if end + len(request.body) != len(data) or end > LONGEST_HEAD:
            return None
        lengths = list(LENGTH.finditer(head))
        if len(lengths) != 1 or int(lengths[0][1]) != len(request.body):
            return None
        first, end = lengths[0].span(1)
        return cls(head[:first], head[end:], request.with_body(b""))

    def read(self, data: bytes) -> Request | None:
        """Makes the request of these bytes, if their head is this one and the body is whole."""
        before, after = self._before, self._after
        if not data.startswith(before):
            return None
        first = len(before)
        end = data.find(b"\r", first, first + MOST_DIGITS + 1)
        length = data[first:end]
        if end < 0 or not length.isdigit() or not data.startswith(after, end):
            return None
        body = data[end + len(after) :]
        if len(body) != int(length) or len(body) > self._request.route.most_bytes:
            return None
        return self._request.with_body(body)

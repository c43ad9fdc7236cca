"""Callers that pause: in the head, in the body, or before they read the answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from exchange.serving.endpoint import PATH
from tests.serving.published import HERALD_KEY

ESTABLISHED = "01"
HEAD = (
    f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Api-Key {HERALD_KEY}\r\n"
    "Content-Type: application/json\r\n"
)


def half_a_head() -> bytes:
    return HEAD.encode()


def half_a_body() -> bytes:
    return f"{HEAD}Content-Length: 5000\r\n\r\n".encode() + b'{"visit": {' + b" " * 100


def whole_request(body: bytes, *, path: str) -> bytes:
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n".replace(PATH, path, 1).encode() + body


@contextmanager
def paused_callers(
    port: int, sent: bytes, *, count: int, addresses: list[str]
) -> Iterator[list[socket.socket]]:
    """Opens so many connections, each of which sent this and now neither writes nor reads."""
    with ExitStack() as stack:
        callers = []
        for number in range(count):
            caller = stack.enter_context(socket.socket())
            # A few packets, so that an answer of some size waits in the server, not in the kernel.
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.settimeout(30)
            caller.bind((addresses[number % len(addresses)], 0))
            caller.connect(("127.0.0.1", port))
            caller.sendall(sent)
            callers.append(caller)
        yield callers


def go_on(callers: list[socket.socket]) -> None:
    """Sends a byte more from each caller: slow, but not cut off yet."""
    for caller in callers:
        caller.sendall(b" ")


def is_cut_off(caller: socket.socket) -> bool:
    """Tells whether the other side has closed or reset the connection; reads whatever was still
    there."""
    caller.setblocking(False)
    try:
        while caller.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


def is_still_open(caller: socket.socket) -> bool:
    """Tells whether the connection stands, without reading what is there."""
    return connection_state(caller) == ESTABLISHED


def connection_state(caller: socket.socket) -> str | None:
    own_port = f":{caller.getsockname()[1]:04X}"
    for fields in tcp_table():
        if fields[1].endswith(own_port):
            return fields[3]
    return None


def connections_to(port: int) -> int:
    """Counts the connections that the server on this port has."""
    own_port = f":{port:04X}"
    return sum(1 for each in tcp_table() if each[1].endswith(own_port) and each[3] == ESTABLISHED)


def tcp_table() -> Iterator[list[str]]:
    """Reads lines of number, own address, other address, state .. as `proc(5)` has them."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        yield line.split()

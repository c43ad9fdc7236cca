"""Bounds how long a page waits for Postgres, whether it is slow, locked, away or hung.

Workers wait as long as their tasks may run (queues.py): builds and loads take minutes. Pages are
told apart by the entry that serves them, which calls `limit_waits_of_pages`.

The server ends what is slow or locked itself (`statement_timeout`, `lock_timeout`). One that is
hung ends nothing, its kernel still acknowledges (so `tcp_user_timeout` does not help), and libpq
has no time-out for reading: so psycopg2 waits through `wait_for_answer`, which takes 4 us more a
query (18 before, 22 now, `SELECT 1` over a local socket). It rules out COPY, which no page uses.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections
from psycopg2 import OperationalError, extensions

from exchange.circuit import Circuit

CONNECT_SECONDS = 3.0
LOCK_SECONDS = 2
STATEMENT_SECONDS = 10
IDLE_IN_TRANSACTION_SECONDS = 60
# Longer than STATEMENT_SECONDS: a server that is not hung ends a statement first.
ANSWER_SECONDS = STATEMENT_SECONDS + 2.0
PROBE_SECONDS = 3.0
# How soon those who wait see that another found the server hung.
LOOK_SECONDS = 0.25

hung = Circuit(pause_seconds=5)
_thread = threading.local()


def limit_waits_of_pages() -> None:
    """Bounds the waits of this process; called before its first connection."""
    options = connections.settings["default"].setdefault("OPTIONS", {})
    limits = {
        "statement_timeout": STATEMENT_SECONDS,
        "lock_timeout": LOCK_SECONDS,
        "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_SECONDS,
    }
    added = [f"-c {name}={seconds}s" for name, seconds in limits.items()]
    options["options"] = " ".join([options.get("options", ""), *added]).strip()
    extensions.set_wait_callback(wait_for_answer)


@contextmanager
def probing() -> Iterator[None]:
    """Lets this thread ask, within the block, also while others are told not to; it is patient for
    a shorter time, since it is the one that finds out."""
    _thread.is_probing = True
    try:
        yield
    finally:
        _thread.is_probing = False


def wait_for_answer(connection: extensions.connection) -> None:
    """Waits for psycopg2, as its wait callback; what it raises closes the connection."""
    is_probing = getattr(_thread, "is_probing", False)
    give_up = time.monotonic() + find_patience(connection, is_probing)
    while (state := connection.poll()) != extensions.POLL_OK:
        while not is_ready(connection, state):
            if time.monotonic() > give_up:
                hung.open()
                raise OperationalError("The database does not answer.")
            if hung.is_open and not is_probing:
                raise OperationalError("The database did not answer others just now.")
    if is_probing:
        hung.close()


def find_patience(connection: extensions.connection, is_probing: bool) -> float:
    if connection.status == extensions.STATUS_SETUP:
        return CONNECT_SECONDS
    return PROBE_SECONDS if is_probing else ANSWER_SECONDS


def is_ready(connection: extensions.connection, state: int) -> bool:
    """Tells, within a moment, whether there is something to read, or room to write."""
    waiting = select.poll()
    reads = state == extensions.POLL_READ
    waiting.register(connection.fileno(), select.POLLIN if reads else select.POLLOUT)
    return bool(waiting.poll(LOOK_SECONDS * 1000))

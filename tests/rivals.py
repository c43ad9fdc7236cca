"""Lets two people act at once, on connections of their own: they meet by design, not by luck.

The first one's transaction stays open until the second one waits for it, or has ended without
waiting; only then does the first commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from targeting import ExpressionError

PATIENCE = 60  # seconds; for a machine that is busy with other things
WAITS = "SELECT cardinality(pg_blocking_pids(%s)) > 0"


class Refused(str):
    """What a save was refused with, in words."""

    __slots__ = ()


def overlap(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """Runs both actions at once, and gives what each returned, or its refusal in words."""
    has_run, may_commit, backend = Event(), Event(), Future[int]()

    def run_first() -> Any:
        try:
            with transaction.atomic():
                given = first()
                has_run.set()
                assert may_commit.wait(PATIENCE)
            return given
        finally:
            has_run.set()

    def run_second() -> Any:
        connection.ensure_connection()
        backend.set_result(connection.connection.info.backend_pid)
        return second()

    with ThreadPoolExecutor(2) as pool:
        try:
            ahead = pool.submit(answer, run_first)
            assert has_run.wait(PATIENCE)
            behind = pool.submit(answer, run_second)
            wait_for_lock(behind, backend.result(PATIENCE))
        finally:
            may_commit.set()
        return ahead.result(PATIENCE), behind.result(PATIENCE)


def answer(action: Callable[[], Any]) -> Any:
    """Runs an action on this thread's own connection, which is closed afterwards; gives what it
    returned, or its refusal in words."""
    try:
        return action()
    except ValidationError as error:
        return Refused(" ".join(error.messages))
    except ExpressionError as error:
        return Refused(str(error))
    finally:
        connection.close()


def wait_for_lock(action: Future[Any], backend_pid: int) -> None:
    give_up = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        while not action.done():
            cursor.execute(WAITS, [backend_pid])
            if cursor.fetchone() == (True,):
                return
            assert time.monotonic() < give_up, "neither waits nor ends"
            time.sleep(0.01)

"""Makes a worker that could not acknowledge a message connect anew.

Celery logs that and goes on; but the message still counts among those that the worker may have at
once, so one with a single process would never take another, and seem to be well.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from celery.worker import request
from kombu.asynchronous import get_event_loop

logger = logging.getLogger(__name__)


class Request(request.Request):
    """A task's request; the settings name this class for all of them."""

    # Celery's own; its stubs do not tell them.
    _on_ack: Callable[[logging.Logger, tuple[type[Exception], ...]], None]
    _connection_errors: tuple[type[Exception], ...]

    def acknowledge(self) -> None:
        if self.acknowledged:
            return
        try:
            self._on_ack(logger, ())  # no error is passed over
        except self._connection_errors as error:
            if (loop := get_event_loop()) is None:
                raise
            loop.call_soon(lose_connection, error)
        self.acknowledged = True


def lose_connection(error: Exception) -> None:
    """Raises the error in the worker's own loop, which takes it for a lost connection."""
    raise error

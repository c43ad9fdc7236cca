"""A worker that could not acknowledge a message connects anew.

Celery logs that and goes on; but the message still counts among those that the worker may have at
once, so one with a single process would never take another, and seem to be well.
"""

from __future__ import annotations

import logging

from celery.worker import request
from kombu.asynchronous import get_event_loop

logger = logging.getLogger(__name__)


class Request(request.Request):
    """Named in the settings as the class of every task's requests."""

    def acknowledge(self) -> None:
        if self.acknowledged:
            return
        try:
            self._on_ack(logger, ())  # no error is passed over
        except self._connection_errors as error:
            get_event_loop().call_soon(lose_connection, error)
        self.acknowledged = True


def lose_connection(error: Exception) -> None:
    """From the worker's own loop, where it means just that."""
    raise error

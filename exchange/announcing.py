"""Tells workers that there is something to do. A message is a hint: sweeps find what was not told.

So whoever announces never fails, and waits for a broker that hangs once in a few seconds, and then
no longer than its time-out (`CELERY_BROKER_TRANSPORT_OPTIONS`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kombu.exceptions import OperationalError

from exchange.celery import app
from exchange.circuit import Circuit

logger = logging.getLogger(__name__)

silent = Circuit(pause_seconds=5)


def announce(task: str, arguments: Sequence[object] = ()) -> bool:
    """Sends a message; tells whether it is on its way."""
    if silent.is_open:
        return False
    try:
        app.send_task(task, list(arguments))
    except OperationalError as error:
        silent.open()
        logger.warning("Nobody was told to run %s, a sweep will find it: %s", task, error)
        return False
    return True

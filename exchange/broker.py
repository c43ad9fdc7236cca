"""Asks Redis about the queues beside their messages: who takes them, since when the first waits.

Every question has a time-out, and none is put to a worker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from exchange.queues import QUEUES

SENT_AT = "sent_at"
TAKEN_KEY = "treeline:taken:"
# A queue counts as taken for so long: some heartbeats of a worker.
TAKEN_SECONDS = 15


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue. `waiting_since` is the time of the oldest message, None if there is none."""

    name: str
    is_taken: bool
    waiting_since: float | None

    def waiting_seconds(self) -> float:
        return 0.0 if self.waiting_since is None else max(time.time() - self.waiting_since, 0.0)


@cache
def connect() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=settings.BROKER_TIMEOUT_SECONDS,
        socket_timeout=settings.BROKER_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def note_taken(queues: Iterable[str]) -> None:
    """Notes, with each heartbeat of a worker, which queues it takes. Without a broker it has
    nothing to take either."""
    with suppress(redis.RedisError), connect().pipeline(transaction=False) as pipeline:
        for name in queues:
            pipeline.set(TAKEN_KEY + name, 1, ex=TAKEN_SECONDS)
        pipeline.execute()


def look_at_queues() -> list[QueueState]:
    """Looks at all queues in one round trip. Messages come in on the left of a list and are taken
    from the right."""
    with connect().pipeline(transaction=False) as pipeline:
        for queue in QUEUES:
            pipeline.exists(TAKEN_KEY + queue.name)
            pipeline.lindex(queue.name, -1)
        answers = pipeline.execute()
    pairs = zip(QUEUES, answers[::2], answers[1::2], strict=True)
    return [
        QueueState(each.name, bool(taken), read_sent_at(oldest)) for each, taken, oldest in pairs
    ]


def read_sent_at(message: bytes | None) -> float | None:
    """Reads when a message was sent; None also for one that was not sent by us."""
    if message is None:
        return None
    sent_at = json.loads(message).get("headers", {}).get(SENT_AT)
    return sent_at if isinstance(sent_at, float) else None

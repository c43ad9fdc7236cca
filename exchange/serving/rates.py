"""Limits how much a key may ask for: a token bucket per key, in this process alone.

What a key may ask in all is this times the number of processes. A limit shared by all of them would
need a server to wait for, on the one path that waits for nothing.
"""

from __future__ import annotations

import math
from http import HTTPStatus

from exchange.serving.problems import ProblemError
from matcher_ext.serving import Bucket


class Buckets:
    """The buckets by key. Thread-safe: one is compiled and taken from under the GIL. Only keys that
    were let in have one, so their number is bounded by the number of keys."""

    def __init__(self, per_second: float, burst: float | None = None) -> None:
        self._per_second = per_second
        self._burst = max(per_second if burst is None else burst, 1.0)
        self.by_key: dict[str, Bucket] = {}

    def take(self, key: str, count: int = 1) -> None:
        """Takes tokens or raises the problem. A full bucket gives more than it holds, on credit."""
        bucket = self.by_key.get(key)
        if bucket is None:
            bucket = self.by_key.setdefault(key, Bucket(self._per_second, self._burst))
        lacking = bucket.take(count)
        if lacking > 0:
            raise too_many(lacking / self._per_second)


def too_many(seconds: float) -> ProblemError:
    return ProblemError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "rate_limited",
        "Your key asks for more than it may. Try again a little later.",
        headers={"Retry-After": str(max(math.ceil(seconds), 1))},
    )

"""Seeds chance: every part of the generator draws from its own named stream.

A stream depends on the seed and its name only: changing one part leaves the others as they were.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

T = TypeVar("T")


def seed_of(seed: int, *names: object) -> int:
    """Makes the seed of a named stream."""
    text = ":".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def stream(seed: int, *names: object) -> random.Random:
    """Makes a stream for drawing one thing at a time."""
    return random.Random(seed_of(seed, *names))  # noqa: S311  (a demo, not a secret)


class Weighted(Generic[T]):
    """A fixed choice with weights, drawn without building its sums again."""

    __slots__ = ("_items", "_last", "_sums", "_total")

    def __init__(self, items: Sequence[T], weights: Sequence[float]) -> None:
        self._items = list(items)
        self._sums = list(accumulate(weights))
        self._last = len(self._items) - 1
        self._total = float(self._sums[-1])

    def draw(self, rng: random.Random) -> T:
        """Draws what `rng.choices` would, without its checks at every call."""
        return self._items[bisect(self._sums, rng.random() * self._total, 0, self._last)]


def weigh(weights: Mapping[T, float]) -> Weighted[T]:
    return Weighted(list(weights), list(weights.values()))


def zipf(items: Sequence[T], exponent: float = 0.9) -> Weighted[T]:
    """Weighs items so that the first are drawn far more often than the last."""
    return Weighted(items, [1 / (rank + 1) ** exponent for rank in range(len(items))])

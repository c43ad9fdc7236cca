from collections.abc import Iterable, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from matcher_ext.serving.state_answers import StateAnswers

# Holds the request's bytes, the number of its imp or None, the publisher, the moment, the booking
# ids if the answer is kept, and whether the visit is logged.
Kept = tuple[bytes, int | None, str, int, NDArray[numpy.int64] | None, bool]
Taken = tuple[list[int], float]

class Pass:
    key_hash: str
    publishers: frozenset[str]
    expires_at_seconds: float
    may_ask: bool
    used_at_seconds: float
    def __init__(
        self,
        key_hash: str,
        publishers: frozenset[str],
        expires_at_seconds: float,
        may_ask: bool,
    ) -> None: ...

class Bucket:
    def __init__(self, per_second: float, burst: float) -> None: ...
    def take(self, count: float = ...) -> float: ...

class Times:
    def __init__(self, bounds: Iterable[float]) -> None: ...
    def add(self, seconds: float) -> None: ...
    def take(self) -> Taken: ...

class Counts:
    def __init__(self, bounds: Iterable[float]) -> None: ...
    def take(self) -> tuple[int, int, Taken, Taken, dict[str, int], int]: ...

class Batch:
    is_read: bool
    count: int
    left: int
    asked_visits: int
    visits: int
    size: int
    def read_on(self, seconds: float) -> bool: ...
    def go_on(self, seconds: float, visits: int = ..., size: int = ...) -> bytes | None: ...
    def add(self, answer: bytes, visits: int) -> None: ...

class Desk:
    has_kept: bool
    def __init__(self, buckets: Mapping[str, Any], counts: Counts) -> None: ...
    def answer(
        self,
        answers: StateAnswers,
        passes: Mapping[str, Pass],
        header: str,
        body: bytes,
        sample_every: int = ...,
        log_one_in: int = ...,
    ) -> bytes | None: ...
    def open_batch(
        self,
        answers: StateAnswers,
        caller: Pass,
        body: bytes,
        sample_every: int = ...,
        log_one_in: int = ...,
        *,
        most: int,
        most_bytes: int,
        seconds: float = ...,
    ) -> Batch | None: ...
    def close_batch(self, batch: Batch, caller: Pass) -> bytes: ...
    def take_kept(self) -> list[Kept]: ...

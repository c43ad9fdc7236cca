from collections.abc import Mapping, Sequence

import numpy
from numpy.typing import NDArray

from matcher_ext.paths import Paths
from matcher_ext.plain_answers import PlainAnswers

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

Taken = tuple[list[int], float]

class Times:
    def __init__(self, bounds: Sequence[float]) -> None: ...
    def add(self, seconds: float) -> None: ...
    def take(self) -> Taken: ...

class Counts:
    def __init__(self, bounds: Sequence[float]) -> None: ...
    def take(self) -> tuple[int, int, Taken, Taken]: ...

class Unfinished:
    text: bytes
    count: int
    malformed: tuple[str, ...]
    ids: NDArray[numpy.int64] | None
    paths: Paths | None
    publisher: str
    limit: int | None
    match_seconds: float
    is_sampled: bool

class Desk:
    def __init__(self, buckets: dict[str, Bucket], counts: Counts) -> None: ...
    def answer(
        self,
        answers: PlainAnswers,
        passes: Mapping[str, Pass],
        header: str | None,
        body: bytes,
        sample_every: int = ...,
    ) -> bytes | Unfinished | None: ...

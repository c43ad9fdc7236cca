from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray
from typing_extensions import Buffer

from matcher_ext.overlay import Overlay
from matcher_ext.paths import Paths
from matcher_ext.snapshot import Snapshot

class Frame:
    def __init__(self, heading: bytes, opening: bytes, closing: bytes, ending: bytes) -> None: ...

class Items:
    snapshot: Snapshot
    def __init__(
        self,
        snapshot: Snapshot,
        ids: NDArray[numpy.signedinteger],
        ranks: NDArray[Any],
        offsets: NDArray[numpy.int64],
        content: Buffer,
    ) -> None: ...
    def __len__(self) -> int: ...

def answer_visit(
    snapshot: Snapshot,
    below: Items,
    beside: Items | None,
    overlay: Overlay | None,
    visit: Mapping[str, Any],
    limit: int,
    keeps_ids: bool = ...,
    frame: Frame | None = ...,
    age_seconds: float = ...,
) -> tuple[bytes, int, tuple[str, ...], NDArray[numpy.int64] | None, Paths | None]: ...

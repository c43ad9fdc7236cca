from collections.abc import Iterable, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray
from typing_extensions import Buffer

from matcher_ext.index.overlay import Overlay
from matcher_ext.index.snapshot import Snapshot

Integers = NDArray[numpy.signedinteger]

class Items:
    snapshot: Snapshot
    def __init__(
        self,
        snapshot: Snapshot,
        ids: Integers,
        ranks: NDArray[Any],
        offsets: NDArray[numpy.int64],
        content: Buffer,
        *,
        campaigns: Integers,
        path_at: NDArray[numpy.int32],
        reaches: Integers,
        prices: NDArray[numpy.float64],
    ) -> None: ...
    def __len__(self) -> int: ...

def answer_visit(
    snapshot: Snapshot,
    below: Items,
    beside: Items | None,
    overlay: Overlay | None,
    visit: Mapping[str, Any],
    *,
    limit: int | None = ...,
    campaigns: Iterable[int] | None = ...,
    by_campaign: bool = ...,
    has_paths: bool = ...,
) -> tuple[bytes, int]: ...

from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from matcher_ext.index.snapshot import Snapshot

class Scan:
    def __init__(self, snapshot: Snapshot) -> None: ...
    def match_ids(self, visit: Mapping[str, Any]) -> NDArray[numpy.int64]: ...
    def program_bytes(self) -> int: ...

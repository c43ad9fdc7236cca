from collections.abc import Sequence

from matcher_ext.bid_sources import BidReader
from matcher_ext.items import Items
from matcher_ext.json_visits import Stamps
from matcher_ext.overlay import Overlay
from matcher_ext.snapshot import Snapshot

class StateAnswers:
    def __init__(
        self,
        snapshot: Snapshot,
        below: Items,
        beside: Items | None,
        overlay: Overlay | None,
        *,
        heading: bytes,
        read_at_seconds: float,
        stamps: Stamps,
        notes: Sequence[bytes],
        bids: BidReader,
    ) -> None: ...

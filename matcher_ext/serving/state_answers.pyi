from collections.abc import Sequence

from matcher_ext.index.overlay import Overlay
from matcher_ext.index.snapshot import Snapshot
from matcher_ext.requests.bid_sources import BidReader
from matcher_ext.requests.json_visits import Stamps
from matcher_ext.serving.answer_texts import Items

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

from matcher_ext.items import Frame, Items
from matcher_ext.overlay import Overlay
from matcher_ext.plain_requests import Stamps
from matcher_ext.snapshot import Snapshot

class PlainAnswers:
    def __init__(
        self,
        snapshot: Snapshot,
        below: Items,
        beside: Items | None,
        overlay: Overlay | None,
        frame: Frame,
        read_at_seconds: float,
        stamps: Stamps,
        most: int,
    ) -> None: ...

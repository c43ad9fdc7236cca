from collections.abc import Collection

from matcher_ext.plan.plan_buffer import PlanBuffer

class Overlay:
    dead_count: int
    def __init__(
        self,
        below: PlanBuffer,
        dead: Collection[int],
        definitions: PlanBuffer,
        names: Collection[str],
        borrowed: Collection[str] = ...,
    ) -> None: ...

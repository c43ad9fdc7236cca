from typing import Any

from matcher_ext.engines.conjunctions import Conjunctive

class Dexin(Conjunctive):
    method: str
    order: str
    max_attributes: int
    slot_count: int
    def __init__(
        self,
        catalog: Any,
        *,
        method: str = "both",
        order: str = "near-optimal",
        slots: int = ...,
        max_attributes: int = 22,
        max_conjunctions: int = ...,
    ) -> None: ...

from collections.abc import Iterable
from typing import Any

from matcher_ext.engines.conjunctions import Conjunctive

class Gryphon(Conjunctive):
    collapse: bool
    successors: bool
    def __init__(
        self,
        catalog: Any,
        *,
        collapse: bool = True,
        successors: bool = False,
        factored: Iterable[str] = (),
        order: Iterable[str] = (),
        max_conjunctions: int = ...,
    ) -> None: ...

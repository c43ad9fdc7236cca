from collections.abc import Iterable, Mapping
from typing import Any

from matcher_ext.engines.conjunctions import Conjunctive

class Naive(Conjunctive):
    def __init__(
        self,
        catalog: Any,
        *,
        costs: Mapping[str, float] | None = None,
        max_conjunctions: int = ...,
    ) -> None: ...
    def learn_truth_rates(self, visits: Iterable[Mapping[str, Any]]) -> None: ...

class Sequential(Naive): ...
class Suborder(Naive): ...

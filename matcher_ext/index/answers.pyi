from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from matcher_ext.index.overlay import Overlay
from matcher_ext.index.snapshot import Snapshot

Ask = Callable[[str], bool]
AnswerFunction = Callable[[Ask], Mapping[str, bool | None]]

class SlotAnswers:
    names: tuple[str, ...]
    function: AnswerFunction
    asks: tuple[str, ...]
    def __init__(
        self, names: Iterable[str], function: AnswerFunction, asks: Iterable[str] = ()
    ) -> None: ...

class VisitAnswers:
    def __init__(self, *, keeps: bool = True) -> None: ...
    @staticmethod
    def begin(beside: Snapshot, visit: Mapping[str, Any]) -> VisitAnswers: ...
    def match_ids(self) -> NDArray[numpy.int64]: ...
    def ask(self, name: str) -> bool: ...

def answer_visit(snapshot: Snapshot, visit: Mapping[str, Any]) -> dict[str, bool | None]: ...
def bind_answers(below: Snapshot, answers: SlotAnswers) -> Snapshot: ...
def match_beside(
    match: Callable[..., Any],
    overlay: Overlay | None,
    beside: Snapshot,
    visit: Mapping[str, Any],
) -> tuple[NDArray[numpy.int64], tuple[str, ...]]: ...

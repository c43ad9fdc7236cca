from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from matcher_ext.index.answers import AnswerFunction, SlotAnswers, VisitAnswers
from matcher_ext.index.overlay import Overlay
from matcher_ext.match.paths import Paths
from matcher_ext.plan.plan_buffer import PlanBuffer
from matcher_ext.tables.parts import TableParts

class Snapshot(PlanBuffer):
    @staticmethod
    def open(path: str | PathLike[str], *, recheck: bool = False) -> Snapshot: ...
    def match(self, visit: Mapping[str, Any], overlay: Overlay | None = None) -> list[int]: ...
    answers: tuple[SlotAnswers, ...]
    def answer_slots(
        self, names: Iterable[str], function: AnswerFunction, asks: Iterable[str] = ()
    ) -> Snapshot: ...
    def match_ids(
        self,
        visit: Mapping[str, Any],
        overlay: Overlay | None = None,
        answers: VisitAnswers | None = None,
    ) -> NDArray[numpy.int64]: ...
    def match_with_warnings(
        self,
        visit: Mapping[str, Any],
        overlay: Overlay | None = None,
        answers: VisitAnswers | None = None,
    ) -> tuple[NDArray[numpy.int64], tuple[str, ...]]: ...
    def match_with_paths(
        self,
        visit: Mapping[str, Any],
        overlay: Overlay | None = None,
        beside: Snapshot | None = None,
    ) -> tuple[NDArray[numpy.int64], tuple[str, ...], Paths]: ...
    def unknown_attributes(self, visit: Mapping[str, Any]) -> tuple[str, ...]: ...
    def why_not(
        self, visit: Mapping[str, Any], ids: Iterable[int]
    ) -> dict[int, list[tuple[str | None, str, bool | None]]]: ...
    def to_graphviz(self, entry_id: int) -> str: ...
    def match_batch(
        self, record_batch: object
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]: ...
    def count_batch(
        self,
        record_batch: object,
        groups: ArrayLike | None = None,
        *,
        group_count: int | None = None,
        working_bytes: int = ...,
    ) -> NDArray[numpy.int64]: ...
    def malformed_rows(self, record_batch: object) -> NDArray[numpy.int64]: ...
    def table_parts(self) -> TableParts: ...

"""Holds what an index says of itself to whoever reads its expressions instead of matching with
it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from matcher_ext.plan.plan_buffer import PlanBuffer


@dataclass(frozen=True, slots=True, eq=False)
class TableParts:
    """One state of an index: bound_index.pxd says what each part is."""

    below: PlanBuffer
    beside: PlanBuffer | None
    answer: Callable[[Mapping[str, Any]], Mapping[str, bool | None]]
    dead: Collection[int] = ()
    replaced: Collection[str] = ()
    borrowed: Collection[str] = ()
    answered: Collection[str] = ()

    def is_same(self, other: TableParts) -> bool:
        """Tells whether both are one state: each change makes another snapshot beside."""
        return self.below is other.below and self.beside is other.beside


class Tabled(Protocol):
    """An index that a table can be asked with."""

    @property
    def ids(self) -> NDArray[numpy.int64]: ...
    def table_parts(self) -> TableParts: ...

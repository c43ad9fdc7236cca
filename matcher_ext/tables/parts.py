"""What an index says of itself to whoever reads its expressions instead of matching with it.

What only code can answer is asked of the index all the same: each row becomes a visit again. It
gives the same result, a thousand times slower; `VisitTable.stats()` says for how many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
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
    match_ids: Callable[[Mapping[str, Any]], NDArray[numpy.int64]]
    dead: Collection[int] = ()
    replaced: Collection[str] = ()
    borrowed: Collection[str] = ()
    answered: Collection[str] = ()

    def is_same(self, other: TableParts) -> bool:
        """Whether both are one state: each change makes another snapshot beside."""
        return self.below is other.below and self.beside is other.beside


class Tabled(Protocol):
    """An index that a table can be asked with."""

    @property
    def ids(self) -> NDArray[numpy.int64]: ...
    def table_parts(self) -> TableParts: ...


class RowTable(Protocol):
    """A table whose rows can be read back: (visit, weight, group) of each."""

    def visits(self) -> Iterator[tuple[dict[str, Any], int, int]]: ...


def count_row_by_row(
    table: RowTable,
    match_ids: Callable[[Mapping[str, Any]], NDArray[numpy.int64]],
    ids: NDArray[numpy.int64],
    wanted: NDArray[numpy.bool_],
    found: NDArray[numpy.int64],
    groups: bool,
) -> None:
    """Adds to `found`, by id and group, what matches among the ids that are wanted."""
    for visit, weight, group in table.visits():
        places = numpy.searchsorted(ids, match_ids(visit))
        found[places[wanted[places]], group if groups else 0] += weight

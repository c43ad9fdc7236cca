"""Counts what only code can answer: each row becomes a visit again, and the index is asked for it.

Gives the same result as everything else, a thousand times slower; `VisitTable.stats()` says for how
many rows it was needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

MatchIds = Callable[[Mapping[str, Any]], NDArray[numpy.int64]]


class RowTable(Protocol):
    """A table whose rows can be read back: (visit, weight, group) of each."""

    def visits(self) -> Iterator[tuple[dict[str, Any], int, int]]: ...


def count_row_by_row(
    table: RowTable,
    match_ids: MatchIds,
    ids: NDArray[numpy.int64],
    wanted: NDArray[numpy.bool_],
    found: NDArray[numpy.int64],
    groups: bool,
) -> None:
    """Adds to `found`, by id and group, what matches among the ids that are wanted."""
    for visit, weight, group in table.visits():
        places = numpy.searchsorted(ids, match_ids(visit))
        found[places[wanted[places]], group if groups else 0] += weight

"""Lists what bookings consist of, as texts: the edges of a path and the conditions of a campaign.

A table tells a booking's conditions with what each of them blocks; one without a row tells nothing
else. Each worker words a booking once, when it first meets a visit for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa

from matcher_ext import VisitTable
from pipelines.matching import OpenSnapshot
from targeting.visit_log import PUBLISHER


class BookingConditions:
    """Bookings are meant by their place in the index's ids. Not thread-safe."""

    def __init__(self, index: OpenSnapshot) -> None:
        nothing = pa.table({PUBLISHER: pa.array([], pa.string())})
        self._index = index.snapshot
        self._table = VisitTable.from_arrow(nothing, index.snapshot.catalog, users=None)
        self._known: dict[int, tuple[str, ...]] = {}

    def of(self, place: int) -> tuple[str, ...]:
        """Gives the conditions of a booking. Unless all of them are true of a visit at the
        publisher, the booking is not eligible for it."""
        return self._known[place]

    def word(self, places: Iterable[int]) -> None:
        new = [place for place in places if place not in self._known]
        ids = self._index.ids[new].tolist()
        found = self._table.sole_blockers(self._index, ids) if new else {}
        for place, booking_id in zip(new, ids, strict=True):
            blockers = found.get(booking_id, ())
            self._known[place] = tuple(each.condition for each in blockers)


@lru_cache(maxsize=1)
def conditions_of(index: OpenSnapshot) -> BookingConditions:
    return BookingConditions(index)

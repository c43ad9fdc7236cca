"""Shows bookings as one visit sees them: those that take any path come with the cheapest path for
this visit, and take their place in the order of answers by what it leaves.

Made only for answers that have such a booking; all others are put together from ready items.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from exchange.serving.bookings import NET_CPM_AT
from exchange.serving.changed_bookings import SharedBookings
from matcher_ext.serving import Integers, Paths, Terms, fee_percent_of, find_worth


class RoutedBookings:
    """A view for one answer, over bookings that are shared by all."""

    def __init__(self, below: SharedBookings, paths: Paths) -> None:
        self._below = below
        self._paths = paths

    def best_rows(self, booking_ids: Integers, limit: int | None) -> list[int]:
        rows = self._below.rows_of(booking_ids)
        net_cpm, _ = self._worth(rows)
        order = Terms(net_cpm, self._below.campaigns_of(rows), booking_ids).order()
        best: list[int] = rows.take(order[:limit]).tolist()
        return best

    def rows_by_campaign(self, booking_ids: Integers, limit: int | None) -> list[int]:
        return self._below.rows_by_campaign(booking_ids, limit)

    def keep_campaigns(self, booking_ids: Integers, campaign_ids: Sequence[int]) -> Integers:
        return self._below.keep_campaigns(booking_ids, campaign_ids)

    def fragments(self, rows: Sequence[int]) -> list[bytes | memoryview]:
        return self._write(rows, has_paths=True)

    def pathless_fragments(self, rows: Sequence[int]) -> list[bytes | memoryview]:
        return self._write(rows, has_paths=False)

    def _write(self, rows: Sequence[int], *, has_paths: bool) -> list[bytes | memoryview]:
        below = self._below
        items: list[bytes | memoryview] = list(
            below.fragments(rows) if has_paths else below.pathless_fragments(rows)
        )
        found = np.array(rows, np.int64)
        reaches = below.reaches_of(found)
        net_cpm, shares = self._worth(found)
        for place in np.flatnonzero(reaches).tolist():
            items[place] = self._write_item(
                bytes(items[place]),
                net_cpm[place].item(),
                fee_percent_of(shares[place].item()),
                self._paths.labels(reaches[place].item()) if has_paths else None,
            )
        return items

    def _write_item(
        self, item: bytes, net_cpm: float, fee_percent: float, path: list[str] | None
    ) -> bytes:
        """Writes the item up to its terms, and then this visit's own terms."""
        terms = {"net_cpm": net_cpm, "fee_percent": fee_percent}
        if path is not None:
            terms |= {"path": path}  # type: ignore[dict-item]
        return b"%s,%s" % (item[: item.rindex(NET_CPM_AT)], msgspec.json.encode(terms)[1:])

    def _worth(self, rows: Integers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Computes what is left of each row's price, and the share that it is."""
        return find_worth(self._below.prices_of(rows), self._below.reaches_of(rows), self._paths)

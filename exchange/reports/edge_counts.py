"""What the last night counted of edges: how many visits reached each, passed it, or did not say
what its rule asks for. The one place that the graph's widths and colours come from.

No job counts edges yet, only campaigns at publishers (`EligibleVisits`): until one does, every
answer is "not counted yet", and lines are drawn plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date


@dataclass(frozen=True, slots=True)
class EdgeCount:
    """Visits of one day: `passed` and `unknown` of those `offered`; the rest the rule excludes."""

    offered: int
    passed: int
    unknown: int = 0

    @property
    def percent(self) -> float | None:
        return 100 * self.passed / self.offered if self.offered else None

    @property
    def lost(self) -> int:
        return self.offered - self.passed


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """Of one `day`, or of none: not counted yet."""

    day: date | None = None
    by_edge: Mapping[int, EdgeCount] = field(default_factory=dict)

    def of(self, edge_id: int) -> EdgeCount | None:
        return self.by_edge.get(edge_id)

    def sum(self, edge_ids: Iterable[int]) -> EdgeCount | None:
        """Over several edges, so of visits at each of them; None if none of them was counted."""
        found = [self.by_edge[pk] for pk in edge_ids if pk in self.by_edge]
        if not found:
            return None
        return EdgeCount(
            sum(one.offered for one in found),
            sum(one.passed for one in found),
            sum(one.unknown for one in found),
        )


NOT_COUNTED = EdgeCounts()


def read_edge_counts(edge_ids: Iterable[int]) -> EdgeCounts:  # noqa: ARG001, once a job counts them
    """Of these edges on the newest day that was counted."""
    return NOT_COUNTED

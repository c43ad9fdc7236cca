"""Reads what the last night counted of edges: of how many of the day's visits the rule of each was
true, or unknown. The one place that the graph's widths and colours come from.

Read from the table of the job `truth_rates`, which asks every rule about every visit of the day,
whether or not the visit comes that far. Where no night was counted, or its table cannot be read on
this machine, the answer is "not counted yet", and lines are drawn plain.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from targeting.report_tables import list_days, read_table

logger = logging.getLogger(__name__)

JOB, TABLE, KIND = "truth_rates", "conditions", "edge"
COLUMNS = ("kind", "condition", "true_visits", "false_visits", "unknown_visits")
LOOK_EVERY_SECONDS = 60  # for a newer night: the table may lie far away
DAYS_TRIED = 3  # the newest folder may hold what a killed run left


@dataclass(frozen=True, slots=True)
class EdgeCount:
    """Visits of one day: `passed` and `unknown` of all that were `judged`; the rest the rule
    excludes."""

    judged: int
    passed: int
    unknown: int = 0

    @property
    def percent(self) -> float | None:
        return 100 * self.passed / self.judged if self.judged else None

    @property
    def lost(self) -> int:
        return self.judged - self.passed


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """The counts of one `day`, or of none: not counted yet."""

    day: date | None = None
    by_edge: Mapping[int, EdgeCount] = field(default_factory=dict)

    def of(self, edge_id: int) -> EdgeCount | None:
        return self.by_edge.get(edge_id)

    def sum(self, edge_ids: Iterable[int]) -> EdgeCount | None:
        """Sums over edges, so of visits at each of them; None if none of them was counted."""
        found = [self.by_edge[pk] for pk in edge_ids if pk in self.by_edge]
        if not found:
            return None
        return EdgeCount(
            sum(one.judged for one in found),
            sum(one.passed for one in found),
            sum(one.unknown for one in found),
        )


NOT_COUNTED = EdgeCounts()


def read_edge_counts() -> EdgeCounts:
    """Reads the counts of all edges on the newest counted day; kept in the process for a minute."""
    return look(str(settings.REPORT_DIR), int(time.monotonic() // LOOK_EVERY_SECONDS))


@lru_cache(maxsize=1)
def look(out: str, minute: int) -> EdgeCounts:  # noqa: ARG001, a later look
    try:
        for day in sorted(list_days(out, JOB), reverse=True)[:DAYS_TRIED]:
            rows = read_table(out, JOB, TABLE, day, COLUMNS)
            if rows is not None:
                return EdgeCounts(day, read_rows(rows))
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        logger.warning("No counts of edges from %s: %s", out, error)
    return NOT_COUNTED


def read_rows(rows: pa.Table) -> dict[int, EdgeCount]:
    edges = rows.filter(pc.equal(rows["kind"], KIND))
    columns = (edges[name].to_pylist() for name in COLUMNS[1:])
    return {
        int(edge_id): EdgeCount(true + false + unknown, true, unknown)
        for edge_id, true, false, unknown in zip(*columns, strict=True)
        if edge_id.isdecimal()
    }

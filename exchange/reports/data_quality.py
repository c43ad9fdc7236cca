"""Reads what the newest night says about the traffic's data: fill rates of all visits, how they
moved, and keys in the log that no attribute maps."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

import pyarrow as pa
from django.conf import settings

from targeting.report_tables import list_days, read_table

logger = logging.getLogger(__name__)

JOB = "data_quality"
LOOK_EVERY_SECONDS = 60
DAYS_TRIED = 3  # the newest folder may hold what a killed run left
DRIFTED = 0.1  # a tenth of all visits more, or fewer, than usual


@dataclass(frozen=True, slots=True)
class Measured:
    """Of all visits of a day: shares of one. `drift` is against the median of the week before,
    None without one."""

    fill_rate: float
    drift: float | None
    wrong_type: int
    unknown_values: int
    distinct_values: int

    @property
    def percent(self) -> float:
        return 100 * self.fill_rate

    @property
    def drift_points(self) -> float | None:
        return None if self.drift is None else 100 * self.drift

    @property
    def has_drifted(self) -> bool:
        return self.drift is not None and abs(self.drift) >= DRIFTED


@dataclass(frozen=True, slots=True)
class DataQuality:
    """`unmapped` are keys with the rows that had them, the most frequent first."""

    day: date
    visits: int
    attributes: dict[str, Measured] = field(default_factory=dict)
    unmapped: tuple[tuple[str, int], ...] = ()


def read_quality() -> DataQuality | None:
    """Reads the newest night's figures; gives None if no night was measured yet, or its tables
    cannot be read."""
    return read_newest(str(settings.REPORT_DIR), int(time.monotonic() // LOOK_EVERY_SECONDS))


@lru_cache(maxsize=1)
def read_newest(out: str, minute: int) -> DataQuality | None:  # noqa: ARG001, a later look
    try:
        for day in sorted(list_days(out, JOB), reverse=True)[:DAYS_TRIED]:
            attributes = read_table(out, JOB, "attributes", day)
            unmapped = read_table(out, JOB, "unmapped", day)
            if attributes is not None and unmapped is not None:
                return describe(day, attributes.to_pylist(), unmapped.to_pylist())
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        logger.warning("No data quality from %s: %s", out, error)
    return None


def describe(
    day: date, attributes: list[dict[str, Any]], unmapped: list[dict[str, Any]]
) -> DataQuality:
    measured = {
        row["attribute"]: Measured(
            fill_rate=row["fill_rate"] or 0.0,
            drift=row["drift"],
            wrong_type=row["wrong_type"],
            unknown_values=row["unknown_values"],
            distinct_values=row["distinct_values"],
        )
        for row in attributes
    }
    keys = sorted(((row["key"], row["rows"]) for row in unmapped), key=lambda it: (-it[1], it[0]))
    visits = max((row["visits"] or 0 for row in attributes), default=0)
    return DataQuality(day, visits, measured, tuple(keys))

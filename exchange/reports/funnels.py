"""Reads what a night counted of one booking: where its visits stayed, and what alone kept them
out. From the tables of the job `funnel`; a booking at whose publisher there was no visit has none.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from django.conf import settings

from targeting.report_tables import list_days, read_table

logger = logging.getLogger(__name__)

JOB = "funnel"
EDGE = "edge."
CAMPAIGN = "campaign"


@dataclass(frozen=True, slots=True)
class NightStep:
    """Of the visits that came: passed, lost to false and to unknown. `name` is `edge.17`,
    `reach.9.3` where any path will do, or `campaign`."""

    name: str
    came: int
    passed: int
    false: int
    unknown: int

    @property
    def edge_id(self) -> int | None:
        return edge_id_of(self.name)


@dataclass(frozen=True, slots=True)
class NightBlocker:
    """A condition, and the visits that everything but this one lets by."""

    condition: str
    visits: int

    @property
    def edge_id(self) -> int | None:
        return edge_id_of(self.condition.removeprefix("@"))


@dataclass(frozen=True, slots=True)
class NightFunnel:
    day: date
    steps: tuple[NightStep, ...]
    blockers: tuple[NightBlocker, ...]

    @property
    def eligible(self) -> int:
        return self.steps[-1].passed if self.steps else 0

    @property
    def visits(self) -> int:
        return self.steps[0].came if self.steps else 0


def edge_id_of(name: str) -> int | None:
    number = name.removeprefix(EDGE)
    return int(number) if number != name and number.isdecimal() else None


def list_nights() -> list[date]:
    """Days with a counted funnel, newest first."""
    try:
        return sorted(list_days(str(settings.REPORT_DIR), JOB), reverse=True)
    except (OSError, ValueError) as error:
        logger.warning("No nights of funnels: %s", error)
        return []


def read_funnel(day: date, booking_id: int) -> NightFunnel | None:
    """Reads one booking's; None if the day was not counted, or its table cannot be read."""
    out, only = str(settings.REPORT_DIR), [("booking_id", "=", booking_id)]
    try:
        steps = read_table(out, JOB, "steps", day, filters=only)
        blockers = read_table(out, JOB, "blockers", day, filters=only)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        logger.warning("No funnel of %s: %s", day, error)
        return None
    if steps is None or blockers is None:
        return None
    return NightFunnel(day, tuple(read_steps(steps)), tuple(read_blockers(blockers)))


def read_steps(rows: pa.Table) -> list[NightStep]:
    found = sorted(rows.to_pylist(), key=lambda row: row["step"])
    return [
        NightStep(
            row["name"], row["came"], row["passed"], row["lost_to_false"], row["lost_to_unknown"]
        )
        for row in found
    ]


def read_blockers(rows: pa.Table) -> list[NightBlocker]:
    """Reads the conditions that alone keep visits out; those that keep most out come first."""
    found = [NightBlocker(row["condition"], row["visits"]) for row in rows.to_pylist()]
    kept = [blocker for blocker in found if blocker.visits]
    return sorted(kept, key=lambda blocker: (-blocker.visits, blocker.condition))

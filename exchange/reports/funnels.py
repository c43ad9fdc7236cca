"""Reads what a night counted of one booking: where its visits stayed, and what alone kept them
out. From the tables of the job `funnel`; a booking at whose publisher there was no visit has none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from django.conf import settings

from targeting.report_tables import list_days, read_table

logger = logging.getLogger(__name__)

JOB = "funnel"
EDGE, REACH = "edge.", "reach."
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
    """A condition, and the visits that everything but this one lets by. `condition` is a part of
    the campaign as the index has it, `@edge.17`, `@reach.9.3`, or `campaign` for all of it."""

    condition: str
    visits: int

    @property
    def is_path(self) -> bool:
        return self.condition.startswith(f"@{REACH}")

    @property
    def is_campaigns(self) -> bool:
        return self.edge_id is None and not self.is_path

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

    def hide_campaign(self) -> tuple[NightBlocker, ...]:
        """Makes one of the campaign's blockers: what all edges let by and the campaign does not."""
        kept = [blocker for blocker in self.blockers if not blocker.is_campaigns]
        last = self.steps[-1]
        lost = last.came - last.passed
        if last.name == CAMPAIGN and lost:
            kept.append(NightBlocker(CAMPAIGN, lost))
        return rank(kept)


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
    return NightFunnel(day, tuple(read_steps(steps)), read_blockers(blockers))


def read_steps(rows: pa.Table) -> list[NightStep]:
    found = sorted(rows.to_pylist(), key=lambda row: row["step"])
    return [
        NightStep(
            row["name"], row["came"], row["passed"], row["lost_to_false"], row["lost_to_unknown"]
        )
        for row in found
    ]


def read_blockers(rows: pa.Table) -> tuple[NightBlocker, ...]:
    """Reads the conditions that alone keep visits out; those that keep most out come first."""
    found = [NightBlocker(row["condition"], row["visits"]) for row in rows.to_pylist()]
    return rank(blocker for blocker in found if blocker.visits)


def rank(blockers: Iterable[NightBlocker]) -> tuple[NightBlocker, ...]:
    return tuple(sorted(blockers, key=lambda blocker: (-blocker.visits, blocker.condition)))

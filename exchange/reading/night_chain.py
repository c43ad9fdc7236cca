"""Reads the steps of a run, from the market at the day's end to the check of bookings, and their
states.

    snapshot -> count -> load -> truth rates -> findings

Read from what the run noted; nothing here starts a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum

from exchange.findings.models import CheckedUpTo
from exchange.reports.models import DaySnapshot, JobRun, ReportRun
from exchange.reports.run_notes import LOAD

TRUTH_RATES = "truth_rates"


class State(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Step:
    """`words` say what it did, or is at; `at` is a moment that belongs to them."""

    name: str
    state: State
    words: str = ""
    at: datetime | None = None

    @property
    def label(self) -> str:
        return {State.SKIPPED: "Not reached"}.get(self.state, self.state.capitalize())


def read_chain(run: ReportRun, jobs: Sequence[JobRun]) -> list[Step]:
    counting = [job for job in jobs if job.job not in (LOAD, TRUTH_RATES)]
    return [
        read_snapshot(run, jobs),
        sum_up("Count", run, counting),
        sum_up("Load", run, [job for job in jobs if job.job == LOAD]),
        sum_up("Truth rates", run, [job for job in jobs if job.job == TRUTH_RATES]),
        read_findings(run),
    ]


def read_snapshot(run: ReportRun, jobs: Sequence[JobRun]) -> Step:
    """Tells which market counted the run's last day."""
    known = next((job.snapshot_id for job in reversed(jobs) if job.snapshot_id), run.snapshot_id)
    if not known:
        return Step("Snapshot", rest_of(run))
    noted = DaySnapshot.objects.filter(day=run.last_day, snapshot_id=known).first()
    if noted is None or noted.read_at is None:
        return Step("Snapshot", State.DONE, f"{known[:8]}")
    ends = datetime.combine(run.last_day + timedelta(days=1), time.min, UTC)
    which = (
        "the market at the day's end" if noted.read_at >= ends else "no build since the day's end"
    )
    return Step("Snapshot", State.DONE, f"{known[:8]}: {which}", noted.read_at)


def sum_up(name: str, run: ReportRun, jobs: Sequence[JobRun]) -> Step:
    if not jobs:
        return Step(name, rest_of(run))
    done = sum(job.status in (JobRun.Status.DONE, JobRun.Status.NO_LOG) for job in jobs)
    seconds = sum(job.seconds for job in jobs)
    rows = sum(job.rows_written for job in jobs)
    if any(job.status == JobRun.Status.FAILED for job in jobs):
        return Step(name, State.FAILED, f"{len(jobs) - done} of {len(jobs)} failed")
    if done < len(jobs) or (name == "Count" and run.status == ReportRun.Status.RUNNING):
        return Step(name, State.RUNNING, f"{done} done so far, {seconds:.0f} s")
    return Step(name, State.DONE, f"{rows:,} rows, {seconds:.1f} s")


def rest_of(run: ReportRun) -> State:
    """Gives the state of a step of which nothing was noted."""
    return State.WAITING if run.is_open else State.SKIPPED


def read_findings(run: ReportRun) -> Step:
    """Tells whether all bookings were checked since. That check follows every run; one that ended
    after the run looked at its figures."""
    if run.finished_at is None:
        return Step("Findings", State.WAITING)
    checked = CheckedUpTo.objects.values_list("all_checked_at", flat=True).first()
    if checked is None or checked < run.finished_at:
        return Step("Findings", State.WAITING, "the check of all bookings is on its way")
    return Step("Findings", State.DONE, "all bookings were checked", checked)

"""Notes what becomes of each job of a run, and what the jobs write, for the page of the run."""

from __future__ import annotations

from collections.abc import Iterable

from exchange.reports.job import JobBegan, JobDone
from exchange.reports.models import JobRun, ReportRun, RunLog

LOAD = "load"
LOG_CHARACTERS = 200_000


def note_began(run: ReportRun, began: JobBegan) -> None:
    JobRun.objects.update_or_create(
        run=run, day=began.day, job=began.job, defaults={"status": JobRun.Status.RUNNING}
    )


def note_job(run: ReportRun, done: JobDone) -> None:
    JobRun.objects.update_or_create(
        run=run,
        day=done.day,
        job=done.job,
        defaults={
            "status": done.status,
            "seconds": done.seconds,
            "rows_read": done.input.get("visits", 0),
            "rows_written": sum(done.output.values()),
            "snapshot_id": done.snapshot_id,
            "error": done.error,
        },
    )


def note_load(run: ReportRun, *, rows: int, seconds: float) -> None:
    """Notes the step that is ours: it belongs to the run's last day."""
    JobRun.objects.update_or_create(
        run=run,
        day=run.last_day,
        job=LOAD,
        defaults={"status": JobRun.Status.DONE, "rows_written": rows, "seconds": seconds},
    )


def note_left(run: ReportRun) -> None:
    """Notes that what was at work when the run ended did not come to its end."""
    left = JobRun.objects.filter(run=run, status=JobRun.Status.RUNNING)
    left.update(status=JobRun.Status.FAILED, error="It was ended with its run.")


def keep_log(run: ReportRun, lines: Iterable[str]) -> None:
    """Keeps the end of what was written. A copy first: the job's thread may be at it."""
    text = "".join(tuple(lines))[-LOG_CHARACTERS:].replace("\0", "")
    RunLog.objects.update_or_create(run=run, defaults={"text": text})

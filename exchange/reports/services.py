"""Asks for report runs, runs them one at a time, and loads what they counted.

A run is claimed by compare-and-set; its heartbeat is its lease. A run that loses the lease stops
its job and loads nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import pairwise

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from exchange.accounts.models import User
from exchange.accounts.permissions import may_start
from exchange.announcing import announce
from exchange.reports.day_snapshots import make_orders, note_days, remove_unneeded
from exchange.reports.job import JobDone, JobError, Tasks, explain_error, run_job
from exchange.reports.models import DailyVisits, JobRun, ReportRun
from exchange.reports.queries import keep_newest_days
from exchange.reports.summaries import replace_days
from targeting.visit_log import list_days

MAX_DAYS_PER_RUN = 92
MAX_NIGHTLY_DAYS = 14
SILENCE = timedelta(minutes=2)
SECOND_CLICK = timedelta(seconds=5)
RUN_TASK = "reports.run"
# The job whose tables are loaded.
COUNTING = "eligibility"

logger = logging.getLogger(__name__)
Progress = Callable[[JobDone], None]


class LeaseLostError(Exception):
    """Says that somebody gave this run up while we were still at it."""


def logged_days() -> list[date]:
    """Lists the days of the visit log, oldest first."""
    return list_days(settings.VISIT_LOG_DIR)


@transaction.atomic
def create_run(*, first_day: date, last_day: date, requested_by: User | None = None) -> ReportRun:
    """Queues a run; the same days already waiting are not queued twice. Nor are those that the same
    person asked for a moment ago: who clicks twice may find the first run started."""
    if requested_by is not None and not may_start(requested_by, "report_run"):
        raise PermissionDenied("Only analysts and administrators of the exchange run reports.")
    check_days(first_day, last_day)
    days = {"first_day": first_day, "last_day": last_day}
    while True:
        if standing := find_standing(requested_by, **days):
            return standing
        try:
            with transaction.atomic():
                return ReportRun.objects.create(**days, requested_by=requested_by)
        except IntegrityError:
            continue  # another request came first; the next look finds it


def find_standing(by: User | None, **days: date) -> ReportRun | None:
    runs = ReportRun.objects.filter(**days)
    waiting = runs.filter(status=ReportRun.Status.QUEUED).first()
    if waiting or by is None:
        return waiting
    return runs.filter(requested_by=by, requested_at__gt=timezone.now() - SECOND_CLICK).first()


def check_days(first_day: date, last_day: date) -> None:
    if last_day < first_day:
        raise ValidationError("The last day is before the first. Swap them.")
    if (last_day - first_day).days >= MAX_DAYS_PER_RUN:
        raise ValidationError(f"Choose at most {MAX_DAYS_PER_RUN} days for one run.")
    if first_day > timezone.now().date():
        raise ValidationError("These days are yet to come, so there is no visit log for them.")


@transaction.atomic
def request_run(*, first_day: date, last_day: date, requested_by: User | None = None) -> ReportRun:
    give_up_silent()
    run = create_run(first_day=first_day, last_day=last_day, requested_by=requested_by)
    # Robust, because the run is saved: while the broker is down it waits for the next start.
    transaction.on_commit(lambda: announce(RUN_TASK, [run.pk]), robust=True)
    return run


def request_nightly(*, today: date) -> list[ReportRun]:
    """Yesterday, and whatever of the log was never reported, as few runs as there are gaps."""
    return [
        request_run(first_day=first, last_day=last) for first, last in stretches(due_days(today))
    ]


def due_days(today: date) -> list[date]:
    """Lists days to report. Yesterday is due even if it was reported: its log was perhaps not
    complete then."""
    yesterday = today - timedelta(days=1)
    reported = set(DailyVisits.objects.values_list("day", flat=True).distinct())
    due = [
        day for day in logged_days() if day < today and (day not in reported or day == yesterday)
    ]
    if yesterday not in due:
        logger.warning("the visit log has no folder for yesterday, %s", yesterday)
    return due[-MAX_NIGHTLY_DAYS:]


def stretches(days: Iterable[date]) -> Iterator[tuple[date, date]]:
    """Yields ascending days as (first, last) of each unbroken row of days."""
    ordered = list(days)
    if not ordered:
        return
    first = ordered[0]
    for day, following in pairwise(ordered):
        if following - day > timedelta(days=1):
            yield first, day
            first = following
    yield first, ordered[-1]


def run(*, run_id: int, on_day: Progress | None = None) -> ReportRun:
    """Runs a queued run, unless another is running: then it waits for its turn."""
    give_up_silent()
    if claim(run_id):
        try:
            work(ReportRun.objects.get(pk=run_id), on_day)
        finally:
            start_next()
    return ReportRun.objects.get(pk=run_id)


def claim(run_id: int) -> bool:
    now = timezone.now()
    queued = ReportRun.objects.filter(pk=run_id, status=ReportRun.Status.QUEUED)
    try:
        with transaction.atomic():
            claimed = queued.update(
                status=ReportRun.Status.RUNNING,
                phase="Starting Spark",
                started_at=now,
                heartbeat_at=now,
            )
    except IntegrityError:  # one_report_at_a_time
        return False
    return claimed == 1


def give_up_silent(*, now: datetime | None = None) -> int:
    """Fails the run whose worker was killed, so that others can go on."""
    silent = ReportRun.objects.filter(
        status=ReportRun.Status.RUNNING, heartbeat_at__lt=(now or timezone.now()) - SILENCE
    )
    return silent.update(
        status=ReportRun.Status.FAILED,
        finished_at=timezone.now(),
        error="The run stopped without a word: its worker was probably restarted. Run it again.",
    )


def sweep() -> None:
    """Fails the run that lost its worker, starts one whose message was lost; every minute."""
    give_up_silent()
    start_next()


def start_next() -> None:
    if ReportRun.objects.filter(status=ReportRun.Status.RUNNING).exists():
        return
    waiting = ReportRun.objects.filter(status=ReportRun.Status.QUEUED).order_by("id").first()
    if waiting is not None:
        announce(RUN_TASK, [waiting.pk])


def work(run: ReportRun, on_day: Progress | None) -> None:
    """Job, load, done; whatever fails is written down for the people who wait."""
    try:
        days = count_days(run, on_day)
        load_summary(run=run, days=days)
    except (JobError, LeaseLostError) as error:
        fail(run, str(error))
    except SoftTimeLimitExceeded:
        fail(run, "The run took longer than it may, and was ended. Choose fewer days.")
        raise
    except BaseException:
        fail(run, "The run failed because of a fault in the program. The server's log has details.")
        raise


def count_days(run: ReportRun, on_day: Progress | None) -> list[JobDone]:
    """Runs all jobs and gives back each day's counting; fails with the first that failed."""
    days: list[JobDone] = []
    for order in list(make_orders(run.first_day, run.last_day)):
        for said in run_job(order, beat=lambda: keep_lease(run)):
            if isinstance(said, Tasks):
                keep_lease(run, tasks=said.tasks, tasks_done=said.tasks_done)
                continue
            note_job(run, said)
            if said.job == COUNTING:
                days.append(take_counted(said))
                if on_day is not None:
                    on_day(said)
            phase = f"{said.day}: {said.job.replace('_', ' ')}"
            keep_lease(run, days_done=len(days), phase=phase)
    return days


def take_counted(day: JobDone) -> JobDone:
    if day.error:
        raise JobError(explain_error(day.error))
    return day


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
            "error": done.error,
        },
    )


def keep_lease(run: ReportRun, **changes: object) -> None:
    held = ReportRun.objects.filter(pk=run.pk, status=ReportRun.Status.RUNNING)
    if held.update(heartbeat_at=timezone.now(), **changes) != 1:
        raise LeaseLostError(f"report run {run.pk} was given up")


@transaction.atomic
def load_summary(*, run: ReportRun, days: list[JobDone]) -> None:
    """Replaces the days in Postgres and finishes the run, or neither."""
    with_log = [day for day in days if day.has_log]
    if not with_log:
        raise JobError(
            f"The visit log has no day from {run.first_day} to {run.last_day}. "
            "Choose days that were logged."
        )
    keep_lease(run, phase="Loading the numbers")
    loaded = replace_days(run=run, days=[day.day for day in with_log], out=str(settings.REPORT_DIR))
    keep_lease(
        run,
        status=ReportRun.Status.DONE,
        phase="",
        finished_at=timezone.now(),
        snapshot_id=with_log[-1].snapshot_id,
        days_without_log=len(days) - len(with_log),
        visits_counted=sum(day.input["visits"] for day in with_log),
        visits_late=sum(day.input["late"] for day in with_log),
        visits_malformed=sum(day.input["malformed"] for day in with_log),
        visits_duplicate=sum(day.input["duplicates"] for day in with_log),
        values_of_wrong_type=loaded.wrong_values,
        visits_unknown_publisher=loaded.unknown_visits,
    )
    note_days((day.day, day.snapshot_id) for day in with_log)
    keep_newest_days()
    remove_unneeded(logged_days())


def fail(run: ReportRun, message: str) -> None:
    """Only a run that is still ours: one that was given up has its message already."""
    ReportRun.objects.filter(pk=run.pk, status=ReportRun.Status.RUNNING).update(
        status=ReportRun.Status.FAILED, finished_at=timezone.now(), error=message
    )

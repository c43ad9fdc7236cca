"""Asks for report runs, runs them one at a time, and loads what they counted.

A run is claimed by compare-and-set; its heartbeat is its lease. A run that loses the lease stops
its job and loads nothing.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import pairwise

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from exchange.accounts.models import User
from exchange.accounts.permissions import may_start
from exchange.announcing import announce
from exchange.reports.day_snapshots import make_orders, note_days, remove_unneeded
from exchange.reports.job import (
    LOG_LINES,
    JobBegan,
    JobDone,
    JobError,
    Said,
    Tasks,
    explain_error,
    run_job,
)
from exchange.reports.models import DailyVisits, ReportRun
from exchange.reports.queries import keep_newest_days
from exchange.reports.run_notes import keep_log, note_began, note_job, note_left, note_load
from exchange.reports.summaries import replace_days
from targeting.visit_log import list_days

MAX_DAYS_PER_RUN = 92
MAX_NIGHTLY_DAYS = 14
SILENCE = timedelta(minutes=2)
SECOND_CLICK = timedelta(seconds=5)
RUN_TASK = "reports.run"
# Last in the night's chain, because it looks at what was loaded.
CHECK_TASK = "findings.check_all"
# Of a run that nobody asked for by hand: tonight's figures should not wait for tomorrow.
MAX_ATTEMPTS = 3
RETRY_AFTER = timedelta(minutes=10)
# The job whose tables are loaded.
COUNTING = "eligibility"

logger = logging.getLogger(__name__)
Progress = Callable[[JobDone], None]


class NothingLoggedError(JobError):
    """There is no such day in the log: to try again is of no use."""


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
    """Requests yesterday, and whatever of the log was never reported, in as few runs as there are
    gaps. A night without any still ends with the check of bookings."""
    runs = [
        request_run(first_day=first, last_day=last) for first, last in stretches(due_days(today))
    ]
    if not runs:
        announce(CHECK_TASK)
    return runs


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
            announce(CHECK_TASK)
            start_next()
    return ReportRun.objects.get(pk=run_id)


def claim(run_id: int) -> bool:
    now = timezone.now()
    queued = due(ReportRun.objects.filter(pk=run_id))
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


def due(runs: QuerySet[ReportRun]) -> QuerySet[ReportRun]:
    """Chooses the runs that wait, but for retries whose time has not come."""
    is_time = Q(start_after=None) | Q(start_after__lte=timezone.now())
    return runs.filter(is_time, status=ReportRun.Status.QUEUED)


def give_up_silent(*, now: datetime | None = None) -> int:
    """Fails the run whose worker was killed, so that others can go on."""
    silent = ReportRun.objects.filter(
        status=ReportRun.Status.RUNNING, heartbeat_at__lt=(now or timezone.now()) - SILENCE
    )
    words = "The run stopped without a word: its worker was probably restarted. Run it again."
    return sum(fail(run, words) for run in silent)


def sweep() -> None:
    """Fails the run that lost its worker, starts one whose message was lost; every minute."""
    give_up_silent()
    start_next()


def start_next() -> None:
    if ReportRun.objects.filter(status=ReportRun.Status.RUNNING).exists():
        return
    waiting = due(ReportRun.objects.order_by("id")).first()
    if waiting is not None:
        announce(RUN_TASK, [waiting.pk])


def work(run: ReportRun, on_day: Progress | None) -> None:
    """Runs the job and loads its summary; whatever fails is written down for the people who
    wait."""
    log: deque[str] = deque(maxlen=LOG_LINES)
    try:
        days = count_days(run, on_day, log)
        load_summary(run=run, days=days)
    except NothingLoggedError as error:
        fail(run, str(error), may_retry=False)
    except (JobError, LeaseLostError) as error:
        fail(run, str(error))
    except SoftTimeLimitExceeded:
        words = "The run took longer than it may, and was ended. Choose fewer days."
        fail(run, words, may_retry=False)
        raise
    except BaseException:
        fail(run, "The run failed because of a fault in the program. The server's log has details.")
        raise
    finally:
        keep_log(run, log)


def count_days(run: ReportRun, on_day: Progress | None, log: deque[str]) -> list[JobDone]:
    """Runs all jobs and gives back each day's counting; fails with the first that failed."""
    days: list[JobDone] = []
    for order in list(make_orders(run.first_day, run.last_day)):
        for said in run_job(order, beat=lambda: keep_lease(run), log=log):
            note(run, said)
            if isinstance(said, JobDone) and said.job == COUNTING:
                days.append(take_counted(said))
                keep_lease(run, days_done=len(days))
                keep_log(run, log)
                if on_day is not None:
                    on_day(said)
    return days


def note(run: ReportRun, said: Said) -> None:
    """Notes for those who watch how far the run is."""
    if isinstance(said, Tasks):
        keep_lease(run, stages=said.stages, tasks=said.tasks, tasks_done=said.tasks_done)
    elif isinstance(said, JobBegan):
        note_began(run, said)
        phase = f"{said.day}: {said.job.replace('_', ' ')}"
        keep_lease(run, phase=phase, stages=0, tasks=0, tasks_done=0)
    else:
        note_job(run, said)


def take_counted(day: JobDone) -> JobDone:
    if day.error:
        raise JobError(explain_error(day.error))
    return day


def keep_lease(run: ReportRun, **changes: object) -> None:
    held = ReportRun.objects.filter(pk=run.pk, status=ReportRun.Status.RUNNING)
    if held.update(heartbeat_at=timezone.now(), **changes) != 1:
        raise LeaseLostError(f"report run {run.pk} was given up")


@transaction.atomic
def load_summary(*, run: ReportRun, days: list[JobDone]) -> None:
    """Replaces the days in Postgres and finishes the run, or neither."""
    with_log = [day for day in days if day.has_log]
    if not with_log:
        raise NothingLoggedError(
            f"The visit log has no day from {run.first_day} to {run.last_day}. "
            "Choose days that were logged."
        )
    keep_lease(run, phase="Loading the numbers")
    started = time.monotonic()
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
    note_load(run, rows=loaded.rows, seconds=time.monotonic() - started)
    note_days((day.day, day.snapshot_id) for day in with_log)
    keep_newest_days()
    remove_unneeded(logged_days())


def fail(run: ReportRun, message: str, *, may_retry: bool = True) -> int:
    """Fails a run that is still ours, and says how many that were: one that was given up has its
    message already. One that nobody asked for by hand is tried again, later."""
    failed = ReportRun.objects.filter(pk=run.pk, status=ReportRun.Status.RUNNING).update(
        status=ReportRun.Status.FAILED, finished_at=timezone.now(), error=message
    )
    if failed:
        note_left(run)
        if may_retry and run.requested_by_id is None and run.attempt < MAX_ATTEMPTS:
            queue_retry(run)
    return failed


def queue_retry(run: ReportRun) -> ReportRun:
    """Queues the same days once more; `sweep` starts them when it is time."""
    again = create_run(first_day=run.first_day, last_day=run.last_day)
    ReportRun.objects.filter(pk=again.pk).update(
        attempt=run.attempt + 1, start_after=timezone.now() + RETRY_AFTER * run.attempt
    )
    return again

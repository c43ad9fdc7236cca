"""The night's chain: what each job is at, what is tried again, what is kept of a run's log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import Organisation, Role, User
from exchange.findings.models import CheckedUpTo
from exchange.market.models import Party
from exchange.reading.night_chain import State, read_chain
from exchange.reports import services
from exchange.reports.freshness import expected_day, read_freshness
from exchange.reports.job import JobBegan, JobDone, JobError, JobOrder, Said, Tasks
from exchange.reports.models import DailyVisits, JobRun, ReportRun, RunLog
from exchange.site.health import watch
from tests.people import hire
from tests.reports.summaries import FIRST, SNAPSHOT_ID, day_done, make_run, write_day

Status = ReportRun.Status
pytestmark = pytest.mark.django_db


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tasks that were announced."""
    sent: list[str] = []
    monkeypatch.setattr(services, "announce", lambda task, *_: sent.append(task))
    return sent


def saying(
    monkeypatch: pytest.MonkeyPatch, *said: Said | Exception, log: tuple[str, ...] = ()
) -> None:
    """Stands in for Spark, which `test_tasks` runs for real: says these lines, or fails."""

    def run_job(order: JobOrder, beat: Any, log: deque[str]) -> Iterator[Said]:
        log.extend(written)
        for each in said:
            if isinstance(each, Exception):
                raise each
            yield each

    written = log
    monkeypatch.setattr(services, "run_job", run_job)
    monkeypatch.setattr(
        services, "make_orders", lambda first, last: [JobOrder(Path("snapshot"), first, last)]
    )


@pytest.fixture
def counted(report_folder: Path, visit_log: Path, herald: Party) -> None:
    """Writes what the job leaves of the first day."""
    write_day(report_folder, FIRST, eligible=[], visits={"daily-herald": 9})


@pytest.mark.usefixtures("counted")
def test_each_job_is_noted_as_it_begins_and_ends_and_the_check_follows(
    monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    truth = JobDone("truth_rates", FIRST, "done", SNAPSHOT_ID, 2.0, output={"conditions": 7})
    said = (JobBegan("eligibility", FIRST), day_done(FIRST, visits=9), truth)
    saying(monkeypatch, *said, log=("started\n", "a warning\n"))
    run = services.run(run_id=make_run(last_day=FIRST).pk)
    assert run.status == Status.DONE, run.error
    jobs = list(run.jobs.all())
    assert [(job.job, job.status) for job in jobs] == [
        ("eligibility", "done"),
        ("truth_rates", "done"),
        ("load", "done"),
    ]
    assert run.log.text == "started\na warning\n"
    assert told == [services.CHECK_TASK]
    steps = read_chain(run, jobs)
    assert [(step.name, step.state) for step in steps] == [
        ("Snapshot", State.DONE),
        ("Count", State.DONE),
        ("Load", State.DONE),
        ("Truth rates", State.DONE),
        ("Findings", State.WAITING),
    ]
    CheckedUpTo.objects.create(pk=1, position="", all_checked_at=timezone.now())
    assert read_chain(run, jobs)[-1].state == State.DONE


@pytest.mark.usefixtures("counted")
def test_progress_of_spark_is_seen_while_it_works(
    monkeypatch: pytest.MonkeyPatch, told: list[str], client: Client, carol: User
) -> None:
    seen: list[str] = []

    def look(said: JobDone) -> None:
        client.force_login(carol)
        address = reverse("report-run-detail", args=[ReportRun.objects.get().pk])
        seen.append(client.get(address).content.decode())

    progress = (JobBegan("funnel", FIRST), Tasks(stages=2, tasks_done=3, tasks=8))
    saying(monkeypatch, *progress, day_done(FIRST, visits=9))
    services.run(run_id=make_run(last_day=FIRST).pk, on_day=look)
    (page,) = seen
    assert "2 stages, 3 of 8 tasks" in page
    assert "where visits are lost" in page
    assert 'hx-trigger="every 2s"' in page


def test_a_nightly_run_that_fails_is_tried_again_later_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    saying(monkeypatch, JobBegan("eligibility", FIRST), JobError("The disk is full."), log=("x\n",))
    run = services.run(run_id=make_run(last_day=FIRST).pk)
    assert run.status == Status.FAILED
    assert RunLog.objects.get(run=run).text == "x\n"
    assert JobRun.objects.get(run=run).status == JobRun.Status.FAILED  # it never ended
    again = ReportRun.objects.get(status=Status.QUEUED)
    assert (again.first_day, again.last_day, again.attempt) == (FIRST, FIRST, 2)
    assert again.start_after is not None
    assert again.start_after > timezone.now()
    assert services.RUN_TASK not in told
    assert not services.claim(again.pk)  # not yet
    for attempt in (2, 3):
        ReportRun.objects.filter(status=Status.QUEUED).update(start_after=timezone.now())
        services.sweep()
        assert told[-1] == services.RUN_TASK
        waiting = ReportRun.objects.get(status=Status.QUEUED)
        assert waiting.attempt == attempt
        services.run(run_id=waiting.pk)
    assert not ReportRun.objects.filter(status=Status.QUEUED).exists()


def test_what_a_person_asked_for_or_nobody_logged_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, told: list[str], carol: User, visit_log: Path
) -> None:
    saying(monkeypatch, JobError("The disk is full."))
    services.run(run_id=make_run(last_day=FIRST, requested_by=carol).pk)
    saying(monkeypatch, day_done(FIRST, status="no_log"))
    services.run(run_id=make_run(last_day=FIRST).pk)
    assert set(ReportRun.objects.values_list("status", flat=True)) == {Status.FAILED}


def test_a_night_without_a_log_still_checks_all_bookings(told: list[str], visit_log: Path) -> None:
    services.request_nightly(today=FIRST)
    assert told == [services.CHECK_TASK]


def test_a_run_can_be_run_again_from_its_page(
    client: Client, carol: User, dave: User, visit_log: Path
) -> None:
    run = make_run(
        status=Status.FAILED, error="The disk is full.\n\nTrace", finished_at=timezone.now()
    )
    RunLog.objects.create(run=run, text="WARN a line of Spark")
    address = reverse("report-run-detail", args=[run.pk])
    client.force_login(dave)
    page = client.get(address).content.decode()
    assert "WARN a line of Spark" in page
    assert "Run again" not in page
    client.force_login(carol)
    assert "Run again" in client.get(address).content.decode()
    client.post(reverse("report-run"), {"first_day": run.first_day, "last_day": run.last_day})
    waiting = ReportRun.objects.get(status=Status.QUEUED)
    assert (waiting.first_day, waiting.last_day) == (run.first_day, run.last_day)


def test_logs_and_jobs_are_the_exchanges_own(client: Client, exchange_stranger: User) -> None:
    run = make_run(status=Status.FAILED, error="secret words", finished_at=timezone.now())
    RunLog.objects.create(run=run, text="secret log")
    JobRun.objects.create(run=run, day=FIRST, job="funnel", status="failed", error="secret job")
    client.force_login(exchange_stranger)
    for address in (reverse("report-run-detail", args=[run.pk]), reverse("report-runs")):
        page = client.get(address).content.decode()
        assert client.get(address).status_code == 200
        assert "secret" not in page


@pytest.fixture
def exchange_stranger(db: None) -> User:
    return hire("stranger", Role.ADMIN, Organisation.objects.create(name="Stranger Ltd"))


# --- how fresh


@pytest.mark.parametrize(
    ("hour", "expected"),
    [(1, "2026-11-12"), (5, "2026-11-12"), (6, "2026-11-13"), (23, "2026-11-13")],
)
def test_a_day_is_expected_when_its_night_is_over(hour: int, expected: str) -> None:
    assert str(expected_day(datetime(2026, 11, 14, hour, 30, tzinfo=UTC))) == expected


def test_pages_and_readyz_say_the_same_about_what_is_fresh(
    client: Client, carol: User, herald: Party, settings: Settings, tmp_path: Path
) -> None:
    settings.REPORT_DIR, settings.VISIT_LOG_DIR = tmp_path / "reports", tmp_path / "visits"
    client.force_login(carol)
    run = make_run(status="done")
    expected = read_freshness().expected
    for days_old, is_late in ((3, True), (0, False)):
        day = expected - timedelta(days=days_old)
        DailyVisits.objects.create(day=day, publisher=herald, visits=9, run=run)
        watch.look()
        told = client.get("/readyz").json()["reports"]
        assert told == {"counted_through": str(day), "is_late": is_late}
        for address in ("/reports/", "/reports/runs/"):
            page = client.get(address).content.decode()
            assert f"Counted through {day}" in page
            assert ("is late" in page) == is_late

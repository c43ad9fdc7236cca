"""The whole way with real parts: ad server, request, Celery worker, Spark job, Postgres, pages."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client as Browser
from django.urls import reverse

from exchange.accounts.models import User
from exchange.celery import app
from exchange.launcher.processes import Running, session_members
from exchange.market.models import Campaign, Party
from exchange.reports import services
from exchange.reports.models import DailyVisits, EligibleVisits, JobRun, ReportRun
from exchange.reports.night.tables import look_for_days
from exchange.serving.directory import KeyEntry, SnapshotDirectory, hash_key
from tests.pipelines.answers import plant_mismatch
from tests.pipelines.history import Entry, History, visit
from tests.reports.summaries import FIRST, SECOND
from tests.services import children_of
from tests.serving.asking import Client
from tests.serving.conftest import running_server
from tests.serving.published import HERALD_KEY, LATER, SCOPES

pytestmark = [pytest.mark.spark, pytest.mark.django_db(transaction=True)]
PATIENCE_SECONDS = 600


@pytest.fixture
def history(campaign: Campaign, herald: Party) -> Iterator[History]:
    """Logs four visits, three of them eligible, in the folders that the worker reads."""
    folder = Path(settings.VAR_DIR)
    history = History(folder)
    history.log(FIRST, [visit("a"), visit("b"), visit("c"), visit("d", {"geo.country": "DEU"})])
    text = f"publisher.id = '{herald.seller_id}' and ({campaign.expression})"
    snapshot = history.snapshot([Entry(1, campaign.pk, herald.seller_id, text)])
    directory = SnapshotDirectory(Path(settings.SNAPSHOT_DIR))
    directory.root.mkdir(parents=True, exist_ok=True)
    snapshot.rename(directory.folder(snapshot.name))
    directory.write_manifest(snapshot_id=snapshot.name, read_at=datetime.now(UTC))
    yield history
    for name in ("VISIT_LOG_DIR", "SNAPSHOT_DIR", "REPORT_DIR", "ANSWER_LOG_DIR"):
        shutil.rmtree(getattr(settings, name), ignore_errors=True)


@pytest.fixture
def answers(history: History, herald: Party) -> Path:
    """What a real ad server answered on the first day, with a mistake, and on the second, of which
    nothing else was logged."""
    directory, log = SnapshotDirectory(Path(settings.SNAPSHOT_DIR)), Path(settings.ANSWER_LOG_DIR)
    directory.write_keys({hash_key(HERALD_KEY): KeyEntry((herald.seller_id,), LATER, SCOPES)})
    environment = {"TREELINE_ANSWER_LOG_EVERY": "1", "TREELINE_ANSWER_LOG_DIR": str(log)}
    with (
        running_server(directory, environment=environment) as server,
        closing(Client(server.port)) as client,
    ):
        for country in ("DEU", "USA"):
            assert client.ask({"geo.country": country}).status == 200
    files = sorted(log.glob("dt=*/*.parquet"))
    for day in (FIRST, SECOND):
        (log / f"dt={day}").mkdir()
        for file in files:
            shutil.copy(file, log / f"dt={day}" / file.name)
    plant_mismatch(log / f"dt={FIRST}" / files[-1].name)
    return log


@pytest.mark.usefixtures("celery_worker_process", "answers")
def test_the_worker_counts_what_an_analyst_asked_for(
    carol: User, campaign: Campaign, client: Browser
) -> None:
    """And tells what an ad server answered wrong, which is no reason to load nothing."""
    asked = services.request_run(first_day=FIRST, last_day=SECOND, requested_by=carol)
    run = wait_until_ended(asked)
    assert run.status == ReportRun.Status.DONE, run.error
    assert (run.visits_counted, run.days_without_log) == (4, 1)
    row = EligibleVisits.objects.get()
    assert (row.campaign, row.eligible_visits, row.run) == (campaign, 3, run)
    assert DailyVisits.objects.get().visits == 4
    ended = {(job.job, job.day): job.status for job in run.jobs.all()}
    assert ended["parity", SECOND] == JobRun.Status.DONE
    assert [key for key, status in ended.items() if status == JobRun.Status.FAILED] == [
        ("parity", FIRST)
    ]
    look_for_days.cache_clear()  # pages look for a newer night now and then
    client.force_login(carol)
    told = "1 sampled answer differs from what is recomputed"
    for address in (reverse("report-runs"), reverse("report-run-detail", args=[run.pk])):
        assert told in client.get(address).content.decode()
    assert "1 answer of ad servers was wrong" in client.get("/").content.decode()
    address = reverse("report-night", args=["parity-mismatches"])
    assert ">77<" in client.get(f"{address}?day={FIRST}").content.decode()
    assert "Not one sampled answer" in client.get(f"{address}?day={SECOND}").content.decode()


def test_a_run_that_takes_too_long_is_ended_with_its_job(
    celery_worker_process: Running, history: History, carol: User
) -> None:
    asked = services.create_run(first_day=FIRST, last_day=FIRST, requested_by=carol)
    app.send_task(services.RUN_TASK, [asked.pk], soft_time_limit=2, time_limit=120)
    run = wait_until_ended(asked)
    assert run.status == ReportRun.Status.FAILED
    assert run.error.startswith("The run took longer than it may")
    wait_until_no_job_runs(celery_worker_process)


@pytest.mark.soak
@pytest.mark.faults
def test_a_run_that_is_killed_takes_its_job_along(
    celery_worker_process: Running, history: History, carol: User
) -> None:
    asked = services.create_run(first_day=FIRST, last_day=FIRST, requested_by=carol)
    app.send_task(services.RUN_TASK, [asked.pk])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not jobs_of(celery_worker_process):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    (child,) = children_of(celery_worker_process.identity.pid)
    os.kill(child, signal.SIGKILL)  # as its hard limit does
    wait_until_no_job_runs(celery_worker_process)
    asked.refresh_from_db()
    assert asked.is_open  # until the sweep misses its heartbeat


def jobs_of(worker: Running) -> list[int]:
    """Finds the jobs of a worker: whatever Spark started stays in the worker's session."""
    members = (process.pid for process in session_members(worker.identity.pid))
    return [pid for pid in members if b"nightly" in read_command(pid)]


def read_command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_until_no_job_runs(worker: Running) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while jobs := jobs_of(worker):
        assert time.monotonic() < deadline, jobs
        time.sleep(0.1)


def wait_until_ended(run: ReportRun) -> ReportRun:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while run.is_open:
        assert time.monotonic() < deadline, f"still {run.status}: {run.phase}"
        time.sleep(0.3)
        run.refresh_from_db()
    return run

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import User
from exchange.market.models import Campaign, Party
from exchange.reports import services
from exchange.reports.job import JobError
from exchange.reports.models import DailyVisits, EligibleVisits, ReportRun
from tests.reports.summaries import FIRST, SECOND, day_done, make_run, write_day
from tests.rivals import overlap

NEWEST = "newest"
Status = ReportRun.Status


def log_days(folder: Path, *days: date) -> None:
    for day in days:
        (folder / f"dt={day}").mkdir(parents=True)


def test_analysts_and_administrators_may_ask_for_a_run(carol: User, erin: User) -> None:
    assert (
        services.create_run(first_day=FIRST, last_day=FIRST, requested_by=carol).requested_by
        == carol
    )
    services.create_run(first_day=SECOND, last_day=SECOND, requested_by=erin)


def test_others_may_not_ask_for_a_run(alice: User, bob: User, dave: User) -> None:
    for person in (alice, bob, dave):
        with pytest.raises(PermissionDenied):
            services.create_run(first_day=FIRST, last_day=FIRST, requested_by=person)
    assert not ReportRun.objects.exists()


@pytest.mark.parametrize(
    ("first_day", "last_day", "words"),
    [
        (SECOND, FIRST, "before the first"),
        (FIRST, FIRST + timedelta(days=92), "at most 92 days"),
        (date(2999, 1, 1), date(2999, 1, 1), "yet to come"),
    ],
)
def test_days_that_cannot_be_counted_are_refused(
    db: None, first_day: date, last_day: date, words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        services.create_run(first_day=first_day, last_day=last_day)


def test_the_same_days_wait_only_once(db: None) -> None:
    one = services.create_run(first_day=FIRST, last_day=SECOND)
    assert services.create_run(first_day=FIRST, last_day=SECOND) == one


@pytest.mark.django_db(transaction=True)
def test_the_same_days_asked_for_at_once_are_queued_once() -> None:
    first, second = overlap(
        lambda: services.create_run(first_day=FIRST, last_day=SECOND),
        lambda: services.create_run(first_day=FIRST, last_day=SECOND),
    )
    assert first == second == ReportRun.objects.get()


def test_a_second_click_finds_the_run_that_has_started(
    carol: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "SECOND_CLICK", timedelta(hours=1))  # however slow we click
    asked: dict[str, Any] = {"first_day": FIRST, "last_day": SECOND, "requested_by": carol}
    one = services.create_run(**asked)
    assert services.claim(one.pk)
    assert services.create_run(**asked) == one
    long_ago = timezone.now() - services.SECOND_CLICK
    ReportRun.objects.update(requested_at=long_ago)
    assert services.create_run(**asked) != one


def test_only_one_run_can_be_claimed_at_a_time(db: None) -> None:
    one, other = make_run(), make_run(first_day=SECOND)
    assert services.claim(one.pk)
    assert not services.claim(one.pk)
    assert not services.claim(other.pk)
    other.refresh_from_db()
    assert other.status == Status.QUEUED


def test_a_run_whose_worker_fell_silent_is_given_up(db: None) -> None:
    now = timezone.now()
    silent = make_run(status=Status.RUNNING, heartbeat_at=now - timedelta(minutes=5))
    assert services.give_up_silent() == 1
    silent.refresh_from_db()
    assert silent.status == Status.FAILED
    assert "Run it again" in silent.error


def test_a_run_that_still_beats_is_left_alone(db: None) -> None:
    make_run(status=Status.RUNNING, heartbeat_at=timezone.now() - timedelta(seconds=30))
    assert services.give_up_silent() == 0


def test_a_run_that_was_given_up_loads_nothing(
    campaign: Campaign, herald: Party, report_folder: Path
) -> None:
    run = make_run(status=Status.FAILED)
    write_day(
        report_folder,
        FIRST,
        eligible=[(campaign.pk, "daily-herald", 5)],
        visits={"daily-herald": 9},
    )
    with pytest.raises(services.LeaseLostError):
        services.load_summary(run=run, days=[day_done(FIRST)])
    assert not EligibleVisits.objects.exists()


def test_loading_finishes_the_run_with_its_counters(
    campaign: Campaign, herald: Party, report_folder: Path
) -> None:
    run = make_run(status=Status.RUNNING)
    write_day(
        report_folder,
        FIRST,
        eligible=[(campaign.pk, "daily-herald", 5)],
        visits={"daily-herald": 9, "stranger": 2},
        wrong_values=4,
    )
    days = [
        day_done(FIRST, visits=11, malformed=3, duplicates=2, late=1),
        day_done(SECOND, status="no_log"),
    ]
    services.load_summary(run=run, days=days)
    run.refresh_from_db()
    assert run.status == Status.DONE
    assert (run.visits_counted, run.visits_malformed, run.visits_duplicate) == (11, 3, 2)
    assert (run.visits_late, run.values_of_wrong_type, run.visits_unknown_publisher) == (1, 4, 2)
    assert run.days_without_log == 1


def test_days_without_a_log_fail_the_run_in_words(db: None) -> None:
    run = make_run(status=Status.RUNNING)
    with pytest.raises(JobError, match="The visit log has no day from 2026-11-01 to 2026-11-02"):
        services.load_summary(run=run, days=[day_done(FIRST, status="no_log")])


def test_without_a_live_snapshot_the_run_says_what_to_build(
    db: None, tmp_path: Path, settings: Settings
) -> None:
    settings.SNAPSHOT_DIR = tmp_path / "none"
    run = services.run(run_id=make_run().pk)
    assert run.status == Status.FAILED
    assert "no live snapshot" in run.error


def test_the_night_takes_yesterday_and_whatever_was_never_reported(
    summer_report: ReportRun, visit_log: Path
) -> None:
    log_days(visit_log, *(date(2026, 10, 28) + timedelta(days=n) for n in range(8)))
    queued = services.request_nightly(today=date(2026, 11, 4))
    assert [(run.first_day, run.last_day) for run in queued] == [
        (date(2026, 10, 28), date(2026, 10, 31)),
        (date(2026, 11, 3), date(2026, 11, 3)),
    ]


def test_the_night_counts_yesterday_again_even_if_it_was_reported(
    summer_report: ReportRun, visit_log: Path
) -> None:
    log_days(visit_log, FIRST, SECOND)
    queued = services.request_nightly(today=SECOND + timedelta(days=1))
    assert [(run.first_day, run.last_day) for run in queued] == [(SECOND, SECOND)]


def test_the_night_takes_at_most_fourteen_days(db: None, visit_log: Path) -> None:
    log_days(visit_log, *(FIRST + timedelta(days=n) for n in range(20)))
    (run,) = services.request_nightly(today=FIRST + timedelta(days=20))
    assert (run.first_day, run.last_day) == (FIRST + timedelta(days=6), FIRST + timedelta(days=19))


def test_a_night_without_a_log_asks_for_nothing(db: None, visit_log: Path) -> None:
    assert services.request_nightly(today=FIRST) == []
    assert not DailyVisits.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_days_that_wait_twice_from_before_the_constraint_wait_once() -> None:
    try:
        old = migrate_reports("0001_initial")
        for status in ("queued", "queued", "done", "queued"):
            old.objects.create(first_day=FIRST, last_day=SECOND, status=status)
        old.objects.create(first_day=FIRST, last_day=FIRST, status="queued")
    finally:
        migrate_reports("0002_days_wait_once")
        migrate_reports(NEWEST)
    states = ReportRun.objects.order_by("pk").values_list("status", flat=True)
    assert list(states) == ["queued", "failed", "done", "failed", "queued"]


def migrate_reports(name: str) -> Any:
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes("reports") if name == NEWEST else [("reports", name)]
    state = executor.migrate(targets)
    return state.apps.get_model("reports", "ReportRun")

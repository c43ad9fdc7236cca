"""Checks that do not come to an end hold back neither builds nor deltas, and are ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from django.conf import settings
from django.db import connection

from exchange.celery import app
from exchange.launcher.processes import Running
from exchange.launcher.supervisor import WORKERS
from exchange.market.models import Campaign
from exchange.serving.directory import SnapshotDirectory
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.models import SnapshotBuild
from tests.conftest import start_workers_of_the_launcher
from tests.snapshots.steps import is_over, served_names, wait_until
from tests.snapshots.story import Story

CHECK = "findings.check_changed"
CHECK_ALL = "findings.check_all"


@pytest.fixture
def workers(story: Story, directory: SnapshotDirectory) -> Iterator[list[Running]]:
    """Starts the workers of the launcher, in its order."""
    app.control.purge()
    workers = start_workers_of_the_launcher()
    try:
        yield workers
    finally:
        for worker in workers:
            worker.request_stop()
        for worker in workers:
            worker.stop()
        app.control.purge()


@contextmanager
def checks_blocked() -> Iterator[None]:
    """Blocks checks: whoever checks waits in the middle, and cannot be interrupted politely."""
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            for table in ("findings_checkedupto", "findings_bookingfinding"):
                cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
    finally:
        other.close()


def count_waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        (count,) = cursor.fetchone()
    return int(count)


def count_unfinished() -> int:
    """Messages in the queue, and those that a worker has and did not acknowledge."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    return int(client.llen("checks")) + int(client.hlen("unacked"))


def test_builds_and_deltas_go_on_while_all_checks_are_stuck(
    workers: list[Running], directory: SnapshotDirectory
) -> None:
    builder, follower, checker = workers
    (checks,) = [each for each in WORKERS if each.name == "checks"]
    with checks_blocked():
        # Of those that follow changes one is at it at a time; the check of all takes the other.
        for task in (CHECK, CHECK_ALL, CHECK, CHECK_ALL):
            app.send_task(task)
        wait_until(lambda: count_waiting() == checks.processes, checker)
        asked = request_build()
        wait_until(lambda: is_over(asked), builder)
        assert asked.status == SnapshotBuild.Status.LIVE
        Campaign.objects.update(name="Autumn")
        app.send_task("snapshots.write_changes")
        wait_until(lambda: served_names(directory) == ["Autumn"], follower)
        assert count_waiting() == checks.processes


def test_a_check_that_is_killed_by_its_limit_is_not_delivered_again(
    workers: list[Running],
) -> None:
    checker = workers[-1]
    with checks_blocked():
        app.send_task(CHECK, soft_time_limit=1, time_limit=2)
        wait_until(lambda: count_waiting() == 1, checker)
        wait_until(lambda: count_unfinished() == 0, checker)
    assert "Hard time limit (2s) exceeded" in checker.last_lines(40)
    app.send_task(CHECK)
    wait_until(lambda: count_unfinished() == 0, checker)

"""The broker hangs just when a worker wants to say that it is done."""

from __future__ import annotations

import time
from collections.abc import Callable

import redis
from django.conf import settings
from django.db import connection

from exchange.celery import app
from exchange.launcher.processes import Running
from tests.services import hung

CHECK = "findings.check_changed"


def test_a_worker_takes_tasks_again_after_an_acknowledgement_was_lost(
    celery_worker_process: Running,
) -> None:
    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("LOCK TABLE findings_checkedupto IN ACCESS EXCLUSIVE MODE")
    app.send_task(CHECK)
    wait_until(lambda: count_locks_waited_for() == 1, celery_worker_process)
    with hung("valkey"):
        other.close()
        # Its one process is done; what it says of that is lost.
        wait_until(
            lambda: "Connection to broker lost" in celery_worker_process.last_lines(200),
            celery_worker_process,
        )
    app.send_task(CHECK)
    client = redis.Redis.from_url(settings.REDIS_URL)
    wait_until(lambda: client.llen("checks") == 0, celery_worker_process)
    app.control.purge()


def count_locks_waited_for() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        (count,) = cursor.fetchone()
    return int(count)


def wait_until(is_so: Callable[[], bool], worker: Running) -> None:
    give_up = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < give_up, worker.last_lines(60)
        time.sleep(0.05)

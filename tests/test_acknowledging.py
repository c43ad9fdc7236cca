"""The broker hangs just when a worker wants to say that it is done."""

from __future__ import annotations

import redis
from django.conf import settings
from django.db import connection

from exchange.celery import app
from exchange.launcher.processes import Running
from tests.services import hung
from tests.waiting import wait_until

CHECK = "findings.check_changed"


def test_a_worker_takes_tasks_again_after_an_acknowledgement_was_lost(
    celery_worker_process: Running,
) -> None:
    def last_words() -> str:
        return celery_worker_process.last_lines(200)

    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("LOCK TABLE findings_checkedupto IN ACCESS EXCLUSIVE MODE")
    app.send_task(CHECK)
    wait_until(lambda: count_locks_waited_for() == 1, why=last_words)
    with hung("valkey"):
        other.close()
        # Its one process is done; what it says of that is lost.
        wait_until(lambda: "Connection to broker lost" in last_words(), why=last_words)
    app.send_task(CHECK)
    client = redis.Redis.from_url(settings.REDIS_URL)
    wait_until(lambda: client.llen("checks") == 0, why=last_words)
    app.control.purge()


def count_locks_waited_for() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        (count,) = cursor.fetchone()
    return int(count)

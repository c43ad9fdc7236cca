"""Every task has a queue, somebody who takes it, and an end."""

from __future__ import annotations

import pytest

from exchange.celery import app
from exchange.launcher.supervisor import WORKERS
from exchange.queues import QUEUES, limits, routes

app.loader.import_default_modules()
TASKS = sorted(name for name in app.tasks if not name.startswith("celery."))


def test_every_task_has_its_queue() -> None:
    assert sorted(routes()) == TASKS


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_asked_to_end_before_it_is_killed(name: str) -> None:
    task = app.tasks[name]
    assert task.soft_time_limit
    assert task.time_limit
    assert task.soft_time_limit < task.time_limit
    assert task.time_limit == limits()[name]["time_limit"]
    # Else Redis would give it to a second worker while the first is still at it.
    assert task.time_limit < app.conf.broker_transport_options["visibility_timeout"]


def test_every_queue_is_taken_by_one_worker_of_the_launcher() -> None:
    taken = sorted(queue for worker in WORKERS for queue in worker.queues)
    assert taken == sorted(queue.name for queue in QUEUES)


def test_changes_and_builds_share_no_worker_with_checks() -> None:
    for worker in WORKERS:
        assert "checks" not in worker.queues or worker.queues == ("checks",)
        assert "changes" not in worker.queues or worker.queues == ("changes",)


def test_beat_starts_only_what_there_is() -> None:
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} <= set(TASKS)

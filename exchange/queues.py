"""Says which tasks wait in which queue, how long each may run, and how long the first of a queue
may wait before something is wrong.

A queue is what may wait for each other: changes and builds never wait for checks or reports. The
launcher and docker/compose.yml say which worker takes which queues. Of builds and of reports one
runs at a time (a constraint of the database refuses a second, which ends at once), so the worker
that takes both with three processes always has one left for sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MINUTE = 60
HOUR = 60 * MINUTE
# From asking a task to stop, which it may answer by tidying up, to killing it.
GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue; `seconds_of` are the tasks, with the time each may take."""

    name: str
    longest_wait_seconds: int
    seconds_of: Mapping[str, int]


QUEUES = (
    Queue(
        "changes",
        longest_wait_seconds=30,
        seconds_of={"snapshots.write_changes": MINUTE, "snapshots.publish_keys": MINUTE},
    ),
    Queue(
        "sweeps",
        longest_wait_seconds=2 * MINUTE,
        seconds_of={
            # It may have to copy a whole snapshot to an object store.
            "snapshots.sweep": 15 * MINUTE,
            "snapshots.build_nightly": MINUTE,
            "reports.run_nightly": MINUTE,
            "reports.sweep": MINUTE,
        },
    ),
    Queue("builds", longest_wait_seconds=5 * MINUTE, seconds_of={"snapshots.build": HOUR}),
    Queue(
        "checks",
        longest_wait_seconds=15 * MINUTE,
        seconds_of={"findings.check_changed": 5 * MINUTE, "findings.check_all": 3 * HOUR},
    ),
    Queue("reports", longest_wait_seconds=5 * MINUTE, seconds_of={"reports.run": 6 * HOUR}),
)


def routes() -> dict[str, dict[str, str]]:
    """Returns Celery's `task_routes`."""
    return {task: {"queue": queue.name} for queue in QUEUES for task in queue.seconds_of}


def limits() -> dict[str, dict[str, int]]:
    """Returns Celery's `task_annotations`. A task that is killed is not delivered again: its
    message is acknowledged, and the sweeps find what it left."""
    return {
        task: {"soft_time_limit": seconds, "time_limit": seconds + GRACE_SECONDS}
        for queue in QUEUES
        for task, seconds in queue.seconds_of.items()
    }

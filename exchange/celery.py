"""Sets up the Celery application: where tasks are found, what beat starts by itself, and what is
noted about messages and workers for others to see."""

import logging.config
import os
import time
from typing import Any

from celery import Celery
from celery.schedules import crontab
from celery.signals import before_task_publish, celeryd_init, heartbeat_sent, setup_logging
from celery.utils.log import mlevel

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")

from django.conf import settings

from exchange import broker

app = Celery("treeline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    # Its last step is the check of all bookings, which looks at what was loaded.
    "nightly report of eligible visits": {
        "task": "reports.run_nightly",
        "schedule": crontab(hour=str(settings.NIGHTLY_REPORT_HOUR_UTC), minute="0"),
    },
    # Edits of some seconds are looked at as one.
    "check of bookings that changes touch": {
        "task": "findings.check_changed",
        "schedule": 20.0,
        "options": {"expires": 20},
    },
    "nightly build of a snapshot": {
        "task": "snapshots.build_nightly",
        "schedule": crontab(hour=str(settings.NIGHTLY_BUILD_HOUR_UTC), minute="0"),
    },
    # Changes are announced when they are saved; this finds those whose message was lost, and those
    # that nobody announced.
    "sweep of changes": {
        "task": "snapshots.write_changes",
        "schedule": 1.0,
        "options": {"expires": 1},
    },
    # Finds what lost messages and lost workers left; one that waited too long is not needed.
    "sweep of snapshot builds and keys": {
        "task": "snapshots.sweep",
        "schedule": 10.0,
        "options": {"expires": 10},
    },
    "sweep of report runs": {
        "task": "reports.sweep",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
}


@celeryd_init.connect  # a worker has something to say before it sets up its logging
@setup_logging.connect
def log_as_others_do(loglevel: int | str | None = None, **_rest: object) -> None:
    """Logs JSON lines, as the settings have it; Celery's own set-up would replace them. Of the
    levels that the settings and the command name, the quieter one counts."""
    logging.config.dictConfig(settings.LOGGING)
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.setLevel(max(root.level, mlevel(loglevel or logging.NOTSET)))


@before_task_publish.connect
def note_sent(headers: dict[str, Any], **_rest: object) -> None:
    """Notes when a message is sent: Celery's own do not say since when they wait."""
    headers[broker.SENT_AT] = time.time()


@heartbeat_sent.connect
def note_taken(**_rest: object) -> None:
    """Notes which queues this worker takes, every two seconds, in its main process."""
    broker.note_taken(app.amqp.queues.consume_from)

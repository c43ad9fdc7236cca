"""The Celery application: where tasks are found and what beat starts by itself."""

import os

from celery import Celery
from celery.schedules import crontab

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")

app = Celery("treeline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_finalize.connect
def schedule_nightly_report(sender: Celery, **_: object) -> None:
    hour = sender.conf.get("nightly_report_hour_utc", 2)
    sender.add_periodic_task(
        crontab(hour=str(hour), minute="0"),
        sender.signature("reports.run_nightly"),
        name="nightly report of eligible visits",
    )

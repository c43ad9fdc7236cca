"""Declares what the worker and beat start: each task calls services."""

from celery import shared_task
from django.utils import timezone

from exchange.reports import services
from exchange.reports.night.preparing import prepare_nights
from exchange.reports.sample_table import prepare_sample


@shared_task(name=services.RUN_TASK)
def run(run_id: int) -> None:
    services.run(run_id=run_id)
    prepare_sample()
    prepare_nights()


@shared_task(name="reports.run_nightly")
def run_nightly() -> None:
    services.request_nightly(today=timezone.now().date())


@shared_task(name="reports.sweep")
def sweep() -> None:
    services.sweep()

"""Declares what beat starts: each task calls one service."""

from celery import shared_task

from exchange.findings import changed


@shared_task(name="findings.check_all")
def check_all() -> int:
    return changed.check_night()


@shared_task(name="findings.check_changed")
def check_changed() -> int:
    count = changed.check_changed()
    if changed.is_first_due():
        check_all.delay()
    return count

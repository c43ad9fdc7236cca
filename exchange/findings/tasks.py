"""What beat starts: it calls one service."""

from celery import shared_task

from exchange.findings import changed


@shared_task(name="findings.check_all")
def check_all() -> int:
    return changed.check_night()


@shared_task(name="findings.check_changed")
def check_changed() -> int:
    return changed.check_changed()

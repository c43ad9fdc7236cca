"""Checks all bookings now, instead of at night: `manage.py check_bookings`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from exchange.findings.changed import check_night


class Command(BaseCommand):
    help = "Looks for bookings that can never be eligible, and lists them at /findings/."

    def handle(self, *_args: Any, **_options: Any) -> None:
        count = check_night()
        self.stdout.write(f"{count} finding{'' if count == 1 else 's'}. See /findings/.")

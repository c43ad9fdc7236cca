"""Goes on with a database that came from a backup: forgets its moments, builds a snapshot."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from exchange.findings.restoring import forget_moments


class Command(BaseCommand):
    help = "After restoring a database: before anything else runs on it. Builds a snapshot."

    def handle(self, **_: Any) -> None:
        count = forget_moments()
        self.stdout.write(f"Forgot {count:,} changes that were noted before the backup.")
        call_command("build_snapshot", stdout=self.stdout)

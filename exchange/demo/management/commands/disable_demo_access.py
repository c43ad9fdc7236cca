"""Closes the demo's accounts and revokes its API keys, whose secrets are published."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from exchange.demo.access import disable_demo_access


class Command(BaseCommand):
    help = "Close demo accounts and revoke demo API keys, before production."

    def handle(self, **_: Any) -> None:
        people, keys = disable_demo_access()
        self.stdout.write(f"Closed {people} demo accounts and revoked {keys} demo API keys.")

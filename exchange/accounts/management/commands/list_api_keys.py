"""Lists the API keys without their texts, which nobody has."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from exchange.accounts.models import ApiKey


class Command(BaseCommand):
    help = "List API keys: id, name, owner, publishers, state."

    def handle(self, **_: Any) -> None:
        keys = ApiKey.objects.select_related("organisation").prefetch_related("publishers")
        for key in keys.order_by("pk"):
            publishers = ",".join(sorted(party.seller_id for party in key.publishers.all()))
            row = [str(key.pk), key.name, key.organisation.name, publishers, describe(key)]
            self.stdout.write("\t".join(row))


def describe(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "never expires"
    verb = "expired" if key.expires_at <= timezone.now() else "expires"
    return f"{verb} {key.expires_at:%Y-%m-%d}"

"""Lists the API keys without their texts, which nobody has."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from exchange.keys.models import ApiKey


class Command(BaseCommand):
    help = "List API keys: id, start, name, owner, scopes, publishers, state, last use."

    def handle(self, **_: Any) -> None:
        keys = ApiKey.objects.select_related("organisation").prefetch_related("publishers")
        for key in keys.order_by("pk"):
            publishers = ",".join(sorted(party.seller_id for party in key.publishers.all()))
            row = [
                str(key.pk),
                f"{key.start}…",
                key.name,
                key.organisation.name,
                ",".join(key.scopes),
                publishers,
                describe(key),
                describe_use(key),
            ]
            self.stdout.write("\t".join(row))


def describe(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    verb = "expired" if key.expires_at <= timezone.now() else "expires"
    return f"{verb} {key.expires_at:%Y-%m-%d}"


def describe_use(key: ApiKey) -> str:
    if key.last_used_at is None:
        return "never used"
    return f"last used {key.last_used_at:%Y-%m-%d %H:%M}"

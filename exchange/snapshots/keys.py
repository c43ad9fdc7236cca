"""Exports the API keys that servers accept, as hashes, to the snapshot directory."""

from __future__ import annotations

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from exchange.accounts.models import ApiKey
from exchange.serving.directory import KeyEntry, SnapshotDirectory

# Any number that nothing else in this database locks.
KEYS_LOCK = 7_301_001


@transaction.atomic
def publish_keys() -> bool:
    """Says whether anything changed. The lock keeps an older read from replacing a newer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [KEYS_LOCK])
    keys = ApiKey.objects.filter(revoked_at=None).filter(
        Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    )
    if not settings.DEMO_LOGINS:
        keys = keys.filter(is_demo=False)
    return SnapshotDirectory(settings.SNAPSHOT_DIR).write_keys(
        {
            key.hash: KeyEntry(
                publishers=tuple(sorted(party.seller_id for party in key.publishers.all())),
                expires_at=key.expires_at,
            )
            for key in keys.prefetch_related("publishers")
        }
    )

"""Exports the API keys that servers accept, as hashes, to the snapshot directory, and reads back
when they were used."""

from __future__ import annotations

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from exchange.keys.models import ApiKey
from exchange.serving.directory import KeyEntry, SnapshotDirectory
from exchange.serving.key_use import read_key_use, remove_stale_files
from exchange.serving.store import SnapshotStore

# The key of the lock: any number that nothing else in this database locks.
KEYS_LOCK = 7_301_001


@transaction.atomic
def publish_keys() -> bool:
    """Writes the keys; says whether any changed. A lock keeps an older read from winning."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [KEYS_LOCK])
    keys = ApiKey.objects.usable(timezone.now())
    if not settings.DEMO_LOGINS:
        keys = keys.filter(is_demo=False)
    directory = SnapshotDirectory(settings.SNAPSHOT_DIR)
    is_new = directory.write_keys(
        {
            key.hash: KeyEntry(
                publishers=tuple(sorted(party.seller_id for party in key.publishers.all())),
                expires_at=key.expires_at,
                scopes=tuple(key.scopes),
            )
            for key in keys.prefetch_related("publishers")
        }
    )
    if is_new and settings.SNAPSHOT_STORE:
        SnapshotStore(settings.SNAPSHOT_STORE).push_keys(directory)
    return is_new


def record_key_use() -> int:
    """Records when keys were used; says how many were since the last time. Times only move forward,
    so reading a server's file twice, or late, changes nothing."""
    root = settings.SNAPSHOT_DIR
    used = read_key_use(root)
    known = ApiKey.objects.filter(hash__in=used).values_list("hash", "last_used_at")
    newer = {key: used[key] for key, before in known if before is None or before < used[key]}
    for key, moment in newer.items():
        ApiKey.objects.filter(hash=key).update(last_used_at=moment)
    remove_stale_files(root)
    return len(newer)

"""API keys, made and revoked, and the end of demo access.

A key's text is returned once and never kept.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from exchange.accounts.models import ApiKey, Organisation, User
from exchange.celery import app

if TYPE_CHECKING:
    from exchange.market.models import Party

KEY_PREFIX = "tl_"
KEY_BYTES = 32


def hash_api_key(text: str) -> str:
    """A key holds 256 random bits: nothing to guess, so a fast hash without salt is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


@transaction.atomic
def create_api_key(
    *,
    name: str,
    organisation: Organisation,
    publishers: Collection[Party],
    expires_at: datetime | None = None,
    is_demo: bool = False,
) -> tuple[ApiKey, str]:
    """The key and its text, which cannot be had again."""
    check_publishers(publishers)
    text = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    key = ApiKey(
        name=name,
        organisation=organisation,
        hash=hash_api_key(text),
        expires_at=expires_at,
        is_demo=is_demo,
    )
    key.full_clean()
    key.save()
    key.publishers.set(publishers)
    publish_keys_on_commit()
    return key, text


def check_publishers(publishers: Collection[Party]) -> None:
    if not publishers:
        raise ValidationError("Name at least one publisher that the key may ask for.")
    others = sorted(party.name for party in publishers if party.kind != "publisher")
    if others:
        raise ValidationError(f"Not a publisher: {', '.join(others)}.")


@transaction.atomic
def revoke_api_key(*, key: ApiKey) -> bool:
    """False if it was revoked before; the first time stays."""
    revoked = ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())
    if revoked:
        publish_keys_on_commit()
    key.refresh_from_db()
    return bool(revoked)


@transaction.atomic
def disable_demo_access() -> tuple[int, int]:
    """How many accounts were closed and keys revoked: those whose secret is published."""
    people = User.objects.filter(is_demo=True, is_active=True).update(is_active=False)
    keys = ApiKey.objects.demo().filter(revoked_at=None).update(revoked_at=timezone.now())
    if keys:
        publish_keys_on_commit()
    return people, keys


def publish_keys_on_commit() -> None:
    """Servers read keys from a file that this task writes. Robust, because the message is only a
    hint: a broker that is down must not turn a saved change into an error."""
    transaction.on_commit(lambda: app.send_task("snapshots.publish_keys"), robust=True)

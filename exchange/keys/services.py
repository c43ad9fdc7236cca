"""Makes and revokes API keys, for those who may.

`by` is the person who asks; without it the caller is the command line, which may do anything. A
key's text is returned once and never kept; `seed` is what a form draws it from (`accounts.seeds`),
so that one that is sent twice makes one key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from exchange.accounts.models import Organisation, User
from exchange.accounts.ownership import require_change
from exchange.accounts.permissions import is_exchange_operator
from exchange.accounts.seeds import SHOWN_AGAIN, draw_secret
from exchange.announcing import announce
from exchange.keys.models import LONGEST_KEY_LIFE, ApiKey, Scope
from exchange.market.models import Party
from exchange.uniqueness import save_unique

KEY_PREFIX = "tl_"
KEY_BYTES = 32
START_LENGTH = 8
USUAL_KEY_LIFE = timedelta(days=180)
# Uses that are about a publisher, which the key must name.
PUBLISHER_SCOPES = frozenset({Scope.ELIGIBILITY_READ, Scope.EXPLAIN_READ})


class AlreadyMadeError(ValidationError):
    """Says that the same form made this key before. `text` only shortly after: empty later."""

    def __init__(self, key: ApiKey, text: str) -> None:
        super().__init__(f"“{key.name}” was made by this form already.", code="already_made")
        is_recent = key.created_at > timezone.now() - SHOWN_AGAIN
        self.key = key
        self.text = text if is_recent and key.revoked_at is None else ""


def hash_api_key(text: str) -> str:
    """Hashes a key of 256 random bits: nothing to guess, so a fast hash without salt is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


@transaction.atomic
def create_api_key(
    *,
    name: str,
    organisation: Organisation,
    publishers: Collection[Party] = (),
    scopes: Sequence[str] = (Scope.ELIGIBILITY_READ,),
    expires_at: datetime | None = None,
    is_demo: bool = False,
    by: User | None = None,
    seed: bytes | None = None,
) -> tuple[ApiKey, str]:
    """Makes a key; returns it and its text, which cannot be had again."""
    text = KEY_PREFIX + draw_secret(seed, KEY_BYTES)
    key = ApiKey(
        name=name,
        organisation=organisation,
        hash=hash_api_key(text),
        start=text[:START_LENGTH],
        scopes=sorted(set(scopes)),
        expires_at=expires_at or timezone.now() + USUAL_KEY_LIFE,
        is_demo=is_demo,
        created_by=by,
    )
    if by is not None:
        require_change(by, key)
        check_publishers_belong(publishers, organisation, by)
    check_publishers(publishers, scopes)
    check_scopes(scopes, organisation)
    check_end(key.expires_at)
    save_key_once(key, text)
    key.publishers.set(publishers)
    publish_keys_on_commit()
    return key, text


def save_key_once(key: ApiKey, text: str) -> None:
    """Saves a key. Two cannot have the same hash: a form that is sent twice meets its own key."""
    try:
        key.full_clean()
        save_unique(key)
    except ValidationError as error:
        made = ApiKey.objects.filter(hash=key.hash).first()
        if made is None:
            raise
        raise AlreadyMadeError(made, text) from error


def check_publishers(publishers: Collection[Party], scopes: Collection[str]) -> None:
    if not publishers and PUBLISHER_SCOPES & set(scopes):
        raise ValidationError(
            {"publishers": "Name at least one publisher that the key may ask for."}
        )
    others = sorted(party.name for party in publishers if party.kind != Party.Kind.PUBLISHER)
    if others:
        raise ValidationError({"publishers": f"Not a publisher: {', '.join(others)}."})


def check_publishers_belong(
    publishers: Collection[Party], organisation: Organisation, by: User
) -> None:
    if is_exchange_operator(by):
        return
    if any(party.organisation_id != organisation.pk for party in publishers):
        raise ValidationError({"publishers": "A key may only name publishers of its organisation."})


def check_scopes(scopes: Collection[str], organisation: Organisation) -> None:
    if Scope.SNAPSHOT_READ in scopes and not organisation.is_operator:
        raise ValidationError(
            {"scopes": "A snapshot holds everybody's targeting: only the exchange reads it."}
        )


def check_end(expires_at: datetime) -> None:
    now = timezone.now()
    if expires_at <= now:
        raise ValidationError({"expires_at": "The key would have expired already."})
    if expires_at > now + LONGEST_KEY_LIFE:
        raise ValidationError({"expires_at": f"A key lives {LONGEST_KEY_LIFE.days} days at most."})


@transaction.atomic
def revoke_api_key(*, key: ApiKey, by: User | None = None) -> bool:
    """Revokes a key; False if it was revoked before: the first time stays."""
    if by is not None:
        require_change(by, key)
    revoked = ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())
    if revoked:
        publish_keys_on_commit()
    key.refresh_from_db()
    return bool(revoked)


def publish_keys_on_commit() -> None:
    """Starts the task that writes the file which servers read keys from. The message is only a
    hint: a broker that is down must not turn a saved change into an error."""
    transaction.on_commit(lambda: announce("snapshots.publish_keys"), robust=True)

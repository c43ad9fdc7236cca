"""API keys, organisations and people: made, changed and ended, by those who may. Also the end of
demo access.

`by` is the person who asks; without it the caller is the command line, which may do anything. A
key's text and the secret of a link are returned once and never kept; `seed` is what a form draws
them from (`seeds`), so that one that is sent twice makes one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils import timezone

from exchange.accounts.models import (
    LONGEST_KEY_LIFE,
    LONGEST_LINK_LIFE,
    ApiKey,
    Organisation,
    Role,
    Scope,
    User,
)
from exchange.accounts.ownership import require_change
from exchange.accounts.password_links import SECRET_BYTES, make_link, usable_links
from exchange.accounts.permissions import is_exchange_operator, require_edit
from exchange.accounts.seeds import SHOWN_AGAIN, draw_secret
from exchange.announcing import announce
from exchange.market.models import Party
from exchange.market.visibility import visible
from exchange.uniqueness import save_unique

KEY_PREFIX = "tl_"
KEY_BYTES = 32
START_LENGTH = 8
USUAL_KEY_LIFE = timedelta(days=180)
# What is asked at a publisher, for which the key must name it.
PUBLISHER_SCOPES = frozenset({Scope.ELIGIBILITY_READ, Scope.EXPLAIN_READ})


class AlreadyMadeError(ValidationError):
    """The same form made this key before. `text` only shortly after: empty later."""

    def __init__(self, key: ApiKey, text: str) -> None:
        super().__init__(f"“{key.name}” was made by this form already.", code="already_made")
        is_recent = key.created_at > timezone.now() - SHOWN_AGAIN
        self.key = key
        self.text = text if is_recent and key.revoked_at is None else ""


def hash_api_key(text: str) -> str:
    """A key holds 256 random bits: nothing to guess, so a fast hash without salt is enough."""
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
    """The key and its text, which cannot be had again."""
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
    """Two keys cannot have the same hash: a form that is sent twice meets its own key."""
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
    """False if it was revoked before; the first time stays."""
    if by is not None:
        require_change(by, key)
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
    transaction.on_commit(lambda: announce("snapshots.publish_keys"), robust=True)


@transaction.atomic
def save_organisation(*, organisation: Organisation, by: User) -> None:
    """Who runs the exchange is decided when it is founded, and not here."""
    require_edit(by, "organisation")
    if organisation._state.adding:
        organisation.is_operator = False
    organisation.full_clean()
    save_unique(organisation)


@transaction.atomic
def save_person(*, person: User, by: User, seed: bytes | None = None) -> str | None:
    """The secret of a new person's invitation, to be handed over once: with it they choose a
    password. None for one who was there before."""
    refuse_own_end(person, by)
    require_person(person, by)
    if not person._state.adding:
        person.full_clean(exclude=["password"])
        save_unique(person, unchecked=["password"])
        return None
    person.set_unusable_password()
    person.full_clean()
    save_unique(person)
    return make_link(person=person, life=LONGEST_LINK_LIFE, by=by, seed=seed)


def find_just_made(*, username: str, reader: User, seed: bytes | None) -> tuple[User, str] | None:
    """The person whom the same form made a moment ago, with the secret that it drew for them,
    unless they have used it."""
    if seed is None:
        return None
    secret = draw_secret(seed, SECRET_BYTES)
    links = usable_links(secret).filter(created_at__gt=timezone.now() - SHOWN_AGAIN)
    people = visible(User.objects.all(), reader).filter(password_links__in=links)
    person = people.filter(username=username).first()
    return None if person is None else (person, secret)


def require_person(person: User, by: User) -> None:
    """Who sees everything is not to be had through an organisation they happen to belong to."""
    require_change(by, person)
    if person.is_superuser and not is_exchange_operator(by):
        raise PermissionDenied("Only the exchange's operators change this person.")


def refuse_own_end(person: User, by: User) -> None:
    """Nobody locks the last door behind themselves."""
    if person.pk == by.pk and (not person.is_active or person.role != Role.ADMIN):
        raise PermissionDenied("You cannot end your own access. Ask another administrator.")


@transaction.atomic
def reset_password(*, person: User, by: User, seed: bytes | None = None) -> str:
    """The secret of a link with which they choose another password, to be handed over once. The
    old one, and every session of theirs, end now."""
    require_person(person, by)
    person.set_unusable_password()
    person.save(update_fields=["password"])
    return make_link(person=person, life=LONGEST_LINK_LIFE, by=by, seed=seed)

"""Makes links with which a person chooses a password: for an invitation or a reset, used once.

Whoever has a link is believed to be the person it is for. So its secret is 256 random bits of which
only the hash is kept, it ends by itself, and a newer one ends those before. Who may make one for
whom is decided by the services that do; by mail, only the person's own address gets one.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from exchange.accounts.models import PasswordLink, User
from exchange.accounts.seeds import draw_secret

logger = logging.getLogger(__name__)

SECRET_BYTES = 32
MAILED_LIFE = timedelta(hours=1)
# Keeps anybody who knows a person's name from filling their mailbox.
BETWEEN_MAILS = timedelta(minutes=5)
MAIL = """Hello {name},

somebody, you we hope, asked for a new password for your account at Treeline, {username}.
Choose it here, within an hour:

{address}

If it was not you, nothing has changed and there is nothing to do.
"""


class LinkEndedError(ValidationError):
    """Says that a link was used, has expired, or a newer one was made; or its person may not log in
    any more."""

    def __init__(self) -> None:
        super().__init__("This link was used, has expired, or a newer one was made.", code="ended")


@transaction.atomic
def make_link(
    *, person: User, life: timedelta, by: User | None = None, seed: bytes | None = None
) -> str:
    """Makes a link and returns its secret, which cannot be had again, except by the form that drew
    it from its seed."""
    secret = draw_secret(seed, SECRET_BYTES)
    User.objects.select_for_update(of=("self",)).get(pk=person.pk)
    if usable_links(secret).filter(person=person).exists():
        return secret
    now = timezone.now()
    person.password_links.filter(ended_at=None).update(ended_at=now)
    person.password_links.create(
        hash=hash_secret(secret), created_at=now, created_by=by, expires_at=now + life
    )
    return secret


def hash_secret(secret: str) -> str:
    """Hashes 256 random bits: there is nothing to guess, so a fast hash without salt is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def usable_links(secret: str) -> QuerySet[PasswordLink]:
    return PasswordLink.objects.filter(
        hash=hash_secret(secret),
        ended_at=None,
        expires_at__gt=timezone.now(),
        person__is_active=True,
    )


def find_person(secret: str) -> User:
    """Finds whose password the link lets choose; raises LinkEndedError."""
    link = usable_links(secret).select_related("person__organisation").first()
    if link is None:
        raise LinkEndedError
    return link.person


@transaction.atomic
def choose_password(*, secret: str, password: str) -> User:
    """Ends the link, and every session of the person. Of two who use it at once one is told that
    it has ended."""
    link = usable_links(secret).select_for_update(of=("self",)).first()
    if link is None:
        raise LinkEndedError
    person = link.person
    person.set_password(password)
    person.save(update_fields=["password"])
    person.password_links.filter(ended_at=None).update(ended_at=timezone.now())
    return person


def mail_links(*, name: str, write_address: Callable[[str], str]) -> None:
    """Mails a link to everybody with this login name or e-mail address; the old password stays
    until a link is used. A thread sends it: how long that takes must not tell whether there is such
    a person."""
    known = Q(username=name) | Q(email__iexact=name)
    people = User.objects.filter(known, is_active=True, is_demo=False).exclude(email="")
    for person in people:
        if (message := write_mail(person, write_address)) is not None:
            threading.Thread(target=send, args=(message,), daemon=True).start()


@transaction.atomic
def write_mail(person: User, write_address: Callable[[str], str]) -> EmailMessage | None:
    since = timezone.now() - BETWEEN_MAILS
    if person.password_links.filter(created_by=None, created_at__gt=since).exists():
        return None
    secret = make_link(person=person, life=MAILED_LIFE)
    text = MAIL.format(
        name=person.get_full_name() or person.username,
        username=person.username,
        address=write_address(secret),
    )
    return EmailMessage("Your password at Treeline", text, to=[person.email])


def send(message: EmailMessage) -> None:
    try:
        message.send()
    except OSError:
        logger.exception("A link for a new password could not be mailed")

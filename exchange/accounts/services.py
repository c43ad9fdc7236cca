"""Makes, changes and ends organisations and people, for those who may.

`by` is the person who asks. The secret of a link is returned once and never kept; `seed` is what a
form draws it from (`seeds`), so that one that is sent twice makes one of them.
"""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from exchange.accounts.models import LONGEST_LINK_LIFE, Organisation, Role, User
from exchange.accounts.ownership import may_see, require_change
from exchange.accounts.password_links import SECRET_BYTES, make_link, usable_links
from exchange.accounts.permissions import is_exchange_operator, require_edit
from exchange.accounts.seeds import SHOWN_AGAIN, draw_secret
from exchange.uniqueness import save_unique


@transaction.atomic
def save_organisation(*, organisation: Organisation, by: User) -> None:
    """Saves an organisation. Who runs the exchange is decided when it is founded, and not here."""
    require_edit(by, "organisation")
    if organisation._state.adding:
        organisation.is_operator = False
    organisation.full_clean()
    save_unique(organisation)


@transaction.atomic
def save_person(*, person: User, by: User, seed: bytes | None = None) -> str | None:
    """Saves a person; returns the secret of a new one's invitation, to be handed over once: with it
    they choose a password. None for one who was there before."""
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
    """Finds the person whom the same form made a moment ago, with the secret that it drew for them,
    unless they have used it."""
    if seed is None:
        return None
    secret = draw_secret(seed, SECRET_BYTES)
    links = usable_links(secret).filter(created_at__gt=timezone.now() - SHOWN_AGAIN)
    person = User.objects.filter(password_links__in=links, username=username).first()
    return (person, secret) if person is not None and may_see(reader, person) else None


def require_person(person: User, by: User) -> None:
    """Requires the right to change a person. A superuser sees everything, so only the exchange's
    operators may change one, whatever organisation they belong to."""
    require_change(by, person)
    if person.is_superuser and not is_exchange_operator(by):
        raise PermissionDenied("Only the exchange's operators change this person.")


def refuse_own_end(person: User, by: User) -> None:
    """Refuses to end one's own access: nobody locks the last door behind themselves."""
    if person.pk == by.pk and (not person.is_active or person.role != Role.ADMIN):
        raise PermissionDenied("You cannot end your own access. Ask another administrator.")


@transaction.atomic
def reset_password(*, person: User, by: User, seed: bytes | None = None) -> str:
    """Ends the old password and every session of a person; returns the secret of a link with which
    they choose another one, to be handed over once."""
    require_person(person, by)
    person.set_unusable_password()
    person.save(update_fields=["password"])
    return make_link(person=person, life=LONGEST_LINK_LIFE, by=by, seed=seed)

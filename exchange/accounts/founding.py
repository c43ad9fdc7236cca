"""Founds an exchange: makes the organisation that runs it, and its first administrator."""

from __future__ import annotations

from django.db import connection, transaction

from exchange.accounts.models import LONGEST_LINK_LIFE, Organisation, Role, User
from exchange.accounts.password_links import make_link


class AlreadyFoundedError(Exception):
    """Says that there is an operator already; nothing was changed."""


@transaction.atomic
def found_exchange(
    *, organisation: str, username: str, email: str = "", password: str | None = None
) -> tuple[User, str | None]:
    """Makes the administrator; without a password also the secret of a link with which they choose
    one. Of two who found it at once the second one is refused."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE accounts_organisation IN SHARE ROW EXCLUSIVE MODE")
    if founded := Organisation.objects.filter(is_operator=True).first():
        raise AlreadyFoundedError(
            f"This exchange was founded already: {founded.name} runs it. Its administrators invite "
            "other people, and make links for those who forgot their password."
        )
    operator = Organisation(name=organisation, is_operator=True)
    operator.full_clean()
    operator.save()
    founder = User(username=username, email=email, role=Role.ADMIN, organisation=operator)
    if password is None:
        founder.set_unusable_password()
    else:
        founder.set_password(password)
    founder.full_clean()
    founder.save()
    secret = make_link(person=founder, life=LONGEST_LINK_LIFE) if password is None else None
    return founder, secret


def find_founded() -> str | None:
    """Finds who runs the exchange; None before it was founded."""
    return Organisation.objects.filter(is_operator=True).values_list("name", flat=True).first()


def check_name(field: str, value: str) -> str:
    """Checks a founder's answer as soon as it is given; raises ValidationError."""
    made = Organisation(name=value) if field == "name" else User(username=value)
    others = {each.name for each in made._meta.fields} - {field}
    made.clean_fields(exclude=others)
    return value

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from exchange.accounts.models import Organisation, Role, User
from exchange.accounts.ownership import NotVisible
from exchange.accounts.password_links import find_person
from exchange.accounts.services import reset_password, save_organisation, save_person
from tests.trading import Exchange, exchange

__all__ = ["exchange"]


def new_person(organisation: Organisation, **fields: Any) -> User:
    return User(username="frank", organisation=organisation, **fields)


def test_an_administrator_invites_a_person_and_hands_over_the_link(exchange: Exchange) -> None:
    admin = exchange.herald.admin
    frank = new_person(exchange.herald.organisation, role=Role.ANALYST)
    secret = save_person(person=frank, by=admin)
    assert secret is not None
    assert find_person(secret) == frank
    frank.role = Role.VIEWER
    assert save_person(person=frank, by=admin) is None
    assert User.objects.get(username="frank").role == Role.VIEWER
    assert find_person(secret) == frank


def test_nobody_adds_people_elsewhere_or_moves_them(exchange: Exchange) -> None:
    with pytest.raises(NotVisible):
        save_person(person=new_person(exchange.rival.organisation), by=exchange.herald.admin)
    viewer = exchange.herald.people[Role.VIEWER]
    viewer.organisation = exchange.rival.organisation
    with pytest.raises(NotVisible):
        save_person(person=viewer, by=exchange.rival.admin)
    with pytest.raises(PermissionDenied):
        save_person(
            person=new_person(exchange.herald.organisation),
            by=exchange.herald.people[Role.GRAPH_OPERATOR],
        )


@pytest.mark.parametrize("change", [{"is_active": False}, {"role": Role.VIEWER}])
def test_an_administrator_cannot_lock_themselves_out(
    exchange: Exchange, change: dict[str, Any]
) -> None:
    admin = exchange.herald.admin
    person = User.objects.get(pk=admin.pk)
    for name, value in change.items():
        setattr(person, name, value)
    with pytest.raises(PermissionDenied, match="your own access"):
        save_person(person=person, by=admin)


def test_a_reset_ends_the_old_password_and_gives_a_link(exchange: Exchange) -> None:
    viewer = exchange.herald.people[Role.VIEWER]
    viewer.set_password("the-old-one")
    viewer.save()
    secret = reset_password(person=viewer, by=exchange.herald.admin)
    viewer.refresh_from_db()
    assert not viewer.check_password("the-old-one")
    assert find_person(secret) == viewer
    with pytest.raises(NotVisible):
        reset_password(person=viewer, by=exchange.rival.admin)


def test_only_the_exchanges_administrators_add_organisations(exchange: Exchange) -> None:
    admin = exchange.operators[Role.ADMIN]
    save_organisation(organisation=Organisation(name="Gazette Group", is_operator=True), by=admin)
    assert not Organisation.objects.get(name="Gazette Group").is_operator
    with pytest.raises(ValidationError, match="already exists"):
        save_organisation(organisation=Organisation(name="Gazette Group"), by=admin)
    for person in (exchange.herald.admin, exchange.operators[Role.GRAPH_OPERATOR]):
        with pytest.raises(PermissionDenied):
            save_organisation(organisation=Organisation(name="Others"), by=person)

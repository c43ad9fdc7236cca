"""The operators' admin: they look at everything, change next to nothing, delete nothing."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from exchange.accounts.models import Organisation, Role
from exchange.keys.services import create_api_key
from tests.access_table import World, furnish
from tests.trading import Exchange, exchange

__all__ = ["exchange"]

MODELS = list(admin.site._registry)


@pytest.fixture
def world(exchange: Exchange) -> World:
    return furnish(exchange)


def address(model: type[Model], page: str, *arguments: object) -> str:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=arguments)


def client_of(exchange: Exchange, role: Role) -> Client:
    client = Client()
    client.force_login(exchange.operators[role])
    return client


@pytest.mark.parametrize("model", MODELS, ids=lambda it: it.__name__)
def test_operators_look_at_every_table_and_row(model: type[Model], world: World) -> None:
    row = model._default_manager.all()[0]
    for role in (Role.VIEWER, Role.ADMIN):
        client = client_of(world.exchange, role)
        assert client.get(address(model, "changelist")).status_code == 200
        assert client.get(address(model, "change", row.pk)).status_code == 200
        assert client.get(address(model, "add")).status_code == 403
        assert client.get(address(model, "delete", row.pk)).status_code == 403


@pytest.mark.parametrize("model", MODELS, ids=lambda it: it.__name__)
def test_nothing_but_an_organisations_name_is_changed_there(
    model: type[Model], world: World
) -> None:
    row = model._default_manager.all()[0]
    for role in Role:
        answer = client_of(world.exchange, role).post(address(model, "change", row.pk), {"x": "1"})
        may = model is Organisation and role == Role.ADMIN
        assert answer.status_code == (200 if may else 403), role  # 200: shown again, name missing


def test_an_organisation_gets_another_name(exchange: Exchange) -> None:
    organisation = exchange.rival.organisation
    data = {"name": "Rival Group", "is_operator": "on"}
    client = client_of(exchange, Role.ADMIN)
    client.post(address(Organisation, "change", organisation.pk), data)
    organisation.refresh_from_db()
    assert (organisation.name, organisation.is_operator) == ("Rival Group", False)


def test_people_of_other_organisations_are_told_that_it_is_not_for_them(
    exchange: Exchange,
) -> None:
    client = Client()
    client.force_login(exchange.rival.admin)
    assert client.get("/admin/", follow=True).status_code == 403
    assert client.get("/admin/market/campaign/", follow=True).status_code == 403


def test_log_in_is_the_exchanges_own(exchange: Exchange) -> None:
    answer = Client().get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0].startswith("/login/?next=")


def test_no_secret_is_shown(exchange: Exchange) -> None:
    key, _ = create_api_key(
        name="k", organisation=exchange.herald.organisation, publishers=[exchange.herald.party]
    )
    client = client_of(exchange, Role.ADMIN)
    assert key.hash not in client.get(address(type(key), "change", key.pk)).content.decode()
    person = exchange.herald.admin
    person.set_password("long-enough-secret")
    person.save()
    page = client.get(address(type(person), "change", person.pk)).content.decode()
    assert person.password not in page

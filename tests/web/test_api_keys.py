"""API keys: shown once, of the own organisation only, revoked by a button."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from exchange.accounts.models import Role
from exchange.accounts.seeds import SHOWN_AGAIN
from exchange.keys.models import ApiKey
from exchange.keys.services import create_api_key, hash_api_key
from tests.rivals import overlap
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]


@pytest.fixture
def admin(exchange: Exchange, log_in: LogIn) -> Client:
    return log_in(exchange.herald.admin)


def fields(exchange: Exchange, **changes: Any) -> dict[str, Any]:
    usual = {
        "name": "Frankfurt",
        "days": "30",
        "scopes": ["eligibility:read"],
        "publishers": [exchange.herald.party.pk],
    }
    return usual | changes


def test_a_new_key_is_shown_once_and_works(exchange: Exchange, admin: Client) -> None:
    answer = admin.post("/api-keys/new/", fields(exchange))
    [text] = re.findall(r'value="(tl_[A-Za-z0-9_-]{43})"', answer.content.decode())
    key = ApiKey.objects.get(hash=hash_api_key(text))
    assert key.organisation == exchange.herald.organisation
    assert key.created_by == exchange.herald.admin
    assert "no-store" in answer["Cache-Control"]
    listed = admin.get("/api-keys/").content.decode()
    assert "Frankfurt" in listed
    assert key.start in listed
    assert text not in listed


def test_only_own_publishers_and_scopes_are_offered(exchange: Exchange, admin: Client) -> None:
    page = admin.get("/api-keys/new/").content.decode()
    assert "Herald" in page
    assert "snapshot:read" not in page
    assert 'name="organisation"' not in page


def test_the_exchanges_administrators_choose_the_organisation(
    exchange: Exchange, log_in: LogIn
) -> None:
    client = log_in(exchange.operators[Role.ADMIN])
    assert "snapshot:read" in client.get("/api-keys/new/").content.decode()
    client.post("/api-keys/new/", fields(exchange, organisation=exchange.herald.organisation.pk))
    assert ApiKey.objects.get().organisation == exchange.herald.organisation


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "This field is required."),
        ({"scopes": []}, "This field is required."),
        ({"scopes": ["snapshot:read"]}, "Select a valid choice."),
        ({"publishers": []}, "Name at least one publisher"),
        ({"days": "367"}, "less than or equal to 366"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    exchange: Exchange, admin: Client, changes: dict[str, Any], message: str
) -> None:
    answer = admin.post("/api-keys/new/", fields(exchange, **changes))
    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert not ApiKey.objects.exists()


def test_a_publisher_of_others_cannot_be_chosen(exchange: Exchange, log_in: LogIn) -> None:
    answer = log_in(exchange.rival.admin).post("/api-keys/new/", fields(exchange))
    assert answer.status_code == 422
    assert not ApiKey.objects.exists()


def test_a_revoked_key_stays_in_the_list(exchange: Exchange, admin: Client) -> None:
    key, _ = create_api_key(
        name="Frankfurt",
        organisation=exchange.herald.organisation,
        publishers=[exchange.herald.party],
    )
    assert "never" in admin.get("/api-keys/").content.decode()
    page = admin.post(f"/api-keys/{key.pk}/revoke/", follow=True).content.decode()
    assert "Frankfurt is revoked." in page
    assert "Revoked" in page
    assert f"/api-keys/{key.pk}/revoke/" not in page


def test_an_organisation_without_keys_is_told_what_they_are_for(admin: Client) -> None:
    assert "No keys yet" in admin.get("/api-keys/").content.decode()


def test_the_menu_offers_what_one_may_open(exchange: Exchange, log_in: LogIn) -> None:
    for role in Role:
        page = log_in(exchange.herald.people[role]).get("/").content.decode()
        assert ('href="/api-keys/"' in page) is (role == Role.ADMIN), role
        assert ('href="/people/"' in page) is (role == Role.ADMIN), role


def token_of(page: Any) -> str:
    [token] = re.findall(r'name="form_token" value="([^"]+)"', page.content.decode())
    return unescape(token)


def texts_in(page: Any) -> list[str]:
    return re.findall(r'value="(tl_[A-Za-z0-9_-]{43})"', page.content.decode())


def test_a_form_that_is_sent_twice_makes_one_key_and_shows_it(
    exchange: Exchange, admin: Client
) -> None:
    """Shows it after a double click, of which the browser shows the second answer only."""
    data = fields(exchange, form_token=token_of(admin.get("/api-keys/new/")))
    first, second = admin.post("/api-keys/new/", data), admin.post("/api-keys/new/", data)
    assert ApiKey.objects.count() == 1
    assert texts_in(first) == texts_in(second) != []
    assert "The form was sent twice" in second.content.decode()
    assert "The form was sent twice" not in first.content.decode()
    assert "no-store" in second["Cache-Control"]


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_twice_at_once_makes_one_key_and_shows_it(
    exchange: Exchange, admin: Client, log_in: LogIn
) -> None:
    data = fields(exchange, form_token=token_of(admin.get("/api-keys/new/")))
    other = log_in(exchange.herald.admin)
    first, second = overlap(
        lambda: admin.post("/api-keys/new/", data), lambda: other.post("/api-keys/new/", data)
    )
    assert first.status_code == second.status_code == 200
    assert texts_in(first) == texts_in(second) != []
    assert ApiKey.objects.get().hash == hash_api_key(texts_in(first)[0])


@pytest.mark.parametrize("is_revoked", [False, True])
def test_later_the_text_stays_with_who_has_it(
    exchange: Exchange,
    admin: Client,
    is_revoked: bool,
) -> None:
    data = fields(exchange, form_token=token_of(admin.get("/api-keys/new/")))
    [text] = texts_in(admin.post("/api-keys/new/", data))
    long_ago = timezone.now() - SHOWN_AGAIN
    changes = {"revoked_at": timezone.now()} if is_revoked else {"created_at": long_ago}
    ApiKey.objects.update(**changes)
    again = admin.post("/api-keys/new/", data)
    assert again.status_code == 409
    assert text not in again.content.decode()
    assert "revoke the key that begins with" in again.content.decode()
    assert ApiKey.objects.count() == 1


def test_a_form_that_is_filled_in_otherwise_makes_another_key(
    exchange: Exchange, admin: Client
) -> None:
    """Goes back to the form and makes a second key with it."""
    data = fields(exchange, form_token=token_of(admin.get("/api-keys/new/")))
    first = admin.post("/api-keys/new/", data)
    second = admin.post("/api-keys/new/", data | {"name": "Oslo"})
    assert ApiKey.objects.count() == 2
    assert texts_in(first) != texts_in(second)


def test_a_token_of_somebody_else_draws_nothing(
    exchange: Exchange, admin: Client, log_in: LogIn
) -> None:
    operator = log_in(exchange.operators[Role.ADMIN])
    token = token_of(operator.get("/api-keys/new/"))
    for _ in range(2):
        assert texts_in(admin.post("/api-keys/new/", fields(exchange, form_token=token)))
    assert ApiKey.objects.count() == 2

"""The people page: of the own organisation, with links that are shown once."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from exchange.accounts.models import PasswordLink, Role, User
from tests.rivals import overlap
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

SECRET = re.compile(r'id="secret" type="text" value="([^"]+)"')


@pytest.fixture
def admin(exchange: Exchange, log_in: LogIn) -> Client:
    return log_in(exchange.herald.admin)


def test_a_new_person_chooses_a_password_by_the_link_that_was_shown(
    exchange: Exchange, admin: Client, client: Client
) -> None:
    answer = admin.post("/people/new/", {"username": "frank", "role": "analyst"})
    [link] = SECRET.findall(answer.content.decode())
    assert "no-store" in answer["Cache-Control"]
    frank = User.objects.get(username="frank")
    assert frank.organisation == exchange.herald.organisation
    assert not frank.has_usable_password()
    chosen = {"new_password1": "quiet-otter-39", "new_password2": "quiet-otter-39"}
    assert client.post(link, chosen).status_code == 302
    logged_in = client.post("/login/", {"username": "frank", "password": "quiet-otter-39"})
    assert logged_in.status_code == 302
    assert link not in admin.get("/people/").content.decode()


def test_the_list_holds_the_own_people_only(exchange: Exchange, admin: Client) -> None:
    page = admin.get("/people/").content.decode()
    assert all(person.username in page for person in exchange.herald.people.values())
    assert not any(person.username in page for person in exchange.rival.people.values())


def test_a_role_is_changed_but_never_the_own(exchange: Exchange, admin: Client) -> None:
    viewer = exchange.herald.people[Role.VIEWER]
    data = {"username": viewer.username, "role": "admin"}
    assert admin.post(f"/people/{viewer.pk}/edit/", data).status_code == 302
    viewer.refresh_from_db()
    assert viewer.role == Role.ADMIN
    own = exchange.herald.admin
    data = {"username": own.username, "role": "viewer"}
    assert admin.post(f"/people/{own.pk}/edit/", data).status_code == 403
    own.refresh_from_db()
    assert own.role == Role.ADMIN


def test_an_organisation_cannot_be_smuggled_in(exchange: Exchange, admin: Client) -> None:
    data = {
        "username": "frank",
        "role": "admin",
        "organisation": exchange.rival.organisation.pk,
        "is_superuser": "on",
    }
    admin.post("/people/new/", data)
    frank = User.objects.get(username="frank")
    assert frank.organisation == exchange.herald.organisation
    assert not frank.is_superuser


def test_switching_off_ends_the_session(exchange: Exchange, admin: Client, log_in: LogIn) -> None:
    viewer = exchange.herald.people[Role.VIEWER]
    theirs = log_in(viewer)
    assert theirs.get("/").status_code == 200
    admin.post(f"/people/{viewer.pk}/switch/", {"active": "no"})
    assert theirs.get("/").status_code == 302
    page = admin.post(f"/people/{viewer.pk}/switch/", {"active": "yes"}, follow=True)
    assert "may log in again" in page.content.decode()


def test_a_new_password_ends_the_old_one_and_its_sessions(
    exchange: Exchange, admin: Client, log_in: LogIn
) -> None:
    viewer = exchange.herald.people[Role.VIEWER]
    theirs = log_in(viewer)
    answer = admin.post(f"/people/{viewer.pk}/password/")
    [link] = SECRET.findall(answer.content.decode())
    assert viewer.username in admin.get(link).content.decode()
    viewer.refresh_from_db()
    assert not viewer.has_usable_password()
    assert theirs.get("/").status_code == 302


def test_an_administrator_switching_themselves_off_is_told_no(
    exchange: Exchange, admin: Client
) -> None:
    own = exchange.herald.admin
    page = admin.post(f"/people/{own.pk}/switch/", {"active": "no"}, follow=True)
    assert "cannot end your own access" in page.content.decode()


def test_a_superuser_is_not_taken_over_through_an_organisation(
    exchange: Exchange, admin: Client
) -> None:
    root = User.objects.create_superuser("root", organisation=exchange.herald.organisation)
    assert admin.post(f"/people/{root.pk}/password/").status_code == 403


def token_of(page: Any) -> str:
    return unescape(re.findall(r'name="form_token" value="([^"]+)"', page.content.decode())[0])


@pytest.mark.django_db(transaction=True)
def test_a_person_who_is_added_twice_at_once_is_one_with_one_link(
    exchange: Exchange, admin: Client, log_in: LogIn
) -> None:
    token = token_of(admin.get("/people/new/"))
    data = {"username": "frank", "role": "analyst", "form_token": token}
    other = log_in(exchange.herald.admin)
    first, second = overlap(
        lambda: admin.post("/people/new/", data), lambda: other.post("/people/new/", data)
    )
    [link] = SECRET.findall(first.content.decode())
    assert SECRET.findall(second.content.decode()) == [link]
    assert User.objects.get(username="frank").password_links.count() == 1
    assert "no-store" in second["Cache-Control"]


def test_a_person_added_before_is_not_told_again(exchange: Exchange, admin: Client) -> None:
    token = token_of(admin.get("/people/new/"))
    data = {"username": "frank", "role": "analyst", "form_token": token}
    admin.post("/people/new/", data)
    otherwise = admin.post("/people/new/", data | {"role": "viewer"})
    assert otherwise.status_code == 422
    assert "already exists" in otherwise.content.decode()
    PasswordLink.objects.update(ended_at=timezone.now())
    assert admin.post("/people/new/", data).status_code == 422


def test_a_new_password_that_is_asked_for_twice_is_the_one_that_is_shown(
    exchange: Exchange, admin: Client
) -> None:
    """Holds whichever of the two requests is answered first."""
    viewer = exchange.herald.people[Role.VIEWER]
    data = {"form_token": token_of(admin.get("/people/"))}
    answers = [admin.post(f"/people/{viewer.pk}/password/", data) for _ in range(2)]
    first, second = (SECRET.findall(answer.content.decode()) for answer in answers)
    assert first == second
    assert viewer.username in admin.get(first[0]).content.decode()

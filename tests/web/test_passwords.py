"""Choosing a password by a link, asking for one by mail, and the organisations' pages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Organisation, PasswordLink, User
from exchange.accounts.password_links import make_link
from tests.web.conftest import LogIn

PAIR = {"new_password1": "quiet-otter-39", "new_password2": "quiet-otter-39"}


@pytest.fixture
def link(dave: User) -> str:
    return f"/welcome/{make_link(person=dave, life=timedelta(days=1))}/"


def test_looking_at_a_link_does_not_use_it_up(link: str, client: Client) -> None:
    for _ in range(2):
        page = client.get(link)
        assert page.status_code == 200
        assert "dave" in page.content.decode()
        assert "no-store" in page["Cache-Control"]
    assert client.head(link).status_code == 200
    done = client.post(link, PAIR, follow=True)
    assert "Log in as dave" in done.content.decode()
    ended = client.get(link)
    assert ended.status_code == 404
    assert "leads nowhere" in ended.content.decode()
    assert client.post(link, PAIR).status_code == 404


@pytest.mark.parametrize("first", ["short", "password"])
def test_a_weak_password_is_refused_and_the_link_stays(
    link: str, client: Client, first: str
) -> None:
    assert client.post(link, {"new_password1": first, "new_password2": first}).status_code == 422
    assert client.post(link, PAIR | {"new_password2": "other"}).status_code == 422
    assert client.get(link).status_code == 200


def test_choosing_ends_sessions_that_the_old_password_began(
    dave: User, link: str, client: Client, log_in: LogIn
) -> None:
    theirs = log_in(dave)
    assert theirs.get("/").status_code == 200
    client.post(link, PAIR)
    assert theirs.get("/").status_code == 302


@pytest.mark.django_db
def test_mail_is_offered_only_where_it_is_sent(client: Client, settings: Settings) -> None:
    assert "Forgotten" not in client.get("/login/").content.decode()
    assert client.get("/password/forgotten/").status_code == 404
    settings.EMAIL_HOST = "mail.example"
    assert "Forgotten" in client.get("/login/").content.decode()
    assert client.get("/password/forgotten/").status_code == 200


def test_asking_for_a_link_does_not_tell_who_is_there(
    dave: User, client: Client, settings: Settings
) -> None:
    settings.EMAIL_HOST = "mail.example"
    User.objects.update(email="dave@example.com")
    known, unknown = (
        client.post("/password/forgotten/", {"name": name}) for name in ("dave", "nobody")
    )
    assert known.status_code == unknown.status_code == 200
    assert known.content == unknown.content
    assert PasswordLink.objects.get().person == dave
    assert client.post("/password/forgotten/", {"name": ""}).status_code == 422


def test_an_operator_adds_an_organisation_and_invites_its_administrator(
    erin: User, log_in: LogIn
) -> None:
    client = log_in(erin)
    answer = client.post("/organisations/new/", {"name": "Gazette Group", "is_operator": "on"})
    gazette = Organisation.objects.get(name="Gazette Group")
    assert not gazette.is_operator
    assert answer["Location"] == f"/people/new/?for={gazette.pk}"
    page = client.get(answer["Location"]).content.decode()
    assert "Gazette Group" in page
    again = client.post("/organisations/new/", {"name": "Gazette Group"})
    assert again.status_code == 422
    client.post(f"/organisations/{gazette.pk}/edit/", {"name": "Gazette Media"})
    assert "Gazette Media" in client.get("/organisations/").content.decode()


def test_counts_are_each_organisations_own(erin: User, dave: User, log_in: LogIn) -> None:
    Organisation.objects.create(name="Empty")
    page = log_in(erin).get("/organisations/")
    counts = {row.name: row.person_count for row in page.context["listing"].page.rows}
    assert counts == {"Treeline Exchange": 2, "Empty": 0}

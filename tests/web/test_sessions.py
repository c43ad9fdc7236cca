"""Logging in and out."""

from __future__ import annotations

import pytest
from django.contrib.staticfiles.finders import get_finders
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import User
from exchange.demo.access import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo_person(alice: User) -> User:
    alice.is_demo = True
    alice.set_password("treeline-demo")
    alice.save()
    return alice


def test_lists_the_demo_logins_where_they_work(demo_person: User, client: Client) -> None:
    page = client.get("/login/").content.decode()
    assert demo_person.username in page
    assert "treeline-demo" in page


def test_hides_the_demo_logins_where_they_do_not_work(
    demo_person: User, client: Client, settings: Settings
) -> None:
    settings.DEMO_LOGINS = False
    page = client.get("/login/").content.decode()
    assert demo_person.username not in page
    assert "treeline-demo" not in page


def test_nothing_that_is_served_to_everybody_has_the_demos_password(settings: Settings) -> None:
    found = [
        path
        for finder in get_finders()
        for path, storage in finder.list([])
        if PASSWORD.encode() in storage.open(path).read()
    ]
    assert found == []
    settings.DEMO_LOGINS = False
    assert "login.js" not in Client().get("/login/").content.decode()


@pytest.mark.usefixtures("alice")
def test_lists_no_login_of_real_people(client: Client) -> None:
    assert "alice" not in client.get("/login/").content.decode()


def test_leads_to_the_page_that_was_asked_for(demo_person: User, client: Client) -> None:
    refused = client.get("/edges/?q=north")
    assert refused.url == "/login/?next=/edges/%3Fq%3Dnorth"  # type: ignore[attr-defined]
    answer = client.post(
        "/login/",
        {"username": demo_person.username, "password": "treeline-demo", "next": "/edges/?q=north"},
    )
    assert answer.url == "/edges/?q=north"  # type: ignore[attr-defined]


def test_a_wrong_password_keeps_the_name(demo_person: User, client: Client) -> None:
    page = client.post("/login/", {"username": demo_person.username, "password": "wrong"})
    assert f'value="{demo_person.username}"' in page.content.decode()
    assert "correct username and password" in page.content.decode()


def test_logging_out_leads_back_to_the_login(demo_person: User, client: Client) -> None:
    client.force_login(demo_person)
    assert client.post("/logout/").url == "/login/"  # type: ignore[attr-defined]
    assert client.get("/").status_code == 302


def test_a_part_of_a_page_is_told_that_the_session_has_ended(client: Client) -> None:
    answer = client.get("/snapshots/progress/", headers={"HX-Request": "true"}, follow=True)
    assert answer.status_code == 401
    assert answer.content == b""


def test_a_person_changes_the_password_and_stays_logged_in(alice: User, client: Client) -> None:
    alice.set_password("first-handed-over")
    alice.save()
    client.force_login(alice)
    wrong = {"old_password": "no", "new_password1": "a", "new_password2": "b"}
    assert client.post("/password/", wrong).status_code == 422
    new = "chosen-by-alice-herself"
    right = {"old_password": "first-handed-over", "new_password1": new, "new_password2": new}
    answer = client.post("/password/", right, follow=True)
    assert "Your password is changed." in answer.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(new)


def test_a_published_password_stays_as_it_is(demo_person: User, client: Client) -> None:
    client.force_login(demo_person)
    assert client.get("/password/").status_code == 403
    assert "/password/" not in client.get("/").content.decode()


def test_a_form_sent_after_the_session_leads_back_to_its_page(client: Client) -> None:
    """Leads to the page, because its own address may take forms only. Pages of others are not led
    to."""
    address = "/campaigns/7/status/"
    for page, led_to in (
        ("http://testserver/campaigns/7/?tab=1", "/campaigns/7/%3Ftab%3D1"),
        ("https://elsewhere.example/campaigns/7/", address),
        ("", address),
    ):
        answer = client.post(address, headers={"Referer": page} if page else {})
        assert answer["Location"] == f"/login/?next={led_to}"
    assert client.get("/campaigns/").headers["Location"] == "/login/?next=/campaigns/"

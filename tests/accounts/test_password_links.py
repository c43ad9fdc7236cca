"""Links with which people choose a password: once, for a while, and only the newest."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import PasswordLink, User
from exchange.accounts.password_links import (
    BETWEEN_MAILS,
    LinkEndedError,
    choose_password,
    find_person,
    hash_secret,
    mail_links,
    make_link,
)
from tests.accounts.post_office import PostOffice
from tests.rivals import overlap

DAY = timedelta(days=1)


def test_a_link_is_used_once_and_its_secret_is_not_kept(dave: User) -> None:
    secret = make_link(person=dave, life=DAY)
    link = PasswordLink.objects.get()
    assert link.hash == hash_secret(secret) != secret
    assert len(secret) >= 43
    assert choose_password(secret=secret, password="quiet-otter-39") == dave
    dave.refresh_from_db()
    assert dave.check_password("quiet-otter-39")
    for use in (find_person, lambda it: choose_password(secret=it, password="another-39")):
        with pytest.raises(LinkEndedError):
            use(secret)


def test_a_link_ends_by_itself_by_a_newer_one_and_with_the_access(dave: User) -> None:
    expired = make_link(person=dave, life=timedelta(0))
    older = make_link(person=dave, life=DAY)
    newer = make_link(person=dave, life=DAY)
    for secret in (expired, older, "nobody's"):
        with pytest.raises(LinkEndedError):
            find_person(secret)
    assert find_person(newer) == dave
    User.objects.update(is_active=False)
    with pytest.raises(LinkEndedError):
        choose_password(secret=newer, password="quiet-otter-39")


def test_the_database_keeps_no_longer_ones(dave: User) -> None:
    with pytest.raises(IntegrityError, match="within_a_week"), transaction.atomic():
        make_link(person=dave, life=timedelta(days=8))


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_link_at_once_one_wins(dave: User) -> None:
    secret = make_link(person=dave, life=DAY)
    first, second = overlap(
        lambda: choose_password(secret=secret, password="quiet-otter-39"),
        lambda: choose_password(secret=secret, password="another-one-39"),
    )
    assert first == dave
    assert "was used" in second
    dave.refresh_from_db()
    assert dave.check_password("quiet-otter-39")


@pytest.fixture
def post_office(settings: Settings) -> Iterator[PostOffice]:
    with PostOffice().open() as office:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", office.port
        settings.EMAIL_USE_TLS = False
        yield office


def write_address(secret: str) -> str:
    return f"https://exchange.example/{secret}"


@pytest.mark.parametrize("name", ["dave", "Dave@Example.com"])
def test_a_link_is_mailed_to_the_persons_own_address(
    dave: User, post_office: PostOffice, name: str
) -> None:
    User.objects.filter(pk=dave.pk).update(email="dave@example.com")
    mail_links(name=name, write_address=write_address)
    message = post_office.mail.get(timeout=60)
    assert message["To"] == "dave@example.com"
    (secret,) = [
        line.rpartition("/")[2]
        for line in message.get_content().splitlines()
        if line.startswith("https://exchange.example/")
    ]
    assert find_person(secret) == dave


def test_nobody_is_mailed_twice_at_once_or_without_an_address(
    dave: User, alice: User, erin: User, post_office: PostOffice
) -> None:
    User.objects.filter(pk=dave.pk).update(email="dave@example.com")
    User.objects.filter(pk=alice.pk).update(email="alice@example.com", is_active=False)
    User.objects.filter(pk=erin.pk).update(email="")
    for name in ("alice", "erin", "nobody", "", "dave", "dave"):
        mail_links(name=name, write_address=write_address)
    assert post_office.mail.get(timeout=60)["To"] == "dave@example.com"
    assert PasswordLink.objects.get().person == dave
    PasswordLink.objects.update(created_at=timezone.now() - BETWEEN_MAILS - timedelta(seconds=1))
    mail_links(name="dave", write_address=write_address)
    assert post_office.mail.get(timeout=60)["To"] == "dave@example.com"
    assert post_office.mail.empty()

"""Attempts to log in, right and wrong, from here and elsewhere."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from exchange.accounts.models import Organisation, User

PASSWORD, WRONG = "kept-to-myself", "guessed"
HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def quick_passwords(settings: Settings) -> None:
    """Makes dozens of attempts affordable; no other process has to know the hash."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def frank(quick_passwords: None, operator: Organisation) -> User:
    return User.objects.create_user("frank", password=PASSWORD, organisation=operator)


def attempt(
    name: str = "frank",
    password: str = WRONG,
    *,
    address: str = HERE,
    browser: Client | None = None,
    agent: str = "one",
) -> HttpResponse:
    """Tries to log in from a browser that was never here before, unless one is given."""
    answer = (browser or Client()).post(
        "/login/",
        {"username": name, "password": password},
        REMOTE_ADDR=address,
        headers={"User-Agent": agent},
    )
    assert isinstance(answer, HttpResponse)
    return answer

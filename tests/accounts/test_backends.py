from __future__ import annotations

import pytest
from django.contrib.auth import authenticate
from django.test import RequestFactory
from pytest_django import Settings

from exchange.accounts.models import Organisation, User


@pytest.fixture
def people(operator: Organisation) -> None:
    User.objects.create_user("viewer", password="published", organisation=operator, is_demo=True)
    User.objects.create_user("frank", password="kept-to-myself", organisation=operator)


def can_log_in(username: str, password: str) -> bool:
    request = RequestFactory().post("/login/")
    return authenticate(request, username=username, password=password) is not None


@pytest.mark.usefixtures("people")
def test_demo_accounts_log_in_only_while_the_exchange_runs_as_a_demo(settings: Settings) -> None:
    settings.DEMO_LOGINS = True
    assert can_log_in("viewer", "published")
    settings.DEMO_LOGINS = False
    assert not can_log_in("viewer", "published")
    assert can_log_in("frank", "kept-to-myself")


@pytest.mark.usefixtures("people")
def test_a_closed_account_cannot_log_in() -> None:
    User.objects.filter(username="frank").update(is_active=False)
    assert not can_log_in("frank", "kept-to-myself")

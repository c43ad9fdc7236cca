"""One address that tries many names is slowed; an office behind one address is not shut out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from exchange.accounts.addresses import home_of
from exchange.accounts.models import AddressFailures
from tests.accounts.logging_in import ELSEWHERE, HERE, PASSWORD, attempt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]


def try_names(count: int, address: str = HERE) -> list[int]:
    return [attempt(f"name-{number}", address=address).status_code for number in range(count)]


def later(by: timedelta) -> None:
    """Moves the oldest first, so that none takes the minute of one that is still to move."""
    for row in AddressFailures.objects.order_by("minute"):
        row.minute -= by
        row.save()


@pytest.mark.usefixtures("frank")
def test_an_address_that_tries_many_names_is_slowed_with_a_word() -> None:
    assert try_names(30) == [200] * 30
    answer = attempt("frank", PASSWORD)
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 300
    page = answer.content.decode()
    assert "Too many log-ins from your address have failed" in page
    assert "frank" not in page
    assert attempt("frank", PASSWORD, address=ELSEWHERE).status_code == 302


@pytest.mark.usefixtures("frank")
def test_trying_on_does_not_make_it_longer_and_it_ends() -> None:
    try_names(40)
    later(timedelta(minutes=3))
    assert try_names(20) == [429] * 20
    later(timedelta(minutes=3))
    assert attempt("frank", PASSWORD).status_code == 302


@pytest.mark.usefixtures("frank")
def test_who_has_logged_in_before_gets_in_while_a_colleague_tries_names() -> None:
    own = Client()
    assert attempt("frank", PASSWORD, browser=own).status_code == 302
    own.post("/logout/")
    try_names(30)
    assert attempt("somebody", browser=own).status_code == 429
    assert attempt("frank", PASSWORD, browser=own).status_code == 302


@pytest.mark.usefixtures("frank")
def test_a_known_browser_still_has_five_attempts_at_its_own_name() -> None:
    own = Client()
    attempt("frank", PASSWORD, browser=own)
    own.post("/logout/")
    tries = [attempt("frank", browser=own).status_code for _ in range(5)]
    assert tries == [200] * 4 + [429]
    assert not AddressFailures.objects.filter(failures__gt=0).exists()


def test_a_cookie_that_we_did_not_write_is_no_acquaintance() -> None:
    try_names(30)
    forged = Client()
    forged.cookies["known_as"] = "frank"
    assert attempt("frank", browser=forged).status_code == 429


@pytest.mark.usefixtures("frank")
def test_what_is_right_or_not_even_heard_does_not_count(settings: Settings) -> None:
    settings.ADDRESS_ATTEMPTS = 5
    for _ in range(12):
        assert attempt("frank", PASSWORD).status_code == 302
    Client().post("/login/", {"username": "frank", "password": ""}, REMOTE_ADDR=HERE)
    codes = [attempt("nobody").status_code for _ in range(12)]
    assert codes[:4] == [200] * 4
    assert set(codes[4:]) == {429}
    assert sum(AddressFailures.objects.values_list("failures", flat=True)) <= 5


def test_an_ipv6_address_is_taken_for_all_of_its_network(settings: Settings) -> None:
    settings.ADDRESS_ATTEMPTS = 2
    codes = [
        attempt(f"n{number}", address=f"2001:db8::{number:x}").status_code for number in (1, 2, 3)
    ]
    assert codes == [200, 200, 429]
    assert attempt("n", address="2001:db8:0:1::1").status_code == 200
    assert home_of("::ffff:192.0.2.1") == "::ffff:192.0.2.1"


@pytest.mark.django_db(transaction=True)
def test_attempts_at_the_same_time_are_all_counted(settings: Settings) -> None:
    settings.ADDRESS_ATTEMPTS = 5

    def once(number: int) -> int:
        try:
            return attempt(f"name-{number}").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        codes = list(threads.map(once, range(24)))
    assert codes.count(200) <= 5
    assert codes.count(429) >= 19

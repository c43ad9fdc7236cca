"""Log-in attempts: five wrong ones lock the name at that address for a quarter of an hour."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.db import connection
from django.test import RequestFactory
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.throttling import client_address
from tests.accounts.logging_in import ELSEWHERE, HERE, PASSWORD, WRONG, attempt

pytestmark = pytest.mark.usefixtures("quick_passwords")


def fail(times: int, *, name: str = "frank", address: str = HERE, agent: str = "one") -> None:
    for _ in range(times):
        attempt(name, address=address, agent=agent)


@pytest.mark.usefixtures("frank")
def test_the_fifth_failure_locks_and_says_for_how_long() -> None:
    fail(4)
    answer = attempt()
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 15 * 60
    page = answer.content.decode()
    assert "Log-in is locked for a while" in page
    assert "Try again in 15 minutes" in page
    assert "frank" in page


@pytest.mark.usefixtures("frank")
def test_the_right_password_is_not_heard_while_locked() -> None:
    fail(5)
    assert attempt(password=PASSWORD).status_code == 429


@pytest.mark.usefixtures("frank")
def test_a_success_starts_the_count_anew() -> None:
    fail(4)
    assert attempt(password=PASSWORD).status_code == 302
    fail(4)
    assert attempt(password=PASSWORD).status_code == 302


@pytest.mark.usefixtures("frank")
def test_nobody_is_locked_out_from_elsewhere_or_by_anothers_failures() -> None:
    fail(5, address=ELSEWHERE)
    fail(5, name="somebody")
    assert attempt(password=PASSWORD).status_code == 302


@pytest.mark.usefixtures("frank")
def test_another_browser_at_the_same_address_does_not_help() -> None:
    fail(3)
    fail(2, agent="another")
    assert attempt(password=PASSWORD, agent="a third").status_code == 429


@pytest.mark.usefixtures("frank")
def test_a_name_that_does_not_exist_is_locked_just_the_same() -> None:
    fail(4, name="nobody")
    assert attempt("nobody").status_code == 429


@pytest.mark.usefixtures("frank")
def test_trying_on_does_not_make_it_longer_and_it_ends() -> None:
    fail(5)
    back_in_time(timedelta(minutes=10))
    answer = attempt()
    assert int(answer["Retry-After"]) <= 5 * 60
    assert "Try again in 5 minutes" in answer.content.decode()
    back_in_time(timedelta(minutes=5, seconds=1))
    assert attempt(password=PASSWORD).status_code == 302


def back_in_time(by: timedelta) -> None:
    for row in AccessAttempt.objects.all():
        AccessAttempt.objects.filter(pk=row.pk).update(attempt_time=row.attempt_time - by)


@pytest.mark.usefixtures("frank")
def test_no_password_is_written_down() -> None:
    fail(2)
    row = AccessAttempt.objects.get()
    assert WRONG not in "".join(map(str, (row.get_data, row.post_data)))
    assert abs(row.attempt_time - timezone.now()) < timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("frank")
def test_attempts_at_the_same_time_are_all_counted() -> None:
    def fail_once(_: int) -> None:
        try:
            attempt()
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(fail_once, range(8)))
    assert attempt(password=PASSWORD).status_code == 429


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "expected"),
    [
        (False, "203.0.113.9", HERE),
        (True, "203.0.113.9", "203.0.113.9"),
        (True, "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        (True, "2001:db8::1", "2001:db8::1"),
        (True, "nonsense", HERE),
        (True, "", HERE),
    ],
)
def test_only_the_proxys_own_word_about_the_address_counts(
    settings: Settings, behind_proxy: bool, forwarded: str, expected: str
) -> None:
    settings.BEHIND_PROXY = behind_proxy
    request = RequestFactory(REMOTE_ADDR=HERE).post(
        "/login/", headers={"X-Forwarded-For": forwarded}
    )
    assert client_address(request) == expected

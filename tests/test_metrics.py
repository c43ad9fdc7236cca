"""Who may read the metrics. What they count is tested with real servers (`test_wsgi`)."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

TOKEN = "a-long-random-token"


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_machine_itself_may_read(client: Client, address: str) -> None:
    response = client.get("/metrics", REMOTE_ADDR=address)
    assert response.status_code == 200
    assert b"treeline_eligibility_seconds_bucket" in response.content


@pytest.mark.parametrize("address", ["203.0.113.7", "10.0.0.1", "", "unix:"])
def test_others_find_nothing(client: Client, address: str) -> None:
    assert client.get("/metrics", REMOTE_ADDR=address).status_code == 404


def test_others_may_read_with_the_token(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN
    for token, status in [(TOKEN, 200), ("wrong", 404), ("", 404), (TOKEN + "\xfc", 404)]:
        headers = {"Authorization": f"Bearer {token}"}
        response = client.get("/metrics", headers=headers, REMOTE_ADDR="203.0.113.7")
        assert response.status_code == status


def test_empty_token_is_no_token(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    headers = {"Authorization": "Bearer "}
    response = client.get("/metrics", headers=headers, REMOTE_ADDR="203.0.113.7")
    assert response.status_code == 404


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-Ip"])
def test_proxied_request_from_loopback_is_not_local(client: Client, header: str) -> None:
    response = client.get("/metrics", headers={header: "203.0.113.7"}, REMOTE_ADDR="127.0.0.1")
    assert response.status_code == 404

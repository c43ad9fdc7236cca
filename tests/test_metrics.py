"""Who may read the metrics, and the ages of queues. What else they count: `test_wsgi`."""

from __future__ import annotations

import json
import time

import pytest
import redis
from django.conf import settings as django_settings
from django.test import Client
from pytest_django import Settings

from exchange.broker import SENT_AT
from exchange.celery import app
from exchange.site.health import watch

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


@pytest.mark.django_db
def test_tells_how_long_the_first_task_of_a_queue_waits(client: Client) -> None:
    app.control.purge()
    broker = redis.Redis.from_url(django_settings.REDIS_URL)
    broker.lpush("reports", json.dumps({"headers": {SENT_AT: time.time() - 5_000}}))
    try:
        watch.look()
        lines = client.get("/metrics").content.decode().splitlines()
    finally:
        broker.delete("reports")
    ages = dict(line.split() for line in lines if line.startswith("treeline_queue_oldest_seconds{"))
    assert float(ages['treeline_queue_oldest_seconds{queue="reports"}']) >= 5_000
    assert float(ages['treeline_queue_oldest_seconds{queue="changes"}']) == 0

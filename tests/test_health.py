"""Liveness and readiness as Django answers them."""

from __future__ import annotations

import json
import re
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings
from django.test import Client
from pytest_django import Settings

from exchange.broker import SENT_AT, TAKEN_KEY, look_at_queues
from exchange.celery import app
from exchange.launcher.processes import Running
from exchange.queues import QUEUES
from exchange.serving.directory import SnapshotDirectory
from exchange.site import health
from exchange.site.health import Watch, watch
from tests.conftest import TreelineServer, forget_messages
from tests.services import hung
from tests.serving.history import SNAPSHOT_DAMAGES, History
from tests.serving.published import publish
from tests.waiting import PATIENCE_SECONDS, wait_until

ASKED = 40


def test_alive_without_login(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.django_db
def test_ready_when_a_snapshot_is_there_and_says_what_is_missing(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    """Runs without a worker: that degrades a server, it does not stop it."""
    publish(SnapshotDirectory(tmp_path), {1: "true"})
    settings.SNAPSHOT_DIR = tmp_path
    forget_workers()
    app.control.purge()  # what other tests announced
    watch.look()
    response = client.get("/readyz")
    assert response.status_code == 200
    document = response.json()
    assert 0 <= document.pop("snapshot_age_seconds") < 60
    assert document == {
        "status": "degraded",
        "parts": {
            "database": "ok",
            "broker": "ok",
            "worker": "none for changes, sweeps, builds, checks, reports",
            "queues": "ok",
            "snapshot": "ok",
        },
        "reports": {"counted_through": None, "is_late": True},
    }


def test_ready_with_a_worker(
    client: Client, settings: Settings, tmp_path: Path, celery_worker_process: Running
) -> None:
    publish(SnapshotDirectory(tmp_path), {1: "true"})
    settings.SNAPSHOT_DIR = tmp_path

    def is_ready() -> bool:
        watch.look()
        return bool(client.get("/readyz").json()["status"] == "ready")

    wait_until(is_ready, why=lambda: client.get("/readyz").json())
    assert set(client.get("/readyz").json()["parts"].values()) == {"ok"}


def test_nothing_is_ok_that_was_not_looked_at(
    client: Client, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(SnapshotDirectory(tmp_path), {1: "true"})
    settings.SNAPSHOT_DIR = tmp_path
    monkeypatch.setattr(health, "watch", Watch())
    document = client.get("/readyz").json()
    assert document["status"] == "degraded"
    assert document["parts"] == {
        **dict.fromkeys(["database", "broker", "worker", "queues"], "not looked at yet"),
        "snapshot": "ok",
    }


@pytest.mark.django_db
def test_a_look_that_is_old_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Watch()
    own.look()
    assert own.parts()["database"] == "ok"
    monkeypatch.setattr(health, "STALE_SECONDS", -1.0)
    assert re.fullmatch(r"not looked at for \d+ s", own.parts()["database"])
    assert own.queues() == ()


@pytest.mark.django_db
def test_says_which_queue_waits_too_long(services: dict[str, str]) -> None:
    forget_messages()
    client = redis.Redis.from_url(django_settings.REDIS_URL)
    client.lpush("builds", message_sent(seconds_ago=10_000), message_sent(seconds_ago=1))
    try:
        own = Watch()
        own.look()
        assert re.fullmatch(r"builds wait for 100\d\d s", own.parts()["queues"])
    finally:
        client.delete("builds")


def test_messages_say_when_they_were_sent(services: dict[str, str]) -> None:
    app.control.purge()
    before = time.time()
    app.send_task("snapshots.build", [0])
    try:
        (builds,) = [queue for queue in look_at_queues() if queue.name == "builds"]
        assert builds.waiting_since is not None
        assert before <= builds.waiting_since <= time.time()
    finally:
        app.control.purge()


def test_answers_at_once_while_the_broker_hangs(treeline_server: TreelineServer) -> None:
    """Compares with an address that asks nobody: a busy machine is slow at both."""
    wait_for_part(treeline_server, "broker", "ok")
    with hung("valkey"):
        wait_for_part(treeline_server, "broker", "unreachable")
        ready = alive = 0.0
        for _ in range(ASKED):
            began = time.monotonic()
            assert ask(treeline_server)["database"] == "ok"
            between = time.monotonic()
            assert get(treeline_server, "/healthz") == {"status": "alive"}
            ready, alive = ready + between - began, alive + time.monotonic() - between
        assert ready - alive < ASKED * django_settings.BROKER_TIMEOUT_SECONDS / 2, (
            "each waits for the broker"
        )
    wait_for_part(treeline_server, "broker", "ok")


def ask(server: TreelineServer) -> dict[str, str]:
    """Asks for the parts. Without a snapshot the server is not ready, and says all the same what it
    sees."""
    parts: dict[str, str] = get(server, "/readyz")["parts"]
    return parts


def get(server: TreelineServer, path: str) -> dict[str, Any]:
    asked = HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    try:
        asked.request("GET", path)
        document: dict[str, Any] = json.load(asked.getresponse())
        return document
    finally:
        asked.close()


def wait_for_part(server: TreelineServer, name: str, said: str) -> None:
    wait_until(lambda: ask(server)[name] == said, why=lambda: ask(server))


def forget_workers() -> None:
    """Forgets workers of other tests, which for a while are thought to live."""
    client = redis.Redis.from_url(django_settings.REDIS_URL)
    client.delete(*(TAKEN_KEY + queue.name for queue in QUEUES))


def message_sent(*, seconds_ago: int) -> str:
    return json.dumps({"headers": {SENT_AT: time.time() - seconds_ago}})


@pytest.mark.django_db
def test_a_recovered_state_degrades_and_says_why(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    history = History(SnapshotDirectory(tmp_path))
    history.build({1: "true"})
    history.build({1: "true", 2: "true"})
    SNAPSHOT_DAMAGES["folder removed"](history.directory)
    settings.SNAPSHOT_DIR = tmp_path
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["status"] == "degraded"
    assert "is missing" in response.json()["parts"]["snapshot"]
    assert str(tmp_path) not in response.json()["parts"]["snapshot"]


@pytest.mark.django_db
def test_not_ready_without_a_snapshot(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.SNAPSHOT_DIR = tmp_path
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["parts"]["snapshot"] == "none loaded"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_cannot_be_posted_to(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405

"""Liveness and readiness as Django answers them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.launcher.processes import Running
from exchange.serving.directory import SnapshotDirectory
from tests.serving.history import SNAPSHOT_DAMAGES, History
from tests.serving.published import publish


def test_alive_without_login(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.django_db
def test_ready_when_a_snapshot_is_there_and_says_what_is_missing(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    """There is no worker in this test: that degrades a server, it does not stop it."""
    publish(SnapshotDirectory(tmp_path), {1: "true"})
    settings.SNAPSHOT_DIR = tmp_path
    response = client.get("/readyz")
    assert response.status_code == 200
    document = response.json()
    assert 0 <= document.pop("snapshot_age_seconds") < 60
    assert document == {
        "status": "degraded",
        "parts": {
            "database": "ok",
            "broker": "ok",
            "worker": "none answers",
            "snapshot": "ok",
        },
    }


def test_ready_with_a_worker(
    client: Client, settings: Settings, tmp_path: Path, celery_worker_process: Running
) -> None:
    publish(SnapshotDirectory(tmp_path), {1: "true"})
    settings.SNAPSHOT_DIR = tmp_path
    document = client.get("/readyz").json()
    assert document["status"] == "ready"
    assert set(document["parts"].values()) == {"ok"}


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

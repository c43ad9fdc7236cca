"""Liveness and readiness as Django answers them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from exchange.serving.directory import SnapshotDirectory
from tests.serving.published import publish


def test_alive_without_login(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.django_db
def test_ready_when_database_broker_and_snapshot_are_there(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    publish(SnapshotDirectory(tmp_path), {1: "true"})
    settings.SNAPSHOT_DIR = tmp_path
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ready",
        "parts": {"database": "ok", "broker": "ok", "snapshot": "ok"},
    }


@pytest.mark.django_db
def test_not_ready_without_a_snapshot(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.SNAPSHOT_DIR = tmp_path
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["parts"]["snapshot"] == "none loaded"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_cannot_be_posted_to(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405

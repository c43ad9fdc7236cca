"""Postgres and Redis stop while ad servers ask: answers go on, and `/readyz` says what is away."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exchange.launcher.servers import Servers, plan_servers
from exchange.serving.directory import SnapshotDirectory
from tests.serving.asking import Client
from tests.serving.conftest import EligibilityServer, start_server, wait_until_alive
from tests.serving.published import publish, publish_keys
from tests.serving.readers import Readers


@pytest.fixture
def own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Postgres and Redis of this test alone, because it stops them."""
    var = Path(tempfile.mkdtemp(prefix="treeline-outage-"))
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name)
    servers = plan_servers(var=var, is_durable=False)
    servers.start(dict(os.environ))
    try:
        yield servers
    finally:
        servers.stop()
        shutil.rmtree(var, ignore_errors=True)


@pytest.fixture
def server(own_servers: Servers, tmp_path: Path) -> Iterator[EligibilityServer]:
    directory = SnapshotDirectory(tmp_path / "snapshots")
    publish_keys(directory)
    publish(directory, {1: "true", 2: "geo.country = 'USA'"})
    server = start_server(directory, workers=2, **own_servers.environment())
    try:
        wait_until_alive(server)
        yield server
    finally:
        server.running.stop()


def parts_of(client: Client) -> dict[str, str]:
    reply = client.send(None, method="GET", path="/readyz")
    assert reply.status == 200, reply.body
    parts: dict[str, str] = reply.document()["parts"]
    return parts


def test_stopping_postgres_and_redis_under_load_fails_no_request(
    server: EligibilityServer, own_servers: Servers
) -> None:
    client = Client(server.port)
    assert parts_of(client) == {
        "database": "ok",
        "broker": "ok",
        "worker": "none answers",
        "snapshot": "ok",
    }
    readers = Readers(server.port, lambda reply: reply.booking_ids() == [1])
    with readers.reading():
        time.sleep(0.5)
        own_servers.stop()
        time.sleep(1.5)
        parts = parts_of(client)
        age = client.ask({}).document()["snapshot_age_seconds"]
        time.sleep(0.5)
        assert client.ask({}).document()["snapshot_age_seconds"] > age
    client.close()
    assert (parts["database"], parts["broker"], parts["snapshot"]) == (
        "unreachable",
        "unreachable",
        "ok",
    )
    assert not readers.wrong
    assert readers.states

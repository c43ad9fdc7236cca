"""Postgres and Redis stop while ad servers ask: answers go on, and the pages say what is away."""

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
from tests.conftest import running_pages
from tests.serving.asking import Client
from tests.serving.conftest import EligibilityServer, running_server
from tests.serving.published import publish, publish_keys
from tests.serving.readers import Readers
from tests.waiting import wait_until


@pytest.fixture
def own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Postgres and Redis of this test alone, because it stops them."""
    var = Path(tempfile.mkdtemp(prefix="treeline-outage-"))
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name)
    servers = plan_servers(var=var, is_durable=False)
    servers.start(dict(os.environ))
    for name, address in servers.environment().items():
        monkeypatch.setenv(name, address)
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
    environment = own_servers.environment()
    with running_server(directory, processes=2, environment=environment) as server:
        yield server


@pytest.fixture
def pages(own_servers: Servers, server: EligibilityServer) -> Iterator[Client]:
    """Runs the people's process beside it, with the same servers behind both."""
    environment = own_servers.environment()
    environment["TREELINE_SNAPSHOT_DIR"] = str(server.directory.root)
    with running_pages(**environment) as running:
        client = Client(int(running.url.rpartition(":")[2]))
        yield client
        client.close()


def parts_of(client: Client) -> dict[str, str]:
    reply = client.send(None, method="GET", path="/readyz")
    assert reply.status == 200, reply.body
    parts: dict[str, str] = reply.document()["parts"]
    return parts


def wait_for_parts(client: Client, expected: dict[str, str]) -> None:
    """Waits for the parts: the processes look every second."""
    wait_until(lambda: expected.items() <= parts_of(client).items(), why=lambda: parts_of(client))


@pytest.mark.django_db
def test_stopping_postgres_and_redis_under_load_fails_no_request(
    server: EligibilityServer, pages: Client, own_servers: Servers
) -> None:
    client = Client(server.port)
    wait_for_parts(pages, {"database": "ok", "broker": "ok", "snapshot": "ok"})
    assert parts_of(pages)["worker"].startswith("none for changes")
    readers = Readers(server.port, lambda reply: reply.booking_ids() == [1])
    with readers.reading():
        time.sleep(0.5)
        own_servers.stop()
        gone = {"database": "unreachable", "broker": "unreachable", "worker": "unreachable"}
        wait_for_parts(pages, {**gone, "queues": "unreachable", "snapshot": "ok"})
        assert parts_of(client) == {"snapshot": "ok"}
        age = client.ask({}).document()["snapshot_age_seconds"]
        time.sleep(0.5)
        assert client.ask({}).document()["snapshot_age_seconds"] > age
    client.close()
    assert not readers.wrong
    assert readers.states
    page = pages.send(None, method="GET", path="/login/")
    assert page.status == 503
    assert page.headers["retry-after"]
    assert "The database does not answer" in page.body.decode()

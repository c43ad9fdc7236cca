"""A real ad servers' process over a snapshot directory of its own; it needs nothing else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from exchange.launcher.processes import Program, Running, start
from exchange.launcher.valkey import find_free_port
from exchange.serving.directory import SnapshotDirectory
from tests.serving.asking import Client
from tests.serving.published import publish_keys


@dataclass(frozen=True, slots=True)
class EligibilityServer:
    port: int
    directory: SnapshotDirectory
    running: Running

    def wait_for(self, snapshot_id: str, client: Client) -> None:
        """Until the server took a published snapshot up; it promises about a second."""
        until = time.monotonic() + 10
        while client.ask({}).document().get("snapshot_id") != snapshot_id:
            assert time.monotonic() < until, self.running.last_lines(40)
            time.sleep(0.02)


def start_server(
    directory: SnapshotDirectory, *, processes: int = 1, **environment: str
) -> EligibilityServer:
    port = find_free_port()
    program = Program(
        name="eligibility-server",
        argv=[sys.executable, "-m", "exchange.serving"],
        environment={
            **os.environ,
            "TREELINE_SNAPSHOT_DIR": str(directory.root),
            "TREELINE_SERVING_ADDRESS": f"127.0.0.1:{port}",
            "TREELINE_SERVING_PROCESSES": str(processes),
            **environment,
        },
        log=directory.root / "server.log",
        folder=settings.BASE_DIR,
    )
    return EligibilityServer(port, directory, start(program))


def wait_until_alive(server: EligibilityServer) -> None:
    until = time.monotonic() + 60
    while True:
        client = Client(server.port)
        try:
            if client.send(None, method="GET", path="/healthz").status == 200:
                return
        except OSError:
            assert server.running.exit_status() is None, server.running.last_lines(40)
            assert time.monotonic() < until, server.running.last_lines(40)
        finally:
            client.close()
        time.sleep(0.1)


@pytest.fixture
def directory(tmp_path: Path) -> SnapshotDirectory:
    """With keys, and no snapshot yet."""
    directory = SnapshotDirectory(tmp_path)
    publish_keys(directory)
    return directory


@pytest.fixture(scope="module")
def eligibility_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EligibilityServer]:
    directory = SnapshotDirectory(tmp_path_factory.mktemp("snapshots"))
    publish_keys(directory)
    server = start_server(directory)
    try:
        wait_until_alive(server)
        yield server
    finally:
        server.running.stop()


@pytest.fixture
def client(eligibility_server: EligibilityServer) -> Iterator[Client]:
    client = Client(eligibility_server.port)
    yield client
    client.close()

"""A real ad servers' process over a snapshot directory of its own; it needs nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from exchange.launcher.processes import Program, Running, start
from exchange.launcher.valkey import find_free_port
from exchange.serving.directory import SnapshotDirectory
from tests.serving.asking import Client
from tests.serving.published import publish_keys
from tests.waiting import wait_until


@dataclass(frozen=True, slots=True)
class EligibilityServer:
    port: int
    directory: SnapshotDirectory
    running: Running

    def wait_for(self, snapshot_id: str, client: Client, *, delta: int = 0) -> None:
        """Waits until the server took a published state up; it promises about a second.

        The same bookings have the same id, with changes beside them as without.
        """

        def is_taken_up() -> bool:
            document = client.ask({}).document()
            return (document.get("snapshot_id"), document.get("delta")) == (snapshot_id, delta)

        wait_until(is_taken_up, why=lambda: self.running.last_lines(40), look_every=0.02)


def start_server(
    directory: SnapshotDirectory,
    *,
    processes: int = 1,
    port: int = 0,
    environment: Mapping[str, str] | None = None,
) -> EligibilityServer:
    """Starts a server; on that port, if it is to be found where another one was."""
    port = port or find_free_port()
    program = Program(
        name="eligibility-server",
        argv=[sys.executable, "-m", "exchange.serving"],
        environment={
            **os.environ,
            "TREELINE_SNAPSHOT_DIR": str(directory.root),
            "TREELINE_SERVING_ADDRESS": f"127.0.0.1:{port}",
            "TREELINE_SERVING_PROCESSES": str(processes),
            **(environment or {}),
        },
        log=directory.root / "server.log",
        folder=settings.BASE_DIR,
    )
    return EligibilityServer(port, directory, start(program))


def wait_until_alive(server: EligibilityServer) -> None:
    def is_alive() -> bool:
        assert server.running.exit_status() is None, server.running.last_lines(40)
        try:
            with closing(Client(server.port)) as client:
                return client.send(None, method="GET", path="/healthz").status == 200
        except OSError:
            return False

    wait_until(is_alive, why=lambda: server.running.last_lines(40))


@contextmanager
def running_server(
    directory: SnapshotDirectory,
    *,
    processes: int = 1,
    port: int = 0,
    environment: Mapping[str, str] | None = None,
) -> Iterator[EligibilityServer]:
    """Runs a server that answers; it ends with the block."""
    server = start_server(directory, processes=processes, port=port, environment=environment)
    try:
        wait_until_alive(server)
        yield server
    finally:
        server.running.stop()


@pytest.fixture
def directory(tmp_path: Path) -> SnapshotDirectory:
    """Makes a directory with keys, and no snapshot yet."""
    directory = SnapshotDirectory(tmp_path)
    publish_keys(directory)
    return directory


@pytest.fixture(scope="module")
def eligibility_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EligibilityServer]:
    directory = SnapshotDirectory(tmp_path_factory.mktemp("snapshots"))
    publish_keys(directory)
    with running_server(directory) as server:
        yield server


@pytest.fixture
def client(eligibility_server: EligibilityServer) -> Iterator[Client]:
    client = Client(eligibility_server.port)
    yield client
    client.close()

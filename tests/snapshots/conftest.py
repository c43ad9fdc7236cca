"""Every test of snapshots has a directory of its own, also in the processes that it starts.

Starting a worker takes far longer than most tests with one, so those of a module share it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from exchange.launcher.processes import Running
from exchange.serving.directory import SnapshotDirectory
from tests.conftest import start_worker, wait_until_idle
from tests.snapshots.steps import Server, build
from tests.snapshots.story import Story, tell


@pytest.fixture(scope="module")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gives the root of a worker, which reads its settings once."""
    return tmp_path_factory.mktemp("shared") / "snapshots"


class SharedWorker:
    """Started when the first test of a module needs it, and anew after one that ended it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._running: Running | None = None

    def get(self) -> Running:
        if self._running is None or self._running.exit_status() is not None:
            self.stop()
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TREELINE_SNAPSHOT_DIR", str(self._root))
                self._running = start_worker()
        return self._running

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None


@pytest.fixture(scope="module")
def shared_worker(shared_root: Path) -> Iterator[SharedWorker]:
    shared = SharedWorker(shared_root)
    yield shared
    shared.stop()


@pytest.fixture(autouse=True)
def _no_worker_of_another_test(request: pytest.FixtureRequest, shared_worker: SharedWorker) -> None:
    """Ends the worker for a test that does not ask for it: it would take what the test queues, and
    read tables while they are emptied."""
    if "worker" not in request.fixturenames:
        shared_worker.stop()


@pytest.fixture(autouse=True)
def directory(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> SnapshotDirectory:
    root = tmp_path / "snapshots"
    if "worker" in request.fixturenames:
        root = request.getfixturevalue("shared_root")
        shutil.rmtree(root, ignore_errors=True)
    settings.SNAPSHOT_DIR = root
    monkeypatch.setenv("TREELINE_SNAPSHOT_DIR", str(root))
    return SnapshotDirectory(root)


@pytest.fixture
def worker(
    transactional_db: None, shared_worker: SharedWorker, directory: SnapshotDirectory
) -> Iterator[Running]:
    """Waits until the worker has done everything before the rows and the directory go."""
    running = shared_worker.get()
    yield running
    if running.exit_status() is None:
        wait_until_idle(running)


@pytest.fixture
def story(transactional_db: None) -> Story:
    """Builds read in a transaction of their own, so the rows must be committed."""
    return tell()


@pytest.fixture
def server(story: Story, directory: SnapshotDirectory) -> Server:
    """Makes a server with the story as its first snapshot."""
    build()
    return Server(directory)

"""Every test of snapshots has a directory of its own, also in the processes that it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from exchange.serving.directory import SnapshotDirectory
from tests.snapshots.story import Story, tell


@pytest.fixture(autouse=True)
def directory(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> SnapshotDirectory:
    root = tmp_path / "snapshots"
    settings.SNAPSHOT_DIR = root
    monkeypatch.setenv("TREELINE_SNAPSHOT_DIR", str(root))
    return SnapshotDirectory(root)


@pytest.fixture
def story(transactional_db: None) -> Story:
    """Builds read in a transaction of their own, so the rows must be committed."""
    return tell()

"""A snapshot store through fsspec: pushed with the manifest last, pulled, checked, then served."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import fsspec
import pytest
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import Organisation
from exchange.accounts.services import create_api_key
from exchange.market.models import Campaign
from exchange.serving.directory import (
    INDEX_FILE,
    MANIFEST_FILE,
    DirectoryError,
    SnapshotDirectory,
    hash_key,
)
from exchange.serving.eligibility import EligibilityService
from exchange.serving.store import SnapshotStore
from exchange.snapshots.activation import KEPT_SNAPSHOTS, roll_back
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.keys import publish_keys
from exchange.snapshots.services import sweep
from tests.snapshots.steps import AMERICAN, build
from tests.snapshots.story import Story


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Iterator[str]:
    where = f"file://{tmp_path}/store" if request.param == "file" else "memory://treeline/store"
    settings.SNAPSHOT_STORE = where
    yield where
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def elsewhere(tmp_path: Path) -> SnapshotDirectory:
    """Another machine's directory."""
    return SnapshotDirectory(tmp_path / "elsewhere")


def names_at(directory: SnapshotDirectory) -> list[str]:
    answer = EligibilityService(directory.root).answer("daily-herald", AMERICAN).document()
    return [item["campaign"] for item in answer["eligible"]]


def test_what_goes_live_is_served_on_another_machine(
    story: Story, url: str, elsewhere: SnapshotDirectory
) -> None:
    store = SnapshotStore(url)
    assert not store.pull(elsewhere)
    first = build()
    assert store.pull(elsewhere)
    assert names_at(elsewhere) == ["Summer"]
    assert not store.pull(elsewhere), "nothing is new"
    for name in ("Autumn", "Winter"):
        Campaign.objects.update(name=name)
        write_changes()
    assert store.pull(elsewhere)
    assert names_at(elsewhere) == ["Winter"]
    roll_back(build=first)
    store.pull(elsewhere)
    assert names_at(elsewhere) == ["Summer"]
    manifest = elsewhere.read_manifest()
    assert manifest is not None
    assert manifest.is_held


def test_a_key_travels_and_so_does_its_end(
    story: Story, url: str, elsewhere: SnapshotDirectory
) -> None:
    key, text = create_api_key(
        name="Ad server", organisation=Organisation.objects.get(), publishers=[story.herald]
    )
    publish_keys()
    store = SnapshotStore(url)
    assert store.pull(elsewhere)
    assert hash_key(text) in elsewhere.read_keys()
    type(key).objects.update(expires_at=timezone.now() - timedelta(days=1))
    publish_keys()
    assert store.pull(elsewhere)
    assert elsewhere.read_keys() == {}


def test_a_snapshot_that_arrives_damaged_is_refused_and_the_old_one_goes_on(
    story: Story, url: str, elsewhere: SnapshotDirectory
) -> None:
    build()
    store = SnapshotStore(url)
    store.pull(elsewhere)
    Campaign.objects.update(name="Changed")
    second = build()
    files, root = fsspec.core.url_to_fs(url)
    path = f"{root}/{second.snapshot_id}/{INDEX_FILE}"
    whole = files.cat_file(path)
    files.pipe_file(path, whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(DirectoryError, match="not what was built"):
        store.pull(elsewhere)
    assert names_at(elsewhere) == ["Summer"]
    assert not list(elsewhere.root.glob(".staged-*"))
    files.pipe_file(path, whole)
    store.pull(elsewhere)
    assert names_at(elsewhere) == ["Changed"]


def test_a_push_that_was_cut_short_shows_nothing_and_is_made_good_by_the_sweep(
    story: Story, url: str, elsewhere: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    build()
    store = SnapshotStore(url)
    store.pull(elsewhere)
    Campaign.objects.update(name="Changed")

    def fail(*_: object) -> None:
        raise OSError("the store is down")

    with monkeypatch.context() as patch:
        patch.setattr(SnapshotStore, "_push_deltas", fail)
        with pytest.raises(OSError, match="down"):
            write_changes()
    assert not store.pull(elsewhere)
    sweep()
    assert store.pull(elsewhere)
    assert names_at(elsewhere) == ["Changed"]


def test_the_store_keeps_what_the_builders_keep(
    story: Story, url: str, directory: SnapshotDirectory
) -> None:
    for number in range(KEPT_SNAPSHOTS + 2):
        Campaign.objects.update(name=f"Turn {number}")
        build()
        Campaign.objects.update(name=f"Turn {number}, later")
        write_changes()
    files, root = fsspec.core.url_to_fs(url)
    names = {path.rpartition("/")[2] for path in files.ls(root, detail=False)}
    kept = set(directory.snapshot_ids())
    assert names - {"deltas", "keys.json", MANIFEST_FILE} == kept
    assert len(kept) == KEPT_SNAPSHOTS
    assert len(files.ls(f"{root}/deltas", detail=False)) == 1


def test_a_follower_keeps_a_machine_up_to_date(
    story: Story, tmp_path: Path, settings: Settings, elsewhere: SnapshotDirectory
) -> None:
    """As a process of its own, which needs neither Django nor the database."""
    settings.SNAPSHOT_STORE = f"file://{tmp_path}/store"
    command = [sys.executable, "-m", "exchange.serving.store", settings.SNAPSHOT_STORE]
    environment = {name: os.environ[name] for name in os.environ if name != "DATABASE_URL"}
    follower = subprocess.Popen(
        [*command, str(elsewhere.root)], cwd=settings.BASE_DIR, env=environment
    )
    try:
        build()
        wait_for(elsewhere, ["Summer"], seconds=30)
        Campaign.objects.update(name="Autumn")
        write_changes()
        wait_for(elsewhere, ["Autumn"], seconds=2)
        assert follower.poll() is None
    finally:
        follower.send_signal(signal.SIGTERM)
        follower.wait(10)


def wait_for(directory: SnapshotDirectory, names: list[str], seconds: float) -> None:
    until = time.monotonic() + seconds
    while directory.read_manifest() is None or names_at(directory) != names:
        assert time.monotonic() < until
        time.sleep(0.05)

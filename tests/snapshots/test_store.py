"""A snapshot store through fsspec: pushed with the manifest last, pulled, checked, then served."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import fsspec
import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import Organisation
from exchange.keys.services import create_api_key
from exchange.market.models import Campaign, Party
from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import (
    INDEX_FILE,
    MANIFEST_FILE,
    DirectoryError,
    SnapshotDirectory,
    hash_key,
)
from exchange.serving.eligibility import EligibilityService
from exchange.serving.stops import STOPS_FILE, read_stops
from exchange.serving.store import SnapshotStore
from exchange.snapshots.activation import KEPT_SNAPSHOTS, roll_back
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.keys import publish_keys
from exchange.snapshots.services import sweep
from tests.serving.history import (
    SNAPSHOT_DAMAGES,
    Damage,
    damage_manifest,
    flip_a_bit,
    remove_stops,
)
from tests.snapshots.buckets import running_bucket
from tests.snapshots.steps import AMERICAN, build
from tests.snapshots.story import Story
from tests.waiting import PATIENCE_SECONDS, wait_until

# Long only because a server and its driver are installed first.
S3 = pytest.param("s3", marks=[pytest.mark.soak, pytest.mark.faults])


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_bucket(tmp_path_factory.mktemp("object-store")) as address:
        yield address


def choose_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "s3":
        return f"{request.getfixturevalue('bucket')}/{tmp_path.name}"
    return f"file://{tmp_path}/store" if kind == "file" else "memory://treeline/store"


@pytest.fixture(params=["file", "memory", S3])
def url(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Iterator[str]:
    settings.SNAPSHOT_STORE = choose_url(request.param, request, tmp_path)
    yield settings.SNAPSHOT_STORE
    fsspec.filesystem("memory").store.clear()


@pytest.fixture(params=["file", S3])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> str:
    """Gives the URL of a store that other processes reach."""
    settings.SNAPSHOT_STORE = choose_url(request.param, request, tmp_path)
    return str(settings.SNAPSHOT_STORE)


@pytest.fixture
def elsewhere(tmp_path: Path) -> SnapshotDirectory:
    """Makes another machine's directory."""
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
    assert names - {"deltas", "keys.json", MANIFEST_FILE, STOPS_FILE} == kept
    assert len(kept) == KEPT_SNAPSHOTS
    assert len(files.ls(f"{root}/deltas", detail=False)) == 1


class Reader(threading.Thread):
    """Another machine: pulls as fast as it can, and looks at what it would serve each time."""

    def __init__(self, url: str, directory: SnapshotDirectory) -> None:
        super().__init__()
        self.store, self.directory = SnapshotStore(url), directory
        self.is_over = threading.Event()
        self.seen: list[tuple[str, str]] = []
        self.refused = 0

    def run(self) -> None:
        while not self.is_over.is_set():
            try:
                self.store.pull(self.directory)
            except (OSError, DirectoryError):
                self.refused += 1  # as a follower does: it goes on with what it has
            if self.directory.read_manifest() is not None:
                self.seen.append(self.look())

    def look(self) -> tuple[str, str]:
        service = EligibilityService(self.directory.root)
        (item,) = service.answer("daily-herald", AMERICAN).document()["eligible"]
        return item["campaign"], item["advertiser"]


def test_a_reader_never_sees_half_a_state_while_a_writer_goes_on(
    story: Story, url: str, elsewhere: SnapshotDirectory
) -> None:
    reader = Reader(url, elsewhere)
    reader.start()
    turn = 9
    try:
        while turn < 19 or (len(set(reader.seen)) < 3 and turn < 99):
            turn += 1
            with transaction.atomic():  # two rows that belong together
                Campaign.objects.update(name=f"Turn {turn}")
                Party.objects.filter(pk=story.soda.pk).update(name=f"Soda {turn}")
            if turn % 3 == 1:
                build()
            else:
                write_changes()
    finally:
        reader.is_over.set()
        reader.join()
    reader.store.pull(elsewhere)
    seen = [*reader.seen, reader.look()]
    assert seen[-1] == (f"Turn {turn}", f"Soda {turn}")
    assert seen == sorted(seen), "never back in time"
    assert all(campaign[-2:] == advertiser[-2:] for campaign, advertiser in seen), "never mixed"
    assert len(set(seen)) > 2, "it looked while the writer went on"
    if not url.startswith("file:"):  # where an object is there as a whole or not at all
        assert reader.refused == 0


def test_a_follower_keeps_a_machine_up_to_date(
    story: Story, shared_url: str, settings: Settings, elsewhere: SnapshotDirectory
) -> None:
    """Runs as a process of its own, which needs neither Django nor the database."""
    command = [sys.executable, "-m", "exchange.serving.store", shared_url]
    environment = {name: os.environ[name] for name in os.environ if name != "DATABASE_URL"}
    follower = subprocess.Popen(
        [*command, str(elsewhere.root)], cwd=settings.BASE_DIR, env=environment
    )
    try:
        build()
        wait_for(elsewhere, ["Summer"])
        Campaign.objects.update(name="Autumn")
        write_changes()
        wait_for(elsewhere, ["Autumn"])
        assert follower.poll() is None
    finally:
        follower.send_signal(signal.SIGTERM)
        follower.wait(PATIENCE_SECONDS)


def wait_for(directory: SnapshotDirectory, names: list[str]) -> None:
    wait_until(lambda: directory.read_manifest() is not None and names_at(directory) == names)


def test_what_was_stopped_arrives_before_what_stops_it(
    story: Story, url: str, elsewhere: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SnapshotStore(url)
    build()
    store.pull(elsewhere)
    Campaign.objects.update(status="paused")
    write_changes()
    seen: list[int] = []
    receive = DeltaLogFolder.receive

    def look_and_receive(log: DeltaLogFolder, number: int, content: bytes) -> None:
        stops = read_stops(elsewhere)
        assert stops is not None
        seen.append(stops.number - number)
        receive(log, number, content)

    monkeypatch.setattr(DeltaLogFolder, "receive", look_and_receive)
    assert store.pull(elsewhere)
    assert seen == [0]


def test_a_follower_mends_what_was_damaged_here(
    story: Story, url: str, elsewhere: SnapshotDirectory
) -> None:
    store = SnapshotStore(url)
    done = build()
    Campaign.objects.update(name="Changed")
    write_changes()
    store.pull(elsewhere)
    manifest = elsewhere.read_manifest()
    assert manifest is not None
    damages: list[Damage] = [
        SNAPSHOT_DAMAGES["folder removed"],
        SNAPSHOT_DAMAGES["bit of the index"],
        lambda there: flip_a_bit(DeltaLogFolder(there, manifest.log_id).path(manifest.delta + 1)),
        damage_manifest,
        remove_stops,
    ]
    for damage in damages:
        damage(elsewhere)
        service = EligibilityService(elsewhere.root)
        service.refresh()  # and asks
        store.pull(elsewhere)
        service.refresh()
        assert service.recovery is None
        assert names_at(elsewhere) == ["Changed"]
        assert elsewhere.is_whole(done.snapshot_id)
        assert read_stops(elsewhere) is not None

"""The snapshot directory: what is written is read back, what is broken is named."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    KEYS_FILE,
    MANIFEST_FILE,
    DirectoryError,
    KeyEntry,
    SnapshotDirectory,
    SnapshotInfo,
    hash_key,
    write_info,
)

READ_AT = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)


@pytest.fixture
def directory(tmp_path: Path) -> SnapshotDirectory:
    return SnapshotDirectory(tmp_path / "snapshots")


def add_snapshot(directory: SnapshotDirectory, content: bytes = b"index") -> str:
    with directory.stage() as staged:
        (staged / INDEX_FILE).write_bytes(content)
        (staged / BOOKINGS_FILE).write_bytes(b"bookings")
        return directory.adopt(staged)


def names_in(directory: SnapshotDirectory) -> set[str]:
    return {path.name for path in directory.root.iterdir()}


def test_directory_without_manifest_has_no_live_snapshot(directory: SnapshotDirectory) -> None:
    assert directory.read_manifest() is None
    assert directory.read_keys() == {}


def test_manifest_is_read_back_as_written(directory: SnapshotDirectory) -> None:
    snapshot_id = add_snapshot(directory)
    written = directory.write_manifest(snapshot_id=snapshot_id, read_at=READ_AT)
    assert directory.read_manifest() == written
    assert written.read_at == READ_AT


def test_manifest_never_names_a_snapshot_that_is_not_there(directory: SnapshotDirectory) -> None:
    with pytest.raises(DirectoryError, match="does not exist"):
        directory.write_manifest(snapshot_id="0" * 32, read_at=READ_AT)
    assert directory.read_manifest() is None


def test_keys_are_read_back_and_written_only_when_they_change(
    directory: SnapshotDirectory,
) -> None:
    keys = {hash_key("tl_one"): KeyEntry(("herald", "tribune"), READ_AT, ("eligibility:read",))}
    assert directory.write_keys(keys)
    assert not directory.write_keys(keys)
    assert directory.read_keys() == keys
    assert directory.write_keys({})
    assert directory.read_keys() == {}


def test_nothing_is_left_aside_after_a_write(directory: SnapshotDirectory) -> None:
    directory.write_keys({})
    snapshot_id = add_snapshot(directory)
    directory.write_manifest(snapshot_id=snapshot_id, read_at=READ_AT)
    assert names_in(directory) == {KEYS_FILE, MANIFEST_FILE, snapshot_id}


def test_same_content_is_one_snapshot_and_other_content_another(
    directory: SnapshotDirectory,
) -> None:
    first = add_snapshot(directory)
    assert add_snapshot(directory) == first
    assert add_snapshot(directory, b"other index") != first
    assert len(names_in(directory)) == 2


def test_damaged_snapshot_is_replaced_by_the_next_build(directory: SnapshotDirectory) -> None:
    snapshot_id = add_snapshot(directory)
    index = directory.folder(snapshot_id) / INDEX_FILE
    index.write_bytes(b"indes")
    assert not directory.is_whole(snapshot_id)
    assert add_snapshot(directory) == snapshot_id
    assert directory.is_whole(snapshot_id)
    index.unlink()
    assert add_snapshot(directory) == snapshot_id
    assert index.read_bytes() == b"index"


def test_readers_hash_a_snapshot_once_until_somebody_touches_it(
    directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_id = add_snapshot(directory)
    assert directory.is_known_whole(snapshot_id)
    time.sleep(0.12)  # a younger file may change unseen, so nothing is kept of it
    assert directory.is_known_whole(snapshot_id)
    monkeypatch.setattr(SnapshotDirectory, "is_whole", lambda *_: False)
    assert directory.is_known_whole(snapshot_id)
    (directory.folder(snapshot_id) / INDEX_FILE).write_bytes(b"indes")
    assert not directory.is_known_whole(snapshot_id)


def test_a_reader_finds_no_snapshot_where_there_is_none(directory: SnapshotDirectory) -> None:
    assert not directory.is_known_whole("0" * 32)


def test_build_that_fails_leaves_nothing(directory: SnapshotDirectory) -> None:
    missing = pytest.raises(DirectoryError, match=r"index\.atree does not exist")
    with missing, directory.stage() as staged:
        directory.adopt(staged)
    assert names_in(directory) == set()


def test_leftovers_of_killed_builds_are_removed(directory: SnapshotDirectory) -> None:
    (directory.root / ".staged-0123").mkdir(parents=True)
    (directory.root / ".staged-0123" / INDEX_FILE).write_bytes(b"half")
    snapshot_id = add_snapshot(directory)
    directory.remove_staged()
    assert names_in(directory) == {snapshot_id}


def test_old_snapshots_go_but_the_live_one_stays(directory: SnapshotDirectory) -> None:
    oldest = add_snapshot(directory, b"0")
    directory.write_manifest(snapshot_id=oldest, read_at=READ_AT)
    ids = [add_snapshot(directory, content) for content in (b"1", b"2", b"3")]
    removed = directory.remove_old(keep=2)
    assert removed == [ids[0]]
    assert set(directory.snapshot_ids()) == {oldest, *ids[1:]}


def test_info_is_read_back_as_written(directory: SnapshotDirectory) -> None:
    info = SnapshotInfo(
        built_at=READ_AT,
        booking_count=4,
        campaign_count=3,
        publisher_count=2,
        edge_count=1,
        skipped_count=0,
        file_bytes={INDEX_FILE: 9},
    )
    with directory.stage() as staged:
        (staged / INDEX_FILE).write_bytes(b"index")
        (staged / BOOKINGS_FILE).write_bytes(b"bookings")
        write_info(staged, info)
        snapshot_id = directory.adopt(staged)
    assert directory.read_info(snapshot_id) == info


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is damaged"),
        (b'{"format": 1, "snapshot_id"', "is damaged"),
        (b'{"format": 1}', "is damaged"),
        (b'{"format": 2, "anything": true}', "has format 2, this version reads 1"),
        (
            b'{"format": 1, "snapshot_id": "../../etc", "read_at": "2026-11-15T08:00:00Z",'
            b' "activated_at": "2026-11-15T08:00:00Z"}',
            "names no snapshot id",
        ),
    ],
)
def test_broken_manifest_is_named_with_what_is_wrong(
    directory: SnapshotDirectory, content: bytes, complaint: str
) -> None:
    directory.root.mkdir()
    (directory.root / MANIFEST_FILE).write_bytes(content)
    with pytest.raises(DirectoryError, match=rf"manifest\.json .*{complaint}"):
        directory.read_manifest()


def test_folder_refuses_what_is_no_snapshot_id(directory: SnapshotDirectory) -> None:
    with pytest.raises(DirectoryError, match="is not a snapshot id"):
        directory.folder("../elsewhere")

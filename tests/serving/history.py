"""A directory as builders leave it, without a database: snapshots, records, and always before them
what they stop. And the ways in which a directory is damaged."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from exchange.serving.bookings import write_bookings
from exchange.serving.deltas import Delta, DeltaEntry, DeltaLogFolder
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    MANIFEST_FILE,
    Manifest,
    SnapshotDirectory,
    write_catalog,
)
from exchange.serving.stops import (
    STOPS_FILE,
    KeptSnapshot,
    Stops,
    read_stops,
    stops_of,
    write_stops,
)
from matcher_ext import ATree
from tests.serving.published import CATALOG, row


class History:
    """Makes one state after the other live."""

    def __init__(self, directory: SnapshotDirectory) -> None:
        self.directory = directory
        self.number = 0

    @property
    def manifest(self) -> Manifest:
        manifest = self.directory.read_manifest()
        assert manifest is not None
        return manifest

    @property
    def log(self) -> DeltaLogFolder:
        return DeltaLogFolder(self.directory, self.manifest.log_id)

    def build(self, texts: Mapping[int, str], *, edges: Mapping[int, str] | None = None) -> str:
        """Makes a snapshot of these bookings live; others have ended."""
        snapshot_id = self.store(texts, edges or {})
        before = read_stops(self.directory)
        ended = () if before is None else range(1, 1000)
        self.number += 1
        now = datetime.now(UTC)
        manifest = Manifest(
            snapshot_id=snapshot_id,
            read_at=now,
            activated_at=now,
            delta=self.number,
            log_id=secrets.token_hex(8),
        )
        stops = before or Stops(number=self.number, position="", manifest=manifest)
        stops = stops.with_touched(self.number, [key for key in ended if key not in texts], {})
        kept = KeptSnapshot(snapshot_id, now, self.number)
        stops = replace(
            stops, snapshots=(*stops.snapshots, kept), number=self.number, manifest=manifest
        )
        write_stops(self.directory, stops)
        self.directory.publish(manifest)
        return snapshot_id

    def go_back(self, snapshot_id: str) -> None:
        """Goes back to a snapshot as it was built."""
        self.number += 1
        stops = read_stops(self.directory)
        assert stops is not None
        (kept,) = [each for each in stops.snapshots if each.snapshot_id == snapshot_id]
        manifest = replace(
            self.manifest,
            snapshot_id=snapshot_id,
            read_at=kept.read_at,
            delta=self.number,
            log_id=secrets.token_hex(8),
            is_held=True,
        )
        write_stops(self.directory, replace(stops, number=self.number, manifest=manifest))
        self.directory.publish(manifest)

    def store(self, texts: Mapping[int, str], edges: Mapping[int, str]) -> str:
        index = ATree(CATALOG)
        for edge_id, text in edges.items():
            index.define(f"edge.{edge_id}", text)
        for booking_id, text in texts.items():
            index.insert(booking_id, text)
        with self.directory.stage() as staged:
            index.freeze().save(staged / INDEX_FILE)
            write_bookings(staged / BOOKINGS_FILE, [row(key) for key in sorted(texts)])
            write_catalog(staged, CATALOG.to_json())
            return self.directory.adopt(staged)

    def change(
        self,
        *,
        ended: tuple[int, ...] = (),
        changed: Mapping[int, str] | None = None,
        edges: Mapping[int, str] | None = None,
    ) -> None:
        self.number += 1
        manifest = self.manifest
        delta = Delta(
            log_id=manifest.log_id,
            number=self.number,
            position="",
            read_at=datetime.now(UTC),
            entries=tuple(DeltaEntry(row(key), text) for key, text in (changed or {}).items()),
            dead=ended,
            definitions={f"edge.{key}": text for key, text in (edges or {}).items()},
        )
        stops = read_stops(self.directory)
        assert stops is not None
        stops = stops.with_touched(delta.number, stops_of(delta), delta.definitions)
        write_stops(self.directory, replace(stops, number=delta.number))
        self.log.write(delta)


def flip_a_bit(path: Path) -> None:
    """Flips a bit as damage does: in place, and without a new modification time."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    found = path.stat()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def live_folder(directory: SnapshotDirectory) -> Path:
    manifest = directory.read_manifest()
    assert manifest is not None
    return directory.folder(manifest.snapshot_id)


Damage = Callable[[SnapshotDirectory], None]

SNAPSHOT_DAMAGES: dict[str, Damage] = {
    "folder removed": lambda directory: shutil.rmtree(live_folder(directory)),
    "index removed": lambda directory: (live_folder(directory) / INDEX_FILE).unlink(),
    "index truncated": lambda directory: truncate(live_folder(directory) / INDEX_FILE),
    "index emptied": lambda directory: os.truncate(live_folder(directory) / INDEX_FILE, 0),
    "bookings truncated": lambda directory: truncate(live_folder(directory) / BOOKINGS_FILE),
    "bit of the index": lambda directory: flip_a_bit(live_folder(directory) / INDEX_FILE),
    "bit of the bookings": lambda directory: flip_a_bit(live_folder(directory) / BOOKINGS_FILE),
}


def damage_manifest(directory: SnapshotDirectory) -> None:
    (directory.root / MANIFEST_FILE).write_text("{")


def remove_manifest(directory: SnapshotDirectory) -> None:
    (directory.root / MANIFEST_FILE).unlink()


def damage_stops(directory: SnapshotDirectory) -> None:
    flip_a_bit(directory.root / STOPS_FILE)


def remove_stops(directory: SnapshotDirectory) -> None:
    (directory.root / STOPS_FILE).unlink()

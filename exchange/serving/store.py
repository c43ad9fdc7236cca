"""Keeps a snapshot directory in an object store, by whatever fsspec reaches; folders need none of
this.

    python -m exchange.serving.store s3://bucket/treeline /var/lib/treeline/snapshots

Builders push what their own directory has. One follower per machine pulls that into a local
directory, which servers map as ever. A store has no renames: a snapshot lies under its content's
name, where nobody looks until the manifest, which comes last, says so; and whatever is pulled is
checked before it gets its place. Plain Python without Django.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from exchange.serving.deltas import DELTAS_FOLDER, DeltaLogFolder, remove_old_logs
from exchange.serving.directory import (
    KEYS_FILE,
    MANIFEST_FILE,
    SNAPSHOT_ID,
    DirectoryError,
    Keys,
    Manifest,
    SnapshotDirectory,
    content_id,
    decode,
)
from exchange.serving.recovery import find_stops, forget_build_request, read_build_request
from exchange.serving.stops import STOPS_FILE, decode_stops, write_stops

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
KEPT_LOCALLY = 2


class SnapshotStore:
    """One place in a store. Callers serialise those who push; any number may pull, each into a
    directory of its own."""

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise DirectoryError(
                "a snapshot store needs fsspec: install the extra `store`"
            ) from None
        files, root = url_to_fs(url, use_listings_cache=False)
        self._files: Any = files
        self._root = str(root).rstrip("/")

    def push_snapshot(self, directory: SnapshotDirectory, snapshot_id: str) -> None:
        """Pushes the large part; nobody needs to wait while it is under way."""
        known = self._sizes(snapshot_id)
        for path in sorted(directory.folder(snapshot_id).iterdir()):
            if path.suffix != ".checked" and known.get(path.name) != path.stat().st_size:
                self._make_room(snapshot_id)
                self._files.put_file(str(path), self._at(f"{snapshot_id}/{path.name}"))

    def push(self, directory: SnapshotDirectory) -> None:
        """Pushes all that the directory has and the store has not: first what was stopped, the
        manifest last."""
        if (directory.root / STOPS_FILE).exists():
            self._push_file(directory, STOPS_FILE)
        self.push_keys(directory)
        manifest = directory.read_manifest()
        if manifest is None:
            return
        self.push_snapshot(directory, manifest.snapshot_id)
        if manifest.log_id:
            self._push_deltas(DeltaLogFolder(directory, manifest.log_id))
        if self._push_file(directory, MANIFEST_FILE):
            self._remove_old(directory, manifest)

    def push_keys(self, directory: SnapshotDirectory) -> None:
        if (directory.root / KEYS_FILE).exists():
            self._push_file(directory, KEYS_FILE)

    def pull(self, directory: SnapshotDirectory) -> bool:
        """Brings a local directory up to the store's state; says whether anything was new."""
        changed = self._pull_keys(directory)
        content = self._read(MANIFEST_FILE)
        if content is None:
            return changed
        manifest = decode(Path(self._at(MANIFEST_FILE)), content, Manifest)
        is_new = manifest != find_manifest(directory)
        if not directory.is_known_whole(manifest.snapshot_id):
            self._pull_snapshot(directory, manifest.snapshot_id)
            changed = True
        records = self._read_deltas(directory, manifest)
        # The stops are read last and written first: they speak of all that was read before them.
        self._pull_stops(directory, manifest, max(records, default=0))
        for number, record in records.items():
            DeltaLogFolder(directory, manifest.log_id).receive(number, record)
            changed = True
        if is_new:
            directory.publish(manifest)
            directory.remove_old(keep=KEPT_LOCALLY)
            remove_old_logs(directory, keep=manifest.log_id)
        return changed or is_new

    def _pull_snapshot(self, directory: SnapshotDirectory, snapshot_id: str) -> None:
        with directory.stage() as staged:
            for name in self._sizes(snapshot_id):
                self._files.get_file(self._at(f"{snapshot_id}/{name}"), str(staged / name))
            if content_id(staged) != snapshot_id:
                raise DirectoryError(f"{self._at(snapshot_id)} is not what was built")
            directory.adopt(staged, snapshot_id)

    def _read_deltas(self, directory: SnapshotDirectory, manifest: Manifest) -> dict[int, bytes]:
        """Reads, by number, the records that are not here and those that a server could not
        read."""
        if not manifest.log_id:
            return {}
        log = DeltaLogFolder(directory, manifest.log_id)
        number = max(log.last_number(), manifest.delta) + 1
        if read_build_request(directory) is not None:
            number = first_unreadable(log, manifest.delta)
            forget_build_request(directory)
        found: dict[int, bytes] = {}
        while (content := self._read(name_delta(manifest.log_id, number))) is not None:
            log.decode(number, content)
            found[number] = content
            number += 1
        return found

    def _pull_stops(self, directory: SnapshotDirectory, manifest: Manifest, last: int) -> None:
        """Copies the stops; without any, nothing is gone back to. Stops of records that are not
        here yet count too, but must not make anybody look for them."""
        content = self._read(STOPS_FILE)
        if content is None:
            (directory.root / STOPS_FILE).unlink(missing_ok=True)
            return
        stops = decode_stops(Path(self._at(STOPS_FILE)), content)
        if manifest.log_id and stops.manifest.log_id == manifest.log_id:
            here = DeltaLogFolder(directory, manifest.log_id).last_number()
            stops = replace(stops, number=min(stops.number, max(here, last, manifest.delta)))
        if find_stops(directory) != stops:
            write_stops(directory, stops)

    def _pull_keys(self, directory: SnapshotDirectory) -> bool:
        content = self._read(KEYS_FILE)
        if content is None:
            return False
        return directory.write_keys(decode(Path(self._at(KEYS_FILE)), content, Keys).keys)

    def _push_deltas(self, log: DeltaLogFolder) -> None:
        known = self._sizes(f"{DELTAS_FOLDER}/{log.log_id}")
        for path in sorted(log.folder.glob("[0-9]*.json")):
            if path.name not in known:
                self._make_room(f"{DELTAS_FOLDER}/{log.log_id}")
                content = path.read_bytes()
                self._files.pipe_file(self._at(name_delta(log.log_id, int(path.stem))), content)

    def _push_file(self, directory: SnapshotDirectory, name: str) -> bool:
        content = (directory.root / name).read_bytes()
        if self._read(name) == content:
            return False
        self._make_room("")
        self._files.pipe_file(self._at(name), content)
        return True

    def _remove_old(self, directory: SnapshotDirectory, manifest: Manifest) -> None:
        """Removes snapshots that the builders no longer keep, and logs before this one."""
        kept = {*directory.snapshot_ids(), manifest.snapshot_id}
        for name in self._names(""):
            if SNAPSHOT_ID.fullmatch(name) and name not in kept:
                self._files.rm(self._at(name), recursive=True)
        for name in self._names(DELTAS_FOLDER):
            if name != manifest.log_id:
                self._files.rm(self._at(f"{DELTAS_FOLDER}/{name}"), recursive=True)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _make_room(self, folder: str) -> None:
        self._files.makedirs(self._at(folder), exist_ok=True)

    def _read(self, name: str) -> bytes | None:
        try:
            return bytes(self._files.cat_file(self._at(name)))
        except FileNotFoundError:
            return None

    def _names(self, folder: str) -> list[str]:
        return list(self._list(folder))

    def _sizes(self, folder: str) -> dict[str, int]:
        return {name: row["size"] for name, row in self._list(folder).items()}

    def _list(self, folder: str) -> dict[str, dict[str, Any]]:
        try:
            rows = self._files.ls(self._at(folder), detail=True)
        except FileNotFoundError:
            return {}
        return {str(row["name"]).rstrip("/").rpartition("/")[2]: row for row in rows}


def find_manifest(directory: SnapshotDirectory) -> Manifest | None:
    """Reads the local manifest; a damaged one counts as none, and is replaced like an old one."""
    try:
        return directory.read_manifest()
    except DirectoryError:
        return None


def first_unreadable(log: DeltaLogFolder, number: int) -> int:
    """Finds the first record to pull; those after it are pulled again, which does no harm."""
    try:
        for delta in log.read_after(number):
            number = delta.number
    except DirectoryError:
        pass
    return number + 1


def name_delta(log_id: str, number: int) -> str:
    return f"{DELTAS_FOLDER}/{log_id}/{number:012}.json"


def follow(store: SnapshotStore, directory: SnapshotDirectory) -> None:
    """Pulls for ever. A store that cannot be read costs freshness only: servers go on and tell
    it."""
    while True:
        try:
            store.pull(directory)
        except (OSError, DirectoryError) as error:
            logger.warning("Cannot follow the store: %s", error)
        time.sleep(LOOK_SECONDS)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="exchange.serving.store", description=__doc__)
    parser.add_argument("url", help="what TREELINE_SNAPSHOT_STORE says to the builders")
    parser.add_argument("folder", type=Path, help="the TREELINE_SNAPSHOT_DIR of this machine")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO)
    follow(SnapshotStore(given.url), SnapshotDirectory(given.folder))


if __name__ == "__main__":
    main()

"""Owns the folder where a follower keeps what it fetched, so that it starts without the platform.

    lock                              held by the one process that follows into this folder
    state.json                        names snapshot and log; its time says when it was confirmed
    <snapshot_id>/                    the fetched files, with their hashes
    <snapshot_id>/changes-<log>.jsonl the changes, as they came
    .staged-<random>/                 a snapshot that is being fetched

Files are written aside, synced and renamed into place; changes are appended and synced. What cannot
be read whole is not used at all.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from matcher_ext.following.downloading import (
    SNAPSHOT_ID,
    Changes,
    Offer,
    check_files,
    unseal,
)
from matcher_ext.plan.files import sync_folder, write_file

STATE_FILE = "state.json"
STAGED_PREFIX = ".staged-"


class FolderInUseError(Exception):
    """Another process follows into this folder."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a folder holds: a snapshot's folder, changes, and when it was last known to be live."""

    offer: Offer
    folder: Path
    changes: Changes
    confirmed_at: float


class KeptFiles:
    """The folder, held by one process at a time through a lock that ends with it; not
    thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True)
        self._lock = (root / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise FolderInUseError(f"another process follows into {root}") from None

    def close(self) -> None:
        self._lock.close()

    def read(self) -> Kept | None:
        """Reads what is kept; None if nothing is. Raises DownloadError or OSError if it is not
        whole."""
        path = self._root / STATE_FILE
        if not path.exists():
            return None
        offer = Offer.read(unseal(path.read_bytes()))
        folder = self._root / offer.snapshot_id
        check_files(folder)
        log = self._log_of(offer)
        changes = Changes.read(log.read_bytes(), offer.built_delta)
        return Kept(offer, folder, changes, path.stat().st_mtime)

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """Makes a folder to fetch into, and removes it afterwards unless it was adopted."""
        for left in self._root.glob(f"{STAGED_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        staged = self._root / f"{STAGED_PREFIX}{secrets.token_hex(8)}"
        staged.mkdir()
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def adopt(self, staged: Path, offer: Offer) -> None:
        for path in staged.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(staged)
        target = self._root / offer.snapshot_id
        shutil.rmtree(target, ignore_errors=True)
        staged.rename(target)
        sync_folder(self._root)

    def keep_changes(self, offer: Offer, changes: Changes) -> None:
        """Appends changes to those that are kept."""
        with self._whole_or_nothing(), self._log_of(offer).open("ab") as file:
            file.write(changes.lines)
            file.flush()
            os.fsync(file.fileno())

    def keep(self, offer: Offer, changes: Changes) -> None:
        """Keeps this snapshot with these changes from now on, and removes other snapshots."""
        with self._whole_or_nothing():
            write_file(self._log_of(offer), memoryview(changes.lines))
            write_file(self._root / STATE_FILE, memoryview(offer.write()))
        for folder in self._root.iterdir():
            if SNAPSHOT_ID.fullmatch(folder.name) and folder.name != offer.snapshot_id:
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _whole_or_nothing(self) -> Iterator[None]:
        """Forgets what is kept if it cannot be brought up to date: a later start would answer with
        what has been stopped since. The next snapshot is kept again."""
        try:
            yield
        except OSError:
            (self._root / STATE_FILE).unlink(missing_ok=True)
            raise

    def confirm(self, at: float) -> None:
        """Notes that the platform still has this state live, unless nothing is kept."""
        path = self._root / STATE_FILE
        if path.exists():
            os.utime(path, (at, at))

    def _log_of(self, offer: Offer) -> Path:
        return self._root / offer.snapshot_id / f"changes-{offer.log_id or 'none'}.jsonl"

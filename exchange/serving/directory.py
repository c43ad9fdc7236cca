"""Keeps the snapshot directory: the only thing that snapshot builds and eligibility servers share.

    manifest.json                  which snapshot is live
    stops.json                     what was stopped since the snapshots that are here (see `stops`)
    build-wanted.json              a server could not load what is live (see `recovery`)
    keys.json                      hashes of the API keys, what they may ask for and until when
    key-use/<process>.json         when a server saw each key last (see `key_use`)
    deltas/<log_id>/<number>.json  what changed since the live snapshot was built (see `deltas`)
    <snapshot_id>/index.atree      the compiled index
    <snapshot_id>/bookings.arrow   what an answer says
    <snapshot_id>/catalog.json     the attributes, with where OpenRTB carries them
    <snapshot_id>/campaigns.arrow  which campaigns it holds, for people who compare two
    <snapshot_id>/graph.json       parties and edges, for jobs that audit supply chains
    <snapshot_id>/info.json        counts, sizes, times
    <snapshot_id>/*.checked        what this machine checked (see `matcher_ext.plan.checked_marks`)
    days/<snapshot_id>/            kept for days that may be counted again (see `reports`)
    .staged-<random>/              a snapshot being written
    .failed-<random>/              the last one that was built wrong; never served

Everything is written aside, synced and renamed into place: a reader sees the old or the new, never
a half. Plain Python: it knows neither Django nor what the index means.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from matcher_ext.plan import Identity, Mark

FORMAT = 1
INDEX_FILE = "index.atree"
BOOKINGS_FILE = "bookings.arrow"
CATALOG_FILE = "catalog.json"
INFO_FILE = "info.json"
WHOLE_MARK = "whole.checked"
MANIFEST_FILE = "manifest.json"
KEYS_FILE = "keys.json"
STAGED_PREFIX = ".staged-"
FAILED_PREFIX = ".failed-"
SNAPSHOT_ID = re.compile(r"[0-9a-f]{32}")

Document = TypeVar("Document", bound="FormattedDocument")


class DirectoryError(Exception):
    """Says that a file of the directory is missing, damaged or of another format, and which."""


class FormattedDocument(msgspec.Struct, frozen=True, kw_only=True):
    format: int = FORMAT


class Manifest(FormattedDocument, frozen=True, kw_only=True):
    """Names the live snapshot, when Postgres was read for it, and the log of what changed since:
    its records begin after number `delta`. `position` is the database snapshot that was read;
    `is_held`: somebody went back to this snapshot, and what changed since is held back."""

    snapshot_id: str
    read_at: datetime
    activated_at: datetime
    delta: int = 0
    log_id: str = ""
    position: str = ""
    is_held: bool = False


class KeyEntry(msgspec.Struct, frozen=True):
    """What one API key may ask for."""

    publishers: tuple[str, ...]
    expires_at: datetime
    scopes: tuple[str, ...]


class Keys(FormattedDocument, frozen=True, kw_only=True):
    keys: dict[str, KeyEntry]


class SnapshotInfo(FormattedDocument, frozen=True, kw_only=True):
    """Facts about a snapshot for people; nothing in it changes an answer."""

    built_at: datetime
    booking_count: int
    campaign_count: int
    publisher_count: int
    edge_count: int
    skipped_count: int
    file_bytes: dict[str, int]
    sharing: dict[str, int] = {}  # nodes, predicates and so on of the index
    seconds: dict[str, float] = {}  # by phase of the build


def hash_key(text: str) -> str:
    """Hashes a key. Keys are long and random: one unsalted round is enough, and can be looked
    up."""
    return hashlib.sha256(text.encode()).hexdigest()


class SnapshotDirectory:
    """Reads and writes the directory. Readers need no lock; callers serialise the writers."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read_manifest(self) -> Manifest | None:
        """Reads which snapshot is live; None as long as none was ever activated."""
        manifest = self.read(MANIFEST_FILE, Manifest)
        if manifest is not None and not SNAPSHOT_ID.fullmatch(manifest.snapshot_id):
            raise DirectoryError(f"{self.root / MANIFEST_FILE} names no snapshot id")
        return manifest

    def write_manifest(self, *, snapshot_id: str, read_at: datetime) -> Manifest:
        """Publishes a snapshot that no delta log goes with."""
        now = datetime.now(UTC)
        manifest = Manifest(snapshot_id=snapshot_id, read_at=read_at, activated_at=now)
        self.publish(manifest)
        return manifest

    def publish(self, manifest: Manifest) -> None:
        """Replaces the manifest: from here on servers answer from this snapshot."""
        folder = self.folder(manifest.snapshot_id)
        if not folder.is_dir():
            raise DirectoryError(f"{folder} does not exist, so it cannot be made live")
        self.write(MANIFEST_FILE, manifest)

    def read_keys(self) -> Mapping[str, KeyEntry]:
        keys = self.read(KEYS_FILE, Keys)
        return {} if keys is None else keys.keys

    def write_keys(self, keys: Mapping[str, KeyEntry]) -> bool:
        """Writes only a change, so that servers do not reload for nothing; says whether it did."""
        document = Keys(keys=dict(sorted(keys.items())))
        path = self.root / KEYS_FILE
        if path.exists() and path.read_bytes() == encode(document):
            return False
        self.write(KEYS_FILE, document)
        return True

    def read_info(self, snapshot_id: str) -> SnapshotInfo:
        info = self.read(f"{snapshot_id}/{INFO_FILE}", SnapshotInfo)
        if info is None:
            raise DirectoryError(f"{self.folder(snapshot_id) / INFO_FILE} does not exist")
        return info

    def folder(self, snapshot_id: str) -> Path:
        if not SNAPSHOT_ID.fullmatch(snapshot_id):
            raise DirectoryError(f"{snapshot_id!r} is not a snapshot id")
        return self.root / snapshot_id

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """Makes a private folder for a new snapshot; it is removed unless `adopt` renamed it."""
        self.root.mkdir(parents=True, exist_ok=True)
        staged = self.root / f"{STAGED_PREFIX}{secrets.token_hex(8)}"
        staged.mkdir()
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def adopt(self, staged: Path, snapshot_id: str = "") -> str:
        """Gives a staged snapshot its content's name, or the one that it had before somebody
        checked it. The same content twice is one folder; one that was damaged since is replaced."""
        snapshot_id = snapshot_id or content_id(staged)
        for path in staged.iterdir():
            sync(path)
        sync(staged)
        target = self.folder(snapshot_id)
        if self.is_whole(snapshot_id):
            os.utime(target)
        else:
            shutil.rmtree(target, ignore_errors=True)
            staged.rename(target)
        sync(self.root)
        return snapshot_id

    def is_whole(self, snapshot_id: str) -> bool:
        """Tells whether a snapshot's bytes are those that gave it its name."""
        folder = self.folder(snapshot_id)
        is_complete = all((folder / name).is_file() for name in (INDEX_FILE, BOOKINGS_FILE))
        return is_complete and content_id(folder) == snapshot_id

    def is_known_whole(self, snapshot_id: str) -> bool:
        """Tells the same to readers; reads the bytes once per machine, until they are touched."""
        folder = self.folder(snapshot_id)
        paths = [folder / name for name in (INDEX_FILE, BOOKINGS_FILE)]
        try:
            files = tuple(Identity.of(path) for path in paths)
        except OSError:
            return False
        mark = Mark(folder / WHOLE_MARK, snapshot_id, files)
        if mark.is_known():
            return True
        if not self.is_whole(snapshot_id):
            return False
        mark.keep(paths)
        return True

    def snapshot_ids(self) -> list[str]:
        """Lists the snapshots, newest first."""
        folders = [path for path in self.root.glob("*") if SNAPSHOT_ID.fullmatch(path.name)]
        folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        return [path.name for path in folders]

    def remove_old(self, *, keep: int) -> list[str]:
        """Removes all but the newest; the live one always stays. Open mappings outlive a file."""
        manifest = self.read_manifest()
        live = manifest.snapshot_id if manifest else None
        old = [name for name in self.snapshot_ids()[keep:] if name != live]
        for name in old:
            shutil.rmtree(self.folder(name))
        return old

    def keep_failed(self, staged: Path) -> None:
        """Puts aside what was built wrong, for those who look into it; only the last one."""
        for old in self.root.glob(f"{FAILED_PREFIX}*"):
            shutil.rmtree(old, ignore_errors=True)
        staged.rename(self.root / f"{FAILED_PREFIX}{secrets.token_hex(8)}")

    def remove_staged(self) -> None:
        """Cleans up after killed builds; only for the one build that is allowed to run."""
        for staged in self.root.glob(f"{STAGED_PREFIX}*"):
            shutil.rmtree(staged, ignore_errors=True)

    def read(self, name: str, kind: type[Document]) -> Document | None:
        path = self.root / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        return decode(path, content, kind)

    def write(self, name: str, document: FormattedDocument) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        write_aside(self.root / name, encode(document))


def decode(path: Path, content: bytes, kind: type[Document]) -> Document:
    """Reads a document of our format once. One of another format need not have any of our fields,
    so that it is read again for its format alone."""
    document: FormattedDocument
    try:
        try:
            document = msgspec.json.decode(content, type=kind)
        except msgspec.ValidationError:
            document = msgspec.json.decode(content, type=FormattedDocument)
            if document.format == FORMAT:
                raise
    except (msgspec.DecodeError, RecursionError) as error:
        raise DirectoryError(f"{path} is damaged: {error}") from error
    if document.format != FORMAT or not isinstance(document, kind):
        found = document.format
        raise DirectoryError(f"{path} has format {found}, this version reads {FORMAT}")
    return document


def write_aside(path: Path, content: bytes) -> None:
    """Writes a file so that readers see the whole of it or none, also after a power cut."""
    aside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        aside.write_bytes(content)
        sync(aside)
        aside.rename(path)
    finally:
        aside.unlink(missing_ok=True)
    sync(path.parent)


def write_info(staged: Path, info: SnapshotInfo) -> None:
    (staged / INFO_FILE).write_bytes(encode(info))


def write_catalog(staged: Path, catalogue: Mapping[str, object]) -> None:
    """Writes the catalogue, given in its JSON form."""
    (staged / CATALOG_FILE).write_bytes(msgspec.json.encode(catalogue))


def read_catalog(folder: Path) -> dict[str, Any]:
    try:
        document = msgspec.json.decode((folder / CATALOG_FILE).read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {"attributes": []}
    except msgspec.DecodeError as error:
        raise DirectoryError(f"{folder / CATALOG_FILE} is damaged: {error}") from error
    return document


def encode(document: FormattedDocument) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=1)


def content_id(folder: Path) -> str:
    """Hashes what answers depend on: the index, the bookings and the catalogue, not the build's
    times. A snapshot without a catalogue reads no bid requests."""
    digest = hashlib.sha256()
    names = [INDEX_FILE, BOOKINGS_FILE]
    names += [CATALOG_FILE] if (folder / CATALOG_FILE).exists() else []
    for name in names:
        path = folder / name
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except FileNotFoundError:
            raise DirectoryError(f"{path} does not exist") from None
    return digest.hexdigest()[:32]


def sync(path: Path) -> None:
    """Puts a file's content, or a folder's list of names, on disk before anyone is told of it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

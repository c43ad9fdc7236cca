"""Fetches the live snapshot and its changes over HTTP, and trusts nothing that it cannot check.

    live         names the snapshot, the log of its changes, and the last change
    hashes       name each file's hash; the built files' together give the snapshot's id
    files        must each have the hash that is named
    changes      end each with the hash of what stands before, and are numbered without a gap

It uses the standard library only, so that it needs nothing but the engine.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from matcher_ext.serving.snapshot_files import (
    BOOKINGS_LINES,
    DELTA_LINES,
    HASHES_FILE,
    PREFIX,
    SEAL,
    SEAL_BYTES,
    TERMS_FILE,
    seal,
)

INDEX_FILE = "index.atree"
# A snapshot's id is the hash of these files' hashes, in this order; the last may be missing.
BUILT_FILES = (INDEX_FILE, "bookings.arrow", "catalog.json")
FETCHED_FILES = (INDEX_FILE, BOOKINGS_LINES, TERMS_FILE)
SNAPSHOT_ID = re.compile(r"[0-9a-f]{32}")
LOG_ID = re.compile(r"(?:[0-9a-f]{16})?")
PIECE_BYTES = 1 << 20


class DownloadError(Exception):
    """The platform is away, refuses, or sent something else than it named. `wait_seconds` is how
    long it asked us to wait, or 0."""

    def __init__(self, message: str, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class Offer:
    """What the platform says is live. Times are seconds since 1970; `built_delta` is the number of
    the last change in the files, `delta` that of the last one beside them."""

    snapshot_id: str
    log_id: str
    built_delta: int
    delta: int
    read_at: float
    activated_at: float

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Offer:
        """Reads the server's words; checks the ids, because they become names of files."""
        try:
            offer = cls(
                snapshot_id=document["snapshot_id"],
                log_id=document["log_id"],
                built_delta=int(document["built_delta"]),
                delta=int(document["delta"]),
                read_at=read_time(document["read_at"]),
                activated_at=read_time(document["activated_at"]),
            )
            is_named = SNAPSHOT_ID.fullmatch(offer.snapshot_id) and LOG_ID.fullmatch(offer.log_id)
        except (KeyError, TypeError, ValueError) as error:
            raise DownloadError(f"what is live cannot be read: {error!r}") from error
        if not is_named:
            raise DownloadError("what is live has no proper name")
        return offer

    def write(self) -> bytes:
        return seal(json.dumps(asdict(self)).encode())


def read_time(said: str | float) -> float:
    return (
        float(said) if isinstance(said, int | float) else datetime.fromisoformat(said).timestamp()
    )


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes, both as the lines that came and as the records that these hold."""

    lines: bytes
    records: list[dict[str, Any]]

    @classmethod
    def read(cls, lines: bytes, after: int) -> Changes:
        """Reads lines of changes; raises DownloadError unless all are whole and follow the number
        `after` without a gap."""
        records = [unseal(line) for line in lines.splitlines()]
        for expected, record in enumerate(records, after + 1):
            if record["number"] != expected:
                raise DownloadError(f"change {expected} is missing")
        return cls(lines, records)


def unseal(document: bytes) -> dict[str, Any]:
    """Reads a sealed document; raises DownloadError unless it ends with its own hash."""
    body = document[:-SEAL_BYTES]
    if document[-SEAL_BYTES:] != SEAL % hashlib.sha256(body).hexdigest().encode():
        raise DownloadError("what came is damaged: its hash is another one")
    content: dict[str, Any] = json.loads(document)
    return content


class NoRedirect(HTTPRedirectHandler):
    """Refuses redirects: the key is for this platform, not for whom it points at."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


class Platform:
    """Asks one address with one key. Every method raises DownloadError and nothing else for what
    the network or the platform does."""

    def __init__(self, url: str, api_key: str, timeout_seconds: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not an address of HTTP")
        self._url = url.rstrip("/") + PREFIX
        self._timeout = timeout_seconds
        self._opener: OpenerDirector = build_opener(NoRedirect)
        self._opener.addheaders = [("Authorization", f"Api-Key {api_key}")]

    def ask_live(self) -> Offer:
        with self._open("live") as body:
            return Offer.read(unseal(body.read()))

    def fetch_files(self, offer: Offer, folder: Path) -> None:
        """Fetches the files into that folder, each checked while it comes."""
        with self._open(f"{offer.snapshot_id}/{HASHES_FILE}") as body:
            (folder / HASHES_FILE).write_bytes(body.read())
        hashes = read_hashes(folder / HASHES_FILE, offer.snapshot_id)
        for name in FETCHED_FILES:
            with self._open(f"{offer.snapshot_id}/{name}") as body:
                found = copy(body, folder / name)
            if found != hashes.get(name):
                raise DownloadError(f"{name} of snapshot {offer.snapshot_id} came damaged")

    def fetch_changes(self, offer: Offer, after: int) -> Changes:
        """Fetches the changes that follow that number, whole and without a gap."""
        path = f"{offer.snapshot_id}/{DELTA_LINES}?after={after}&log={offer.log_id}"
        with self._open(path) as body:
            return Changes.read(body.read(), after)

    @contextmanager
    def _open(self, path: str) -> Iterator[IO[bytes]]:
        try:
            request = Request(self._url + path)  # noqa: S310 - of HTTP only: see above
            with self._opener.open(request, timeout=self._timeout) as body:
                yield body
        except HTTPError as error:
            with error:
                raise refusal_of(error) from error
        except URLError as error:
            raise DownloadError(f"the platform is away: {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            raise DownloadError(f"the download broke off: {error!r}") from error


def refusal_of(error: HTTPError) -> DownloadError:
    """Tells the refusal in the platform's own words, where it has some."""
    try:
        detail = json.loads(error.read(1 << 16))["detail"]
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        detail = error.reason
    said = error.headers.get("Retry-After", "")
    return DownloadError(f"{error.code}: {detail}", float(said) if said.isdecimal() else 0.0)


def copy(body: IO[bytes], path: Path) -> str:
    """Writes what comes to a file and returns its hash, which differs if the download broke off."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        while piece := body.read(PIECE_BYTES):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def read_hashes(path: Path, snapshot_id: str) -> dict[str, str]:
    """Reads the files' hashes; raises DownloadError unless those of the built files give the
    snapshot's id."""
    try:
        hashes: dict[str, str] = json.loads(path.read_bytes())
        built = b"".join(bytes.fromhex(hashes[name]) for name in BUILT_FILES if name in hashes)
    except (ValueError, TypeError) as error:
        raise DownloadError(f"the hashes of snapshot {snapshot_id} cannot be read") from error
    if hashlib.sha256(built).hexdigest()[:32] != snapshot_id:
        raise DownloadError(f"the hashes are not those of snapshot {snapshot_id}")
    return hashes


def check_files(folder: Path) -> None:
    """Checks a snapshot that was fetched before; raises DownloadError or OSError."""
    hashes = read_hashes(folder / HASHES_FILE, folder.name)
    for name in FETCHED_FILES:
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != hashes.get(name):
                raise DownloadError(f"{folder / name} is damaged")

"""`GET /api/v1/snapshots/..`: the live snapshot for ad servers that match in their own process.

    live                              which snapshot it is, and its files
    <snapshot_id>/index.atree         what `matcher_ext.Snapshot` opens
    <snapshot_id>/bookings.jsonl      a line per booking, as answers name it
    <snapshot_id>/terms.npy           a row per booking: what its place in answers depends on
    <snapshot_id>/catalog.json        the attributes
    <snapshot_id>/hashes.json         SHA-256 of these files, and of what the snapshot's id is of
    <snapshot_id>/deltas.jsonl        a line per change since it was built, after number `?after=`

A snapshot holds everybody's targeting, so its scope is its own, and only operators get it. The
other files are as they were built; who follows the deltas answers as the servers do:
`matcher_ext.following` does.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
import numpy as np

from exchange.serving.bookings import BookingRow
from exchange.serving.callers import SNAPSHOT_READ
from exchange.serving.deltas import Delta, DeltaLogFolder
from exchange.serving.directory import (
    BOOKINGS_FILE,
    CATALOG_FILE,
    INDEX_FILE,
    SNAPSHOT_ID,
    SnapshotDirectory,
)
from exchange.serving.eligibility import EligibilityService
from exchange.serving.http.messages import Download, Reply, Request
from exchange.serving.instruments import REQUESTS
from exchange.serving.live import LiveSnapshot
from exchange.serving.problems import ProblemError, not_found
from matcher_ext.serving import (
    BOOKINGS_LINES,
    DELTA_LINES,
    HASHES_FILE,
    PREFIX,
    TERMS,
    TERMS_FILE,
    seal,
)

JSON = "application/json"
LINES = "application/x-ndjson"
BINARY = "application/octet-stream"
PIECE_BYTES = 256 * 1024
PIECE_ROWS = 500
PIECE_TERMS = 5_000


class SnapshotDownloads:
    """A route: everything below `PREFIX`. Files are sent in pieces."""

    name = "snapshots"
    methods: tuple[str, ...] = ("GET",)
    most_bytes = 0

    def __init__(self, service: EligibilityService, root: Path) -> None:
        self._service = service
        self._root = root
        self._hashes = Hashes(root)

    def admit(self, request: Request) -> None:
        self._service.admit(request.authorization, SNAPSHOT_READ)

    def answer(self, request: Request) -> Reply | Download:
        self.admit(request)
        name = request.path.removeprefix(PREFIX)
        answer = self._find(name, request.query, require_whole(self._service))
        REQUESTS.labels(self.name, "200").inc()
        return answer

    def _find(self, name: str, query: str, live: LiveSnapshot) -> Reply | Download:
        if name == "live":
            return Reply(seal(msgspec.json.encode(describe(live))))
        snapshot_id, _, file = name.partition("/")
        if snapshot_id != live.manifest.snapshot_id or not SNAPSHOT_ID.fullmatch(snapshot_id):
            raise not_found("This snapshot is not live. Ask for `live` again.")
        if file == BOOKINGS_LINES:
            return Download(LINES, None, write_lines(live))
        if file == TERMS_FILE:
            return send_terms(live)
        if file == HASHES_FILE:
            return Download(JSON, None, self._hashes.write(live))
        if file == DELTA_LINES:
            require_log(live, query)
            log = DeltaLogFolder.of(SnapshotDirectory(self._root), live.manifest)
            return Download(LINES, None, write_deltas(live, log, read_after(query)))
        if file in (INDEX_FILE, CATALOG_FILE):
            return send_file(self._root / snapshot_id / file)
        raise not_found("A snapshot has no such file.")


def require_whole(service: EligibilityService) -> LiveSnapshot:
    """Finds the live state; refuses a recovered one, because what was stopped since lies in no file
    of a snapshot. Whoever matches in a process of their own goes on with what they have."""
    live = service.require_live()
    if live.is_recovered:
        raise ProblemError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "recovered_state",
            "The live snapshot is damaged and being built anew. Try again in a moment.",
            headers={"Retry-After": "10"},
        )
    return live


def describe(live: LiveSnapshot) -> dict[str, object]:
    manifest = live.manifest
    return {
        "snapshot_id": manifest.snapshot_id,
        "delta": live.delta,
        "built_delta": manifest.delta,
        "log_id": manifest.log_id,
        "read_at": manifest.read_at,
        "activated_at": manifest.activated_at,
        "bookings": len(live.opened.below),
        "files": {
            name: f"{PREFIX}{manifest.snapshot_id}/{name}"
            for name in (
                INDEX_FILE,
                BOOKINGS_LINES,
                TERMS_FILE,
                CATALOG_FILE,
                HASHES_FILE,
                DELTA_LINES,
            )
        },
    }


def send_file(path: Path) -> Download:
    try:
        length = path.stat().st_size
    except FileNotFoundError:
        raise not_found("A snapshot has no such file.") from None
    return Download(BINARY, length, read_pieces(path))


def read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def write_lines(live: LiveSnapshot) -> Iterator[bytes]:
    bookings = live.opened.below
    for start in range(0, len(bookings), PIECE_ROWS):
        rows = range(start, min(start + PIECE_ROWS, len(bookings)))
        yield b"".join(b"%s\n" % fragment for fragment in bookings.fragments(rows))


def send_terms(live: LiveSnapshot) -> Download:
    head = terms_head(len(live.opened.below))
    length = len(head) + len(live.opened.below) * TERMS.itemsize
    return Download(BINARY, length, write_terms(live))


def write_terms(live: LiveSnapshot) -> Iterator[bytes]:
    bookings = live.opened.below
    yield terms_head(len(bookings))
    for start in range(0, len(bookings), PIECE_TERMS):
        yield bookings.terms(start, min(start + PIECE_TERMS, len(bookings)))


def terms_head(count: int) -> bytes:
    """Returns the head of a file that `numpy.load` opens."""
    head = io.BytesIO()
    form = {"descr": np.lib.format.dtype_to_descr(TERMS), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(head, form)
    return head.getvalue()


class Hashes:
    """Hashes of a snapshot's files, made once, in the thread of the download that first asks for
    them: a million bookings take about a second. Those of the three files that the snapshot's id is
    made of let the reader see that the id is of these very bytes; the others are of what is
    answered from."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._making = threading.Lock()
        self._made: tuple[str, bytes] = ("", b"")

    def write(self, live: LiveSnapshot) -> Iterator[bytes]:
        snapshot_id = live.manifest.snapshot_id
        with self._making:
            if self._made[0] != snapshot_id:
                self._made = (snapshot_id, msgspec.json.encode(self._hash_all(live)))
            made = self._made[1]
        yield made

    def _hash_all(self, live: LiveSnapshot) -> dict[str, str]:
        folder = self._root / live.manifest.snapshot_id
        paths = [folder / name for name in (INDEX_FILE, BOOKINGS_FILE, CATALOG_FILE)]
        files = {path.name: read_pieces(path) for path in paths if path.exists()}
        files |= {BOOKINGS_LINES: write_lines(live), TERMS_FILE: write_terms(live)}
        return {name: hash_pieces(pieces) for name, pieces in files.items()}


def hash_pieces(pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def require_log(live: LiveSnapshot, query: str) -> None:
    """Refuses a log that is not the live one: a snapshot may go live again with other changes."""
    said = parse_qs(query).get("log")
    if said is not None and said[-1] != live.manifest.log_id:
        raise not_found("This log is not the live one. Ask for `live` again.")


def read_after(query: str) -> int:
    """Reads the number of the last change that the asker has; without one all are sent."""
    said = parse_qs(query).get("after", ["0"])[-1]
    if not (said.isascii() and said.isdecimal() and len(said) < 19):
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_request", "`after` is a whole number.")
    return int(said)


def write_deltas(live: LiveSnapshot, log: DeltaLogFolder | None, after: int) -> Iterator[bytes]:
    """Yields changes up to the state that this server answers from, never further."""
    if log is None:
        return
    for delta in log.read_after(max(after, live.manifest.delta)):
        if delta.number > live.delta:
            return
        yield seal(msgspec.json.encode(describe_delta(delta))) + b"\n"


def describe_delta(delta: Delta) -> dict[str, object]:
    """Describes what `LiveIndex.apply_record` takes, and changed bookings as their file has
    them."""
    return {
        "number": delta.number,
        "definitions": delta.definitions,
        "dead": delta.dead,
        "entries": {entry.row.booking_id: entry.text for entry in delta.entries},
        "routes": delta.routes,
        "lent": delta.lent,
        "bookings": [msgspec.Raw(entry.row.fragment()[0]) for entry in delta.entries],
        "reaches": dict(map(describe_reach, (entry.row for entry in delta.entries))),
    }


def describe_reach(row: BookingRow) -> tuple[int, tuple[int, float]]:
    """Says what a visit's own path is known by, and what its share is taken of."""
    return row.booking_id, (row.reach, row.price)

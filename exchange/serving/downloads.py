"""`GET /api/v1/snapshots/..`: the live snapshot for ad servers that match in their own process.

    live                              which snapshot it is, and its files
    <snapshot_id>/index.atree         what `matcher_ext.Snapshot` opens
    <snapshot_id>/bookings.jsonl      a line per booking, as answers name it
    <snapshot_id>/catalog.json        the attributes
    <snapshot_id>/deltas.jsonl        a line per change since it was built, after number `?after=`

A snapshot holds everybody's targeting, so its scope is its own, and only operators get it. The
other files are as they were built; who follows the deltas answers as the servers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

import msgspec

from exchange.serving.callers import SNAPSHOT_READ
from exchange.serving.deltas import Delta, DeltaLogFolder
from exchange.serving.directory import CATALOG_FILE, INDEX_FILE, SNAPSHOT_ID, SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.serving.http.messages import Download, Reply, Request
from exchange.serving.instruments import REQUESTS
from exchange.serving.live import LiveSnapshot
from exchange.serving.problems import ProblemError, not_found

PREFIX = "/api/v1/snapshots/"
BOOKINGS_LINES = "bookings.jsonl"
DELTA_LINES = "deltas.jsonl"
LINES = "application/x-ndjson"
PIECE_BYTES = 256 * 1024
PIECE_ROWS = 500


class SnapshotDownloads:
    """A route: everything below `PREFIX`. Files are sent in pieces."""

    name = "snapshots"
    methods: tuple[str, ...] = ("GET",)
    most_bytes = 0

    def __init__(self, service: EligibilityService, root: Path) -> None:
        self._service = service
        self._root = root

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
            return Reply(msgspec.json.encode(describe(live)))
        snapshot_id, _, file = name.partition("/")
        if snapshot_id != live.manifest.snapshot_id or not SNAPSHOT_ID.fullmatch(snapshot_id):
            raise not_found("This snapshot is not live. Ask for `live` again.")
        if file == BOOKINGS_LINES:
            return Download(LINES, None, write_lines(live))
        if file == DELTA_LINES:
            log = DeltaLogFolder.of(SnapshotDirectory(self._root), live.manifest)
            return Download(LINES, None, write_deltas(live, log, read_after(query)))
        if file in (INDEX_FILE, CATALOG_FILE):
            return send_file(self._root / snapshot_id / file)
        raise not_found("A snapshot has no such file.")


def require_whole(service: EligibilityService) -> LiveSnapshot:
    """What was stopped since lies in no file of a snapshot: who matches in a process of their own
    goes on with what they have."""
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
        "read_at": manifest.read_at,
        "activated_at": manifest.activated_at,
        "bookings": len(live.opened.below),
        "files": {
            name: f"{PREFIX}{manifest.snapshot_id}/{name}"
            for name in (INDEX_FILE, BOOKINGS_LINES, CATALOG_FILE, DELTA_LINES)
        },
    }


def send_file(path: Path) -> Download:
    try:
        length = path.stat().st_size
    except FileNotFoundError:
        raise not_found("A snapshot has no such file.") from None
    return Download("application/octet-stream", length, read_pieces(path))


def read_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def write_lines(live: LiveSnapshot) -> Iterator[bytes]:
    bookings = live.opened.below
    for start in range(0, len(bookings), PIECE_ROWS):
        rows = range(start, min(start + PIECE_ROWS, len(bookings)))
        yield b"".join(b"%s\n" % fragment for fragment in bookings.fragments(rows))


def read_after(query: str) -> int:
    """The number of the last change that the asker has; without one all are sent."""
    said = parse_qs(query).get("after", ["0"])[-1]
    if not (said.isascii() and said.isdecimal() and len(said) < 19):
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_request", "`after` is a whole number.")
    return int(said)


def write_deltas(live: LiveSnapshot, log: DeltaLogFolder | None, after: int) -> Iterator[bytes]:
    """Up to the state that this server answers from, never further."""
    if log is None:
        return
    for delta in log.read_after(max(after, live.manifest.delta)):
        if delta.number > live.delta:
            return
        yield msgspec.json.encode(describe_delta(delta)) + b"\n"


def describe_delta(delta: Delta) -> dict[str, object]:
    """What `LiveIndex.apply_record` takes, and changed bookings as in the bookings' file."""
    return {
        "number": delta.number,
        "definitions": delta.definitions,
        "dead": delta.dead,
        "entries": {entry.row.booking_id: entry.text for entry in delta.entries},
        "routes": delta.routes,
        "lent": delta.lent,
        "bookings": [msgspec.Raw(entry.row.fragment()[0]) for entry in delta.entries],
    }

"""Notes when each API key was last used: in memory at a request, in a file now and then.

    key-use/<random>.json      {"<hash>": "2026-11-16T05:00:00Z", ..}, one file per server process

A process replaces only its own file, with all that it has seen; whoever keeps the keys reads all
files. The request itself pays for one assignment, and no server ever asks a database.
"""

from __future__ import annotations

import logging
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

logger = logging.getLogger(__name__)

FOLDER = "key-use"
FLUSH_SECONDS = 15.0
# A process that still lives writes its file anew at the next use, with all that it knows.
STALE_SECONDS = 3600.0
MAX_FILE_BYTES = 64 * 1024 * 1024


class KeyUse:
    """When this process saw each key last. Thread-safe: `note` is one assignment, of two at once
    either may win; only the watching thread calls `flush`."""

    def __init__(self, root: Path) -> None:
        self._path = root / FOLDER / f"{secrets.token_hex(8)}.json"
        self._used: dict[str, float] = {}
        self._written: dict[str, float] = {}
        self._due = 0.0
        self._is_troubled = False

    def note(self, key_hash: str, now: float) -> None:
        """Notes a use at `now`, in seconds since 1970; the latest counts."""
        if now > self._used.get(key_hash, 0.0):
            self._used[key_hash] = now

    def flush(self, *, at_once: bool = False) -> bool:
        """Writes the file now and then; says whether it did. A folder that cannot be written costs
        the times, never answers."""
        if not at_once and time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + FLUSH_SECONDS
        used = dict(self._used)
        if used == self._written:
            return False
        try:
            self._write(used)
        except OSError as error:
            if not self._is_troubled:
                logger.warning("When API keys were used cannot be written down: %s", error)
            self._is_troubled = True
            return False
        self._written = used
        self._is_troubled = False
        return True

    def _write(self, used: dict[str, float]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        aside = self._path.with_suffix(".new")
        times = {key: datetime.fromtimestamp(seconds, UTC) for key, seconds in used.items()}
        aside.write_bytes(msgspec.json.encode(times))
        aside.rename(self._path)


def read_key_use(root: Path) -> dict[str, datetime]:
    """Finds the newest time of every key over all processes' files."""
    newest: dict[str, datetime] = {}
    for path in (root / FOLDER).glob("*.json"):
        for key_hash, moment in read_file(path).items():
            if key_hash not in newest or newest[key_hash] < moment:
                newest[key_hash] = moment
    return newest


def read_file(path: Path) -> dict[str, datetime]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return {}
        return msgspec.json.decode(path.read_bytes(), type=dict[str, datetime])
    except FileNotFoundError:
        return {}  # removed between the listing and now
    except msgspec.DecodeError as error:
        logger.warning("%s is damaged: %s", path, error)
        return {}


def remove_stale_files(root: Path) -> None:
    """Removes files of processes that are gone or have seen no key for long; what they said is
    known."""
    for path in (root / FOLDER).glob("*"):
        try:
            if path.stat().st_mtime < time.time() - STALE_SECONDS:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue

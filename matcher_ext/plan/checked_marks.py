"""Remembers that files were checked, so that a file is checked once per machine, not once per open.

A mark lies beside the files that it speaks of, and says what was found true of them and which
identity the file system gave them then. It is believed while that identity is the same to the
nanosecond, and while nobody but us (or root) can have written the mark.

So a file that was written to, replaced, copied, moved to another machine or restored from a backup
since is checked again. A mark does not see bytes that rot below the file system, a clock that was
set back to the very nanosecond of a change, and what root does. Whoever must be sure checks without
asking for a mark.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

# A change in the same tick of the file system's clock as the one before cannot be told from it.
# Ticks are ten milliseconds at most, except where times are kept in whole seconds or two.
FINE_TICK_NS = 100_000_000
COARSE_TICK_NS = 3_000_000_000
MAX_REMEMBERED = 256
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_remembered: dict[Mark, None] = {}


@dataclass(frozen=True, slots=True)
class Identity:
    """Which file this is and when it last changed, as the file system says it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, file: int | Path) -> Identity:
        """Reads the identity; of an open file's descriptor where there is one, so that the path
        cannot name another file meanwhile."""
        found = os.fstat(file) if isinstance(file, int) else file.stat()
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def is_settled(self) -> bool:
        """Tells whether any change from now on will show."""
        tick = COARSE_TICK_NS if self.changed_ns % 1_000_000_000 == 0 else FINE_TICK_NS
        return time.time_ns() - self.changed_ns > tick


@dataclass(frozen=True, slots=True)
class Mark:
    """A note that a fact is true of some files. Take their identities before reading them."""

    path: Path
    fact: str
    files: tuple[Identity, ...]

    def is_known(self) -> bool:
        """Tells whether this process or an earlier one found it true of these very files."""
        return self in _remembered or read_mark(self.path) == self._content()

    def keep(self, files: Sequence[int | Path]) -> None:
        """Keeps that it was found true just now; only in this process if it cannot be written.

        Keeps nothing of files that changed meanwhile, or that might still change unseen.
        """
        if not all(identity.is_settled() for identity in self.files):
            return
        for file in files:
            sync(file)
        if tuple(map(Identity.of, files)) != self.files:
            return
        _remember(self)
        with suppress(OSError):
            write_mark(self.path, self._content())

    def _content(self) -> str:
        return json.dumps({"fact": self.fact, "files": [asdict(file) for file in self.files]})


def _remember(mark: Mark) -> None:
    while len(_remembered) >= MAX_REMEMBERED:
        _remembered.pop(next(iter(_remembered)), None)
    _remembered[mark] = None


def sync(file: int | Path) -> None:
    """Syncs a file: what was checked in memory must be on disk after a loss of power as well."""
    with suppress(OSError):
        if isinstance(file, int):
            os.fsync(file)
            return
        with file.open("rb") as opened:
            os.fsync(opened.fileno())


def read_mark(path: Path) -> str | None:
    """Reads a mark's content; None if there is none that can be believed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        is_ours = found.st_uid in (os.geteuid(), 0) and not found.st_mode & WRITABLE_BY_OTHERS
        if not is_ours or not stat.S_ISREG(found.st_mode):
            return None
        return file.read(1 << 16).decode(errors="replace")


def write_mark(path: Path, content: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

"""Maps snapshot files for reading, and replaces them when they are written."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from matcher_ext.plan.checked_marks import Identity, Mark
from matcher_ext.values.refusals import SnapshotError


@contextmanager
def map_file(path: Path) -> Iterator[tuple[memoryview, int]]:
    """Gives a file's bytes, which stay mapped while somebody holds them, and its descriptor."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise SnapshotError(f"{path} cannot be opened: {error}") from error
    with file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise SnapshotError(f"{path} cannot be opened: {error}") from error
        yield memoryview(mapped), file.fileno()


def mark_path(path: Path) -> Path:
    """Gives the path of the mark that says that a file was checked."""
    return path.with_name(f"{path.name}.checked")


def check_once(
    path: Path, descriptor: int, fact: str, check: Callable[[], None], *, recheck: bool
) -> None:
    """Checks a file unless this machine did so before and nobody touched it since."""
    mark = Mark(mark_path(path), fact, (Identity.of(descriptor),))
    if not recheck and mark.is_known():
        return
    check()
    mark.keep([descriptor])


def write_file(path: Path, content: memoryview) -> None:
    """Writes a file aside, syncs it and renames it into place; removes the old file's mark."""
    handle, name = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    with suppress(OSError):
        mark_path(path).unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

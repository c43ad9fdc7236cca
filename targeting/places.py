"""Finds folders of logs and reports on a disk, or at a URL as Arrow and Spark know it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow.fs


def open_place(place: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Gives a file system and the path in it. Spark calls S3 by the name of its driver."""
    if "://" not in place:
        return pyarrow.fs.LocalFileSystem(), str(Path(place).absolute())
    url = place.rstrip("/").replace("s3a://", "s3://", 1)
    opened: tuple[pyarrow.fs.FileSystem, str] = pyarrow.fs.FileSystem.from_uri(url)
    return opened


def list_days_in(place: str) -> Iterator[date]:
    """Lists the days of folders such as `dt=2026-11-16`, oldest first; none without the place."""
    files, folder = open_place(place)
    found = files.get_file_info(pyarrow.fs.FileSelector(folder, allow_not_found=True))
    for name in sorted(entry.base_name for entry in found):
        if name.startswith("dt="):
            yield date.fromisoformat(name.removeprefix("dt="))

"""Keeps large tables of the newest nights as plain columns on this machine, mapped by every process
that reads them: pages sort and narrow millions of rows without unpacking them first.

    REPORT_DIR/night_tables/<key>.arrow    the key is the table's place and its files

The worker makes them after each night. Where there is none the Parquet files say the same, slower.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from django.conf import settings

FOLDER = "night_tables"


def path_of(place: str, names: tuple[str, ...]) -> Path:
    """Names a file on this machine, also where the tables of jobs lie elsewhere."""
    out = settings.REPORT_DIR
    key = hashlib.sha256(json.dumps([place, names]).encode()).hexdigest()[:32]
    return (out if isinstance(out, Path) else settings.VAR_DIR) / FOLDER / f"{key}.arrow"


def open_mapped(path: Path) -> ds.Dataset | None:
    return open_file(path) if path.exists() else None


@lru_cache(maxsize=16)
def open_file(path: Path) -> ds.Dataset:
    """Opens it once and keeps it: what has this name does not change, and stays mapped if it is
    removed."""
    with pa.memory_map(str(path)) as source:
        return ds.dataset(pa.ipc.open_file(source).read_all())


def write_mapped(path: Path, table: ds.Dataset) -> None:
    """Writes aside first, so that nobody opens half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(f".{os.getpid()}")
    try:
        with pa.OSFile(str(aside), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
            for batch in table.scanner().to_batches():
                out.write_batch(batch)
        aside.rename(path)
    finally:
        aside.unlink(missing_ok=True)


def remove_others(folder: Path, kept: Collection[Path]) -> None:
    for path in folder.glob("*"):
        if path not in kept:
            path.unlink(missing_ok=True)

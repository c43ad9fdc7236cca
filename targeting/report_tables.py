"""Owns where the tables of jobs lie, and which files of a day readers take.

    OUT/<job>/dt=2026-11-16/manifest.json           what counts: the day's commit
    OUT/<job>/dt=2026-11-16/<run>/<table>/*.parquet  files; only those that the manifest names count

A manifest is one small file that is replaced whole, which object stores can do as well as disks.
The files that it took the place of stay until the next run, for readers who had begun.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from targeting.places import list_days_in, open_place

FORMAT = 1
MANIFEST = "manifest.json"

Manifest = dict[str, Any]


def day_folder(out: str, job: str, day: date) -> str:
    return f"{out.rstrip('/')}/{job}/dt={day}"


def read_manifest(out: str, job: str, day: date) -> Manifest | None:
    """Reads the day's commit; gives None if there is none. `out` is a path or a URL."""
    files, folder = open_place(day_folder(out, job, day))
    try:
        with files.open_input_stream(f"{folder}/{MANIFEST}") as file:
            manifest: Manifest = json.loads(file.read())
    except FileNotFoundError:
        return None
    if manifest.get("format") != FORMAT:
        raise ValueError(f"{out}: {job} of {day} has another format than {FORMAT}")
    return manifest


def read_table(
    out: str,
    job: str,
    table: str,
    day: date,
    columns: Sequence[str] | None = None,
    filters: Sequence[tuple[str, str, object]] | None = None,
) -> pa.Table | None:
    """Reads what the day's commit holds; gives None if there is none. With filters, (column,
    comparison, value) each, only the rows that fit all."""
    paths = list_files(out, job, table, day)
    if paths is None:
        return None
    files, _ = open_place(out)
    chosen = None if columns is None else list(columns)
    fitting = None if filters is None else list(filters)
    parts = [
        pq.read_table(path, columns=chosen, filters=fitting, filesystem=files, partitioning=None)
        for path in paths
    ]
    return pa.concat_tables(parts)


def list_files(out: str, job: str, table: str, day: date) -> list[str] | None:
    """Lists the table's files, as paths of the place's file system."""
    manifest = read_manifest(out, job, day)
    if manifest is None:
        return None
    _, folder = open_place(day_folder(out, job, day))
    return [f"{folder}/{name}" for name in manifest["tables"][table]["files"]]


def count_rows(place: str) -> int:
    """Counts the rows of a file, which its end says."""
    files, path = open_place(place)
    count: int = pq.read_metadata(path, filesystem=files).num_rows
    return count


def list_days(out: str, job: str) -> Iterator[date]:
    """Lists days with a folder, oldest first; one whose only run was killed has no manifest."""
    return list_days_in(f"{out.rstrip('/')}/{job}")

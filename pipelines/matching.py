"""The compiled index inside Spark's Python workers: rows of visits in, matches per booking out.

Each worker process maps the snapshot once, after checking that it is the one the driver meant.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import SparkFiles

from matcher_ext import Snapshot

INDEX_FILE = "index.atree"


class WrongSnapshotError(RuntimeError):
    """A worker found another index than the driver's under the same name."""


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """Where workers find the index: on a path that they share with the driver, or sent to them."""

    folder: str
    index_sha256: str
    is_shipped: bool

    def open(self) -> Snapshot:
        folder = SparkFiles.get(Path(self.folder).name) if self.is_shipped else self.folder
        return open_checked(str(Path(folder) / INDEX_FILE), self.index_sha256)


@lru_cache(maxsize=1)
def open_checked(path: str, sha256: str) -> Snapshot:
    if hash_file(Path(path)) != sha256:
        raise WrongSnapshotError(f"{path} is not the snapshot that this job was started with")
    return Snapshot.open(path)


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class CountMatches:
    """For `mapInArrow`: one row per booking with the visits of this partition that match it."""

    source: SnapshotSource

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        snapshot = self.source.open()
        totals = np.zeros(len(snapshot), np.int64)
        for batch in batches:
            totals += snapshot.count_batch(pa.RecordBatch.from_struct_array(batch.column(0)))
        matched = np.flatnonzero(totals)
        yield pa.RecordBatch.from_arrays(
            [pa.array(snapshot.ids[matched]), pa.array(totals[matched])],
            names=["booking_id", "eligible_visits"],
        )

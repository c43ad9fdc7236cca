"""Opens the compiled index inside Spark's Python workers.

Each worker process maps the snapshot once, after checking that it is the one the driver meant.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from matcher_ext import Snapshot
from matcher_ext.plan import Identity, Mark
from pipelines.session import is_local
from targeting.visit_log import WEIGHT

INDEX_FILE = "index.atree"
BOOKINGS_FILE = "bookings.arrow"
HASH_MARK = "hash.checked"


class WrongSnapshotError(RuntimeError):
    """A worker found another snapshot than the driver's under the same name."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenSnapshot:
    """The mapped index, and for each of its ids the campaign and the publisher of the booking."""

    snapshot: Snapshot
    campaign_ids: Any
    publishers: Any


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """Where workers find a snapshot: on a path that they share with the driver, or sent to them."""

    folder: str
    sha256: str
    is_shipped: bool

    @classmethod
    def of(cls, folder: Path, *, is_shipped: bool) -> Self:
        return cls(str(folder), hash_folder(folder), is_shipped)

    def open(self) -> OpenSnapshot:
        folder = SparkFiles.get(Path(self.folder).name) if self.is_shipped else self.folder
        return open_checked(Path(folder), self.sha256)

    def open_on_driver(self) -> OpenSnapshot:
        return open_checked(Path(self.folder), self.sha256)


@dataclass(frozen=True, slots=True)
class Index:
    """What a run needs of the snapshot, read once on the driver."""

    snapshot_id: str
    source: SnapshotSource
    attributes: frozenset[str]


def load_index(spark: SparkSession, folder: Path, master: str) -> Index:
    source = SnapshotSource.of(folder, is_shipped=not is_local(master))
    if source.is_shipped:
        spark.sparkContext.addFile(str(folder), recursive=True)
    names = open_checked(folder, source.sha256).snapshot.catalog.names
    return Index(folder.name, source, frozenset(names))


def hash_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in (INDEX_FILE, BOOKINGS_FILE):
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def is_as_meant(folder: Path, sha256: str) -> bool:
    """Workers of one machine hash the files once, until somebody touches them."""
    paths = [folder / name for name in (INDEX_FILE, BOOKINGS_FILE)]
    mark = Mark(folder / HASH_MARK, sha256, tuple(Identity.of(path) for path in paths))
    if mark.is_known():
        return True
    if hash_folder(folder) != sha256:
        return False
    mark.keep(paths)
    return True


@lru_cache(maxsize=1)
def open_checked(folder: Path, sha256: str) -> OpenSnapshot:
    if not is_as_meant(folder, sha256):
        raise WrongSnapshotError(f"{folder} is not the snapshot that this job was started with")
    snapshot = Snapshot.open(folder / INDEX_FILE)
    bookings = pa.ipc.open_file(pa.memory_map(str(folder / BOOKINGS_FILE))).read_all()
    rows = np.searchsorted(bookings["booking_id"].to_numpy(), snapshot.ids)
    ours = bookings.select(["booking_id", "campaign_id", "publisher"]).take(pa.array(rows))
    if not np.array_equal(ours["booking_id"].to_numpy(), snapshot.ids):
        raise WrongSnapshotError(f"{folder} has bookings in its index that {BOOKINGS_FILE} lacks")
    publishers = ours["publisher"].cast(pa.string()).combine_chunks()
    return OpenSnapshot(snapshot, ours["campaign_id"].combine_chunks(), publishers)


def split_by_weight(visits: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Splits visits by weight: nearly always one part, because servers of one log keep one user in
    the same number."""
    if WEIGHT not in visits.schema.names:
        yield 1, visits
        return
    found = pc.unique(visits[WEIGHT])
    for weight in found:
        alike = visits if len(found) == 1 else visits.filter(pc.equal(visits[WEIGHT], weight))
        yield weight.as_py(), alike

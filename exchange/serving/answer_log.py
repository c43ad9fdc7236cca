"""Keeps a sample of the answers that were given, for the parity report: one in N, as Parquet.

Internet addresses and what is not in the catalogue are left out, user ids are hashed with a salt
that is the log's own. What the answers were given with is kept beside them for some days, as hard
links, so that they can be given again:

    _states/<snapshot_id>/               the snapshot's index
    _states/deltas/<log_id>/<number>.json    what changed beside it, up to the answers' numbers
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path

import msgspec
import numpy
import pyarrow as pa

from exchange.serving.deltas import DELTAS_FOLDER, DeltaLogFolder
from exchange.serving.directory import INDEX_FILE, SnapshotDirectory
from exchange.serving.instruments import ANSWERS_DROPPED
from exchange.serving.kept import MOST_KEPT, Kept, KeptLog, Retention, read_visits
from exchange.serving.live import LiveSnapshot

USER_ID = "user.id"
STATES_FOLDER = "_states"
# A night, and time to run it again.
STATES_KEPT_SECONDS = 3 * 24 * 3600
SCHEMA = pa.schema(
    [
        pa.field("at", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("snapshot_id", pa.string(), nullable=False),
        pa.field("delta", pa.int64(), nullable=False),
        pa.field("visit", pa.string(), nullable=False),
        pa.field("booking_ids", pa.list_(pa.int64()), nullable=False),
        pa.field("log_id", pa.string(), nullable=False),
        pa.field("first_delta", pa.int64(), nullable=False),
        pa.field("is_recovered", pa.bool_(), nullable=False),
    ]
)


class AnswerLog(KeptLog):
    name = "sampled answers"

    def __init__(
        self,
        folder: Path,
        *,
        every: int,
        salt: bytes,
        most: int = MOST_KEPT,
        retention: Retention | None = None,
        directory: SnapshotDirectory | None = None,
    ) -> None:
        """Keeps answers in `folder`. `directory` is where their snapshots and deltas lie; without
        one, only the answers are kept."""
        super().__init__(
            [folder], most=most, retention=retention or Retention(), dropped=ANSWERS_DROPPED
        )
        self.every = every
        self._states = None if directory is None else KeptStates(directory, folder / STATES_FOLDER)
        self._hash_key = hashlib.blake2b(salt, digest_size=32).digest()
        self._numbers = count(1)

    def is_due(self) -> bool:
        return next(self._numbers) % self.every == 0

    def _make_tables(self, kept: list[Kept]) -> Iterator[tuple[date, pa.Table]]:
        """Makes one table, by columns, with bookings as the arrays that they are: a list of numbers
        for each would hold the interpreter for half a second, and every request with it."""
        if self._states is not None:
            self._states.keep(each.live for each in kept)
        visits = list(read_visits(kept))
        ids = [numpy.sort(each.booking_ids) for each in kept if each.booking_ids is not None]
        ends = numpy.cumsum([0, *map(len, ids)])
        table = pa.Table.from_arrays(
            [
                pa.array([visit["time"] for visit in visits], SCHEMA.field("at").type),
                pa.array([each.live.manifest.snapshot_id for each in kept]),
                pa.array([each.live.delta for each in kept]),
                pa.array([self._encode(*each) for each in zip(kept, visits, strict=True)]),
                pa.ListArray.from_arrays(ends.astype(numpy.int32), numpy.concatenate(ids)),
                pa.array([each.live.manifest.log_id for each in kept]),
                pa.array([each.live.manifest.delta for each in kept]),
                pa.array([each.live.is_recovered for each in kept]),
            ],
            names=SCHEMA.names,
        ).cast(SCHEMA)
        yield datetime.now(UTC).date(), table

    def _encode(self, kept: Kept, visit: Mapping[str, object]) -> str:
        types = {row[0]: row[1] for row in kept.live.index.snapshot.catalog_rows}
        return msgspec.json.encode(self._mask(visit, types)).decode()

    def _mask(self, whole: Mapping[str, object], types: Mapping[str, str]) -> dict[str, object]:
        visit = {
            name: value for name, value in whole.items() if name in types and types[name] != "ip"
        }
        if USER_ID in visit:
            visit[USER_ID] = self._hash(str(visit[USER_ID]))
        return visit

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), key=self._hash_key, digest_size=16).hexdigest()


class KeptStates:
    """Links the files that answers were given with, before a build removes them. What is gone
    already is not kept: whoever gives the answers again counts such ones."""

    def __init__(self, directory: SnapshotDirectory, folder: Path) -> None:
        self._directory = directory
        self._folder = folder
        self._linked: dict[str, int] = {}  # the last number of each log

    def keep(self, states: Iterable[LiveSnapshot]) -> None:
        for live in dict.fromkeys((each.manifest, each.delta) for each in states):
            manifest, delta = live
            snapshot = Path(manifest.snapshot_id) / INDEX_FILE
            self._link(self._directory.root / snapshot, snapshot)
            if manifest.log_id:
                self._link_deltas(manifest.log_id, manifest.delta, delta)
        self._remove_old()

    def _link_deltas(self, log_id: str, first: int, last: int) -> None:
        log = DeltaLogFolder(self._directory, log_id)
        for number in range(max(first, self._linked.get(log_id, 0)) + 1, last + 1):
            path = log.path(number)
            self._link(path, Path(DELTAS_FOLDER) / log_id / path.name)
            self._linked[log_id] = number

    def _link(self, source: Path, name: Path) -> None:
        """Leaves what another process linked, and what is gone."""
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.utime(target.parent)
        if target.exists() or not source.exists():
            return
        try:
            os.link(source, target)
        except (FileExistsError, FileNotFoundError):
            return
        except OSError:  # another disk
            copy_whole(source, target)

    def _remove_old(self) -> None:
        """Removes folders to which nothing was added for days."""
        until = time.time() - STATES_KEPT_SECONDS
        live = self._directory.read_manifest()
        needed = set() if live is None else {live.snapshot_id, live.log_id}
        deltas = self._folder / DELTAS_FOLDER
        for folder in [*self._folder.glob("*"), *deltas.glob("*")]:
            is_kept = folder == deltas or folder.name in needed
            if not is_kept and folder.stat().st_mtime < until:
                shutil.rmtree(folder, ignore_errors=True)


def copy_whole(source: Path, target: Path) -> None:
    aside = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        shutil.copyfile(source, aside)
        aside.rename(target)
    finally:
        aside.unlink(missing_ok=True)

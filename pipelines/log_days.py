"""Adds parts to a day of the visit log, whole or not at all, on any file system that Spark writes.

What is added is written aside, then renamed to `_ready`: that rename is the commit. If a job is
killed before the parts are moved into their day, the next one moves them. Two jobs must not write
one day at the same time.

    LOG/_staging/dt=D.<origin>.<token>  being written
    LOG/_ready/dt=D.<origin>.<token>    complete, to be moved to
    LOG/dt=D/part-<origin>-<token>-*    what readers see, sorted by publisher
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, SparkSession

from pipelines.file_system import FileSystem
from pipelines.visit_log import column, is_part
from targeting.visit_log import PUBLISHER, TIME, VISIT_ID

# Small enough that whoever wants one publisher, or a sample of all, reads few rows.
ROWS_PER_GROUP = 20_000
BYTES_PER_PART = 256_000_000


class LogDays:
    """The days of one log. `origin` names the job that adds; one that `replaces` first removes what
    it added before."""

    def __init__(self, spark: SparkSession, log: str, origin: str, *, replaces: bool) -> None:
        self.files = FileSystem(spark, log)
        self._log = log.rstrip("/")
        self._origin = origin
        self._replaces = replaces

    def move_committed(self, day: date) -> bool:
        """Moves committed parts into the day, also those of a killed job, and clears what was never
        committed. Says whether there were any: `forget_committed` then ends it, when what they were
        made of is gone."""
        for name in self._names("_staging", day):
            self.files.delete(f"{self._log}/_staging/{name}")
        committed = self._names("_ready", day)
        for name in committed:
            self._move_into_place(day, name.rpartition(".")[2])
        return bool(committed)

    def forget_committed(self, day: date) -> None:
        for name in self._names("_ready", day):
            self.files.delete(f"{self._log}/_ready/{name}")

    def stage(self, day: date, tables: Sequence[DataFrame], size: int) -> "StagedParts":
        """Writes the tables aside, sorted by publisher; `size`: the bytes of what they are made
        of."""
        staged = StagedParts(day, uuid.uuid4().hex)
        self.files.make_folder(self._staging(staged))
        for number, rows in enumerate(tables):
            folder = f"{self._staging(staged)}/{number}"
            write_sorted(rows, folder, parts=size // BYTES_PER_PART + 1)
        return staged

    def commit(self, staged: "StagedParts") -> None:
        self.files.make_folder(f"{self._log}/_ready")
        self.files.rename(self._staging(staged), self._ready(staged.day, staged.token))

    def discard(self, staged: "StagedParts") -> None:
        self.files.delete(self._staging(staged))

    def _move_into_place(self, day: date, token: str) -> None:
        target, ready = f"{self._log}/dt={day}", self._ready(day, token)
        own = f"part-{self._origin}-"
        if self._replaces:
            for name in self.files.names_in(target):
                if name.startswith(own) and not name.startswith(f"{own}{token}"):
                    self.files.delete(f"{target}/{name}")
        self.files.make_folder(target)
        for table in self.files.names_in(ready):
            for part in filter(is_part, self.files.names_in(f"{ready}/{table}")):
                name = f"{own}{token}-{table}-{part.split('-')[1]}.parquet"
                self.files.rename(f"{ready}/{table}/{part}", f"{target}/{name}")

    def _names(self, folder: str, day: date) -> list[str]:
        """Lists what a folder has of this day and origin."""
        names = self.files.names_in(f"{self._log}/{folder}")
        return [name for name in names if name.startswith(f"dt={day}.{self._origin}.")]

    def _staging(self, staged: "StagedParts") -> str:
        return f"{self._log}/_staging/dt={staged.day}.{self._origin}.{staged.token}"

    def _ready(self, day: date, token: str) -> str:
        return f"{self._log}/_ready/dt={day}.{self._origin}.{token}"


@dataclass(frozen=True, slots=True)
class StagedParts:
    """Parts that are written; nobody sees them before `LogDays.commit`."""

    day: date
    token: str


def write_sorted(rows: DataFrame, folder: str, *, parts: int) -> None:
    if parts == 1:
        ranged = rows.coalesce(1)
    else:
        ranged = rows.repartitionByRange(parts, column(PUBLISHER), column(TIME))
    ordered = ranged.sortWithinPartitions(column(PUBLISHER), column(TIME), column(VISIT_ID))
    writer = ordered.write.mode("errorifexists").option("compression", "zstd")
    writer.option("parquet.block.row.count.limit", str(ROWS_PER_GROUP)).parquet(folder)

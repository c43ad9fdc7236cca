"""Replaces one day of several tables as a whole, on any file system that Spark can write.

A day is written aside, then renamed to `_ready`: that rename is the commit. Moving the tables into
place after it is repeated by whoever comes next, should the job be killed in the middle. A job
killed before it leaves the old day untouched. Two jobs must not write one day at the same time.

    OUT/_staging/dt=D.<token>/TABLE    being written
    OUT/_ready/dt=D/TABLE              complete, to be moved to
    OUT/TABLE/dt=D                     what readers see
"""

import uuid
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, SparkSession

from pipelines.file_system import FileSystem


class DayStore:
    """The report folder, day by day. Not safe for two jobs on the same day."""

    def __init__(self, spark: SparkSession, out: str) -> None:
        self._files = FileSystem(spark, out)
        self._out = out.rstrip("/")

    def finish_interrupted(self, day: date) -> None:
        """Completes the commit of a killed job, and clears what one never committed."""
        if self._files.exists(self._ready(day)):
            self._move_into_place(day)
        for name in self._files.names_in(f"{self._out}/_staging"):
            if name.startswith(f"dt={day}."):
                self._files.delete(f"{self._out}/_staging/{name}")

    def stage(self, day: date) -> "StagedDay":
        return StagedDay(day, f"{self._out}/_staging/dt={day}.{uuid.uuid4().hex}")

    def commit(self, staged: "StagedDay") -> None:
        self._files.make_folder(f"{self._out}/_ready")
        self._files.rename(staged.folder, self._ready(staged.day))
        self._move_into_place(staged.day)

    def discard(self, staged: "StagedDay") -> None:
        self._files.delete(staged.folder)

    def _ready(self, day: date) -> str:
        return f"{self._out}/_ready/dt={day}"

    def _move_into_place(self, day: date) -> None:
        for table in self._files.names_in(self._ready(day)):
            target = f"{self._out}/{table}/dt={day}"
            self._files.make_folder(f"{self._out}/{table}")
            self._files.delete(target)
            self._files.rename(f"{self._ready(day)}/{table}", target)
        self._files.delete(self._ready(day))


@dataclass(frozen=True, slots=True)
class StagedDay:
    """One day's tables while they are written; nobody sees them before `DayStore.commit`."""

    day: date
    folder: str

    def write(self, table: str, rows: DataFrame) -> DataFrame:
        """Writes the table and gives back what was written."""
        path = f"{self.folder}/{table}"
        rows.write.mode("errorifexists").parquet(path)
        return rows.sparkSession.read.schema(rows.schema).parquet(path)

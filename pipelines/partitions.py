"""Replaces one day of a job's tables as a whole, on any file system that Spark can write.

Each run writes into a folder of its own. The commit replaces the manifest, which names the run's
files, in one step (`targeting.report_tables` has the layout, for readers too). No other file is
renamed, so object stores are as safe as disks. A job killed before the commit leaves the old day
untouched. Two jobs must not write one day of one table at the same time.
"""

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DateType, StructField, StructType

from pipelines.file_system import FileSystem
from targeting.report_tables import (
    FORMAT,
    MANIFEST,
    Manifest,
    count_rows,
    day_folder,
    read_manifest,
)


@dataclass(frozen=True, slots=True)
class StagedDay:
    """One day's tables while they are written; nobody sees them before `DayStore.commit`."""

    day: date
    folder: str
    run: str
    tables: list[str] = field(default_factory=list)

    def write(self, table: str, rows: DataFrame) -> None:
        path = f"{self.folder}/{self.run}/{table}"
        rows.write.mode("errorifexists").option("compression", "zstd").parquet(path)
        self.tables.append(table)


class DayStore:
    """The tables of one job, day by day. Not safe for two jobs on the same day."""

    def __init__(self, spark: SparkSession, out: str, job: str) -> None:
        self._spark = spark
        self._files = FileSystem(spark, out)
        self._out = out
        self._job = job

    def clear(self, day: date) -> None:
        """Removes what killed jobs left; keeps the run before, which readers may still read."""
        manifest = self.read_manifest(day) or {}
        self._keep_only(day, {manifest.get("run"), manifest.get("run_before")})

    def stage(self, day: date) -> StagedDay:
        return StagedDay(day, self._folder(day), uuid.uuid4().hex)

    def commit(self, staged: StagedDay, facts: Mapping[str, Any] | None = None) -> Manifest:
        """Lets readers see the new day from here on. `facts` are kept in its manifest."""
        before = (self.read_manifest(staged.day) or {}).get("run")
        manifest = {
            "format": FORMAT,
            "job": self._job,
            "day": str(staged.day),
            "run": staged.run,
            "run_before": before,
            "tables": {name: self._describe(staged, name) for name in staged.tables},
            **(facts or {}),
        }
        content = json.dumps(manifest, indent=1)
        self._files.write_whole(f"{staged.folder}/{MANIFEST}", content.encode())
        self._keep_only(staged.day, {staged.run, before})
        return manifest

    def discard(self, staged: StagedDay) -> None:
        """Removes what was staged, unless it was committed."""
        if (self.read_manifest(staged.day) or {}).get("run") != staged.run:
            self._files.delete(f"{staged.folder}/{staged.run}")

    def read_manifest(self, day: date) -> Manifest | None:
        return read_manifest(self._out, self._job, day)

    def read(self, day: date, table: str, schema: StructType) -> DataFrame | None:
        """Reads what is committed of the day; gives None if nothing is, or if it was before the
        job had such a table."""
        manifest = self.read_manifest(day)
        if manifest is None or table not in manifest["tables"]:
            return None
        names = manifest["tables"][table]["files"]
        paths = [f"{self._folder(day)}/{name}" for name in names]
        return self._spark.read.schema(schema).parquet(*paths)

    def read_days(self, days: Iterable[date], table: str, schema: StructType) -> DataFrame:
        """Reads what is committed of these days, with a column `day`; those that were never
        committed have no row."""
        nothing = StructType([*schema, StructField("day", DateType())])
        found = ((day, self.read(day, table, schema)) for day in days)
        parts = [rows.withColumn("day", sf.lit(day)) for day, rows in found if rows is not None]
        return reduce(DataFrame.unionByName, parts, self._spark.createDataFrame([], nothing))

    def _describe(self, staged: StagedDay, table: str) -> dict[str, Any]:
        names = self._files.names_in(f"{staged.folder}/{staged.run}/{table}")
        files = [f"{staged.run}/{table}/{name}" for name in names if name.endswith(".parquet")]
        rows = sum(count_rows(f"{staged.folder}/{name}") for name in files)
        return {"rows": rows, "files": files}

    def _folder(self, day: date) -> str:
        return day_folder(self._out, self._job, day)

    def _keep_only(self, day: date, runs: set[str | None]) -> None:
        for name in self._files.names_in(self._folder(day)):
            if name != MANIFEST and name not in runs:
                self._files.delete(f"{self._folder(day)}/{name}")


def days_until(last: date, length: int) -> list[date]:
    """Lists so many days, the last first."""
    return [last - timedelta(days=back) for back in range(length)]

"""Opens one day of the visit log for all jobs of a session: compacted, and judged once.

It owns what "the day's visits" are; what is asked of them is each job's own.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType
from pyspark.storagelevel import StorageLevel

from pipelines.asking import AskVisits, Batches, Question, choose_answers
from pipelines.compact import compact_day
from pipelines.judging import count_daily, judge_rows, leave_out
from pipelines.matching import Index, load_index
from pipelines.partitions import DayStore
from pipelines.visit_log import ADDED, column, list_parts, read_day
from targeting.visit_log import SALT, USER_BEFORE, WRONG_VALUES

# Columns of the log's own that jobs may read beside the attributes.
PASSED_ON = (SALT, USER_BEFORE, WRONG_VALUES)


@dataclass(frozen=True, slots=True)
class DayOrder:
    """What every job of a day is told."""

    day: date
    visits: str
    snapshot: Path
    out: str
    master: str = "local[*]"
    options: dict[str, Any] = field(default_factory=dict)


class DayInput:
    """The day's log while a session works on it; `close` gives the memory back."""

    def __init__(self, spark: SparkSession, order: DayOrder) -> None:
        self.spark = spark
        self.order = order
        self.day = order.day
        self.index: Index = load_index(spark, order.snapshot, order.master)
        compact_day(spark, order.visits, order.day)
        self.questions: Sequence[Callable[[DayInput], Question]] = ()
        self._kept: list[DataFrame] = []

    @cached_property
    def log(self) -> list[DataFrame]:
        """Reads the log: one table for each set of column types; none if the day has no log."""
        wanted = self.index.attributes | set(PASSED_ON)
        return read_day(self.spark, self.order.visits, self.day, wanted)

    @cached_property
    def keys(self) -> DataFrame:
        return self.keep(judge_rows(self.log))

    @cached_property
    def visits(self) -> list[DataFrame]:
        """Chooses the rows that count, in the log's order: by publisher."""
        return [leave_out(part, self.keys) for part in self.log]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Counts the visits that the log's rows stand for, by what became of them."""
        sums = [sf.sum(name).alias(name) for name in ("visits", "malformed", "duplicates", "late")]
        (found,) = count_daily(self.keys).agg(*sums).collect()
        return {name: value or 0 for name, value in found.asDict().items()}

    @cached_property
    def files(self) -> dict[str, int]:
        """Lists the files of the day's log, with their sizes in bytes."""
        return list_parts(self.spark, self.order.visits, self.day)

    @cached_property
    def scratch(self) -> Path:
        """Makes a folder for what workers of this machine read; it is gone when the day is
        closed."""
        return Path(tempfile.mkdtemp(prefix="treeline-day-"))

    def found(self, question: str) -> DataFrame:
        """Gives what workers answered to a question; the first question that is wanted makes them
        answer all."""
        return choose_answers(self._found, question)

    @cached_property
    def _found(self) -> DataFrame:
        asking = AskVisits(self.index.source, [make(self) for make in self.questions])
        return self.keep(self.map_visits(asking, asking.schema))

    def map_visits(self, function: Callable[[Batches], Batches], schema: StructType) -> DataFrame:
        """Feeds the visits to `function`, as Arrow batches of one struct: mapInArrow does not take
        columns with a dot in their name."""
        parts = []
        for part in self.visits:
            names = [column(name) for name in part.columns if name not in ADDED]
            visits = part.select(sf.struct(*names).alias("visit"))
            parts.append(visits.mapInArrow(function, schema))
        return reduce(DataFrame.union, parts)

    def store(self, job: str) -> DayStore:
        return DayStore(self.spark, self.order.out, job)

    def close(self) -> None:
        for rows in self._kept:
            rows.unpersist()
        if "scratch" in self.__dict__:
            shutil.rmtree(self.scratch)

    def keep(self, rows: DataFrame) -> DataFrame:
        """Keeps what was computed until the day is closed."""
        kept = rows.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept

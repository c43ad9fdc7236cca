"""Asks the visits of a day all questions of a session in one pass: read, moved and prepared once.

A job's `Question` says what is asked of prepared visits and which columns the answers have. Answers
of different questions are rows of one table, each in a struct of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from pipelines.matching import SnapshotSource
from pipelines.prepared import PreparedVisits, prepare
from pipelines.visit_log import column

Batches = Iterator[pa.RecordBatch]


class Question(Protocol):
    """Sent to workers. `ask` yields batches of `answers`, or of some of its columns."""

    @property
    def name(self) -> str: ...
    @property
    def answers(self) -> StructType: ...
    def ask(self, visits: PreparedVisits) -> Iterable[pa.RecordBatch]: ...


@dataclass(frozen=True, slots=True)
class AskVisits:
    """For `DayInput.map_visits`."""

    source: SnapshotSource
    questions: Sequence[Question]

    @property
    def schema(self) -> StructType:
        return StructType([StructField(each.name, each.answers) for each in self.questions])

    def __call__(self, batches: Batches) -> Batches:
        schema = to_arrow_schema(self.schema)
        for visits in prepare(self.source.open(), open_batches(batches)):
            for question in self.questions:
                for answers in question.ask(visits):
                    if answers.num_rows:
                        yield wrap(answers, question.name, schema)


def open_batches(batches: Batches) -> Batches:
    """Unpacks the visits of `DayInput.map_visits`, column by column."""
    for batch in batches:
        yield pa.RecordBatch.from_struct_array(batch.column(0))


def wrap(answers: pa.RecordBatch, name: str, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        answers.to_struct_array() if each.name == name else pa.nulls(answers.num_rows, each.type)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def choose_answers(found: DataFrame, name: str) -> DataFrame:
    return found.where(column(name).isNotNull()).select(f"{name}.*")


def as_answers(kinds: StructType, rows: int, **columns: Any) -> pa.RecordBatch:
    """Makes a batch of so many rows: columns as arrays, or one value for all; others are null."""
    schema = to_arrow_schema(kinds)
    arrays = [fill(columns.get(each.name), rows, each.type) for each in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def fill(values: Any, rows: int, kind: pa.DataType) -> pa.Array:
    if values is None:
        return pa.nulls(rows, kind)
    if isinstance(values, str | int | float | bytes):
        return pa.repeat(pa.scalar(values, kind), rows)
    made = values if isinstance(values, pa.Array) else pa.array(values)
    return made if made.type == kind else made.cast(kind)

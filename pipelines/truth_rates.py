"""Job: counts how often each predicate and each edge of a snapshot was true, false or unknown.

    conditions    predicate or edge: visits that it was true of, false of, unknown of
    list_values   value of a list, as a condition: visits that it was true of

Conditions, their negations and values are entries of one small index, made once on the driver,
saved, and mapped by the workers like a snapshot. The shares of truth also go into one small file
for the next build's order (`--truth-rates`); an earlier day never takes the place of a later one.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from matcher_ext import ATree, ExpressionError, Snapshot
from matcher_ext.index import list_predicates
from matcher_ext.language import check_text
from pipelines.asking import as_answers
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.listed_values import list_values
from pipelines.matching import WrongSnapshotError
from pipelines.prepared import PreparedVisits
from pipelines.session import is_local
from targeting.report_tables import Manifest, read_table

FORMAT = 1
NAME, TABLE, VALUES_TABLE = "truth_rates", "conditions", "list_values"
PREDICATE, EDGE = "predicate", "edge"
EDGE_PREFIX = "edge."
ALL_VISITS = -1  # in the place of an entry: how many visits there were
CONDITIONS = StructType(
    [
        StructField("kind", StringType()),
        StructField("condition", StringType()),
        StructField("true_visits", LongType()),
        StructField("false_visits", LongType()),
        StructField("unknown_visits", LongType()),
    ]
)
LIST_VALUES = StructType(
    [StructField("condition", StringType()), StructField("true_visits", LongType())]
)
COUNTS = StructType([StructField("entry", LongType()), StructField("visits", LongType())])


@dataclass(frozen=True, slots=True)
class Condition:
    """As reports name it, and as an expression."""

    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of every visit; `values` are conditions, one for each value of a list."""

    conditions: Sequence[Condition]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """An index of the driver's: on a path that workers share with it, or sent to them."""

    path: str
    sha256: str
    is_shipped: bool

    def open(self) -> Snapshot:
        path = SparkFiles.get(Path(self.path).name) if self.is_shipped else self.path
        return open_saved(path, self.sha256)


@lru_cache(maxsize=1)
def open_saved(path: str, sha256: str) -> Snapshot:
    if hash_file(Path(path)) != sha256:
        raise WrongSnapshotError(f"{path} is not the index that this job was started with")
    return Snapshot.open(path)


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class CountTruths:
    """Asks of how many visits each entry of the conditions' index is true."""

    index: SavedIndex
    name: str = NAME
    answers: StructType = COUNTS

    def ask(self, visits: PreparedVisits) -> Iterator[pa.RecordBatch]:
        index = self.index.open()
        counts = visits.table.count(index)
        seen = np.flatnonzero(counts)
        entries = np.append(index.ids[seen], ALL_VISITS)
        rows = np.append(counts[seen], visits.rows.num_rows)
        yield as_answers(COUNTS, len(entries), entry=entries, visits=visits.weight * rows)


def compute(day: DayInput) -> Tables:
    asked = list_asked(day.index.source.open_on_driver().snapshot)
    found = day.found(NAME).groupBy("entry").agg(sf.sum("visits"))
    counts = {row[0]: row[1] for row in found.collect()}
    visits = counts.get(ALL_VISITS, 0)
    rows = []
    for number, condition in enumerate(asked.conditions):
        true, false = counts.get(2 * number, 0), counts.get(2 * number + 1, 0)
        rows.append((condition.kind, condition.name, true, false, visits - true - false))
    values = [
        (text, counts.get(number, 0))
        for number, text in enumerate(asked.values, 2 * len(asked.conditions))
    ]
    return {
        TABLE: day.spark.createDataFrame(rows, CONDITIONS),
        VALUES_TABLE: day.spark.createDataFrame(values, LIST_VALUES),
    }


def make_question(day: DayInput) -> CountTruths:
    snapshot = day.index.source.open_on_driver().snapshot
    return CountTruths(save_index(day, index_asked(snapshot, list_asked(snapshot))))


@lru_cache(maxsize=1)
def list_asked(snapshot: Snapshot) -> Asked:
    conditions = list_conditions(snapshot)
    predicates = [each.text for each in conditions if each.kind == PREDICATE]
    return Asked(conditions, list_values(snapshot.catalog, predicates))


def list_conditions(snapshot: Snapshot) -> tuple[Condition, ...]:
    predicates = [text for text in list_predicates(snapshot) if is_readable(snapshot, text)]
    edges = [name for name in snapshot.definition_names() if name.startswith(EDGE_PREFIX)]
    return (
        *(Condition(PREDICATE, text, text) for text in predicates),
        *(Condition(EDGE, name.removeprefix(EDGE_PREFIX), f"@{name}") for name in sorted(edges)),
    )


def is_readable(snapshot: Snapshot, text: str) -> bool:
    try:
        check_text(snapshot.catalog, text, composed=True)
    except ExpressionError:
        return False
    return True


def index_asked(snapshot: Snapshot, asked: Asked) -> Snapshot:
    """Inserts each condition at twice its place, its negation behind it, then the values."""
    index = ATree(snapshot.catalog)
    for condition in asked.conditions:
        if condition.kind == EDGE:
            index.copy_definition(snapshot, condition.text.removeprefix("@"))
    texts = [text for each in asked.conditions for text in (each.text, f"not ({each.text})")]
    texts += asked.values
    index.insert_many(range(len(texts)), texts)
    return index.freeze()


def save_index(day: DayInput, index: Snapshot) -> SavedIndex:
    path = day.scratch / f"{day.scratch.name}.atree"
    is_shipped = not is_local(day.order.master)
    index.save(path)
    if is_shipped:
        day.spark.sparkContext.addFile(str(path))
    return SavedIndex(str(path), hash_file(path), is_shipped)


def write_for_builds(day: DayInput, _: Manifest) -> None:
    path = day.order.options.get("truth_rates")
    if path is not None:
        write_rates(path, day.day, read_rates(day.order.out, day.day))


def read_rates(out: str, day: date) -> dict[str, float]:
    """Reads the share of visits that each predicate was true of; none if there was no visit."""
    found = read_table(out, NAME, TABLE, day)
    rates = {}
    for row in [] if found is None else found.to_pylist():
        visits = row["true_visits"] + row["false_visits"] + row["unknown_visits"]
        if row["kind"] == PREDICATE and visits:
            rates[row["condition"]] = row["true_visits"] / visits
    return rates


def write_rates(path: Path, day: date, rates: dict[str, float]) -> bool:
    """Writes the file and says whether it did: rates of a later day stay."""
    if not rates or read_day_of(path) > str(day):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}-{os.getpid()}")
    aside.write_text(json.dumps({"format": FORMAT, "day": str(day), "rates": rates}))
    aside.rename(path)
    return True


def read_day_of(path: Path) -> str:
    try:
        return str(json.loads(path.read_text())["day"])
    except (OSError, ValueError, KeyError):
        return ""


JOB = DayJob(
    NAME,
    {TABLE: CONDITIONS, VALUES_TABLE: LIST_VALUES},
    compute,
    question=make_question,
    finish=write_for_builds,
)

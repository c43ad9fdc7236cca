"""Job: compares sampled answers of ad servers with those given again offline, at the same snapshot
and change.

    states       snapshot, change: answers that were compared, that differ, that were left out
    mismatches   an answer that differs: bookings that only one of the two has

Reads `--answers`, the log that ad servers write, and what they keep beside it. An answer is left
out when its state was not kept, or was a recovered one; a booking when its conditions ask for
what the log masks. A day with a mismatch fails, after its tables were written.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pipelines.answer_states import STATES, AnswerState
from pipelines.asking import Batches
from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, FoundWrongError, Tables
from pipelines.visit_log import column, list_parts
from targeting.report_tables import Manifest, read_table

NAME = "parity"
STATE = [StructField("snapshot_id", StringType()), StructField("delta", LongType())]
ANSWERS = StructType(
    [
        StructField("at", TimestampType()),
        *STATE,
        StructField("visit", StringType()),
        StructField("booking_ids", ArrayType(LongType())),
        StructField("log_id", StringType()),
        StructField("first_delta", LongType()),
        StructField("is_recovered", BooleanType()),
    ]
)
COUNTS = [
    StructField("answers", LongType()),
    StructField("mismatches", LongType()),
    StructField("not_kept", LongType()),
    StructField("recovered", LongType()),
    StructField("bookings_left_out", LongType()),
]
STATES_TABLE = StructType([*STATE, *COUNTS])
DIFFERENT = [
    StructField("at", TimestampType()),
    StructField("visit", StringType()),
    StructField("only_served", ArrayType(LongType())),
    StructField("only_given_again", ArrayType(LongType())),
]
MISMATCHES = StructType([*STATE, *DIFFERENT])
# Of each answer: what it counts as, and how it differs.
FOUND = StructType([*STATE, *COUNTS, *DIFFERENT])


def has_answers(day: DayInput) -> bool:
    return bool(list_answers(day))


def list_answers(day: DayInput) -> list[str]:
    folder = day.order.options.get("answers")
    return list(list_parts(day.spark, str(folder), day.day)) if folder else []


def compute(day: DayInput) -> Tables:
    answers = day.spark.read.schema(ANSWERS).parquet(*list_answers(day))
    states = Path(str(day.order.options["answers"]).removeprefix("file://")) / STATES
    ordered = answers.repartition("snapshot_id", "log_id").sortWithinPartitions(
        "snapshot_id", "log_id", "delta"
    )
    found = day.keep(ordered.mapInArrow(GiveAgain(states), FOUND))
    is_different = column("mismatches") > 0
    return {"states": sum_states(found), "mismatches": found.where(is_different)}


def sum_states(found: DataFrame) -> DataFrame:
    keys = [each.name for each in STATE]
    return found.groupBy(*keys).agg(*[sf.sum(each.name).alias(each.name) for each in COUNTS])


@dataclass(frozen=True, slots=True)
class GiveAgain:
    """For `mapInArrow`: answers of a log in the order of their changes in, rows of FOUND out."""

    folder: Path

    def __call__(self, batches: Batches) -> Batches:
        states = OpenStates(self.folder)
        for batch in batches:
            rows = [give_again(states, row) for row in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, to_arrow_schema(FOUND, timezone="UTC"))


class OpenStates:
    """One state at a time, which goes on from change to change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key: tuple[str, str, int] | None = None
        self._state: AnswerState | None = None

    def find(self, row: dict[str, Any]) -> AnswerState | None:
        """Finds the answer's state; None if it was not kept."""
        key = row["snapshot_id"], row["log_id"] or "", row["first_delta"] or 0
        if key != self._key:
            self._key, self._state = key, self._open(*key)
        if self._state is None or not self._state.advance(row["delta"]):
            return None
        return self._state

    def _open(self, snapshot_id: str, log_id: str, first: int) -> AnswerState | None:
        if not (self._folder / snapshot_id).is_dir():
            return None
        return AnswerState(self._folder, snapshot_id, log_id, first)


def give_again(states: OpenStates, row: dict[str, Any]) -> dict[str, Any]:
    said = dict.fromkeys((each.name for each in COUNTS), 0) | {"answers": 1}
    said |= {each.name: row[each.name] for each in STATE}
    if row["is_recovered"]:
        return said | {"answers": 0, "recovered": 1}
    state = states.find(row)
    if state is None:
        return said | {"answers": 0, "not_kept": 1}
    again, served = state.match(json.loads(row["visit"])), state.compare_by(row["booking_ids"])
    said["bookings_left_out"] = len(row["booking_ids"]) - len(served)
    if again == served:
        return said
    return said | {
        "mismatches": 1,
        "at": row["at"],
        "visit": row["visit"],
        "only_served": sorted(set(served) - set(again)),
        "only_given_again": sorted(set(again) - set(served)),
    }


def fail_on_mismatch(day: DayInput, _: Manifest) -> None:
    found = read_table(day.order.out, NAME, "states", day.day, ["answers", "mismatches"])
    count = 0 if found is None else sum(found["mismatches"].to_pylist())
    if count:
        which = "1 sampled answer differs" if count == 1 else f"{count} sampled answers differ"
        raise FoundWrongError(f"{which} from what is recomputed: see the table `mismatches`.")


JOB = DayJob(
    NAME,
    {"states": STATES_TABLE, "mismatches": MISMATCHES},
    compute,
    has_input=has_answers,
    finish=fail_on_mismatch,
)

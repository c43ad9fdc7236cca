"""Job: lists the rows of a day that no report counts, each with its reason and where it lies."""

from pyspark.sql.types import LongType, StringType, StructField, StructType

from pipelines.day_input import DayInput
from pipelines.day_jobs import DayJob, Tables
from pipelines.judging import COUNTED
from pipelines.visit_log import SOURCE_FILE, SOURCE_ROW, column
from targeting.visit_log import WEIGHT

ROWS = StructType(
    [
        StructField("visit_id", StringType()),
        StructField("publisher", StringType()),
        StructField("reason", StringType()),
        StructField(WEIGHT, LongType()),
        StructField(SOURCE_FILE, StringType()),
        StructField(SOURCE_ROW, LongType()),
    ]
)


def compute(day: DayInput) -> Tables:
    return {"rows": day.keys.where(column("fate") != COUNTED)}


JOB = DayJob("quarantine", {"rows": ROWS}, compute)

"""Small histories for the job: a visit log, and a snapshot folder as the exchange writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

from exchange.serving.bookings import BookingRow, write_bookings
from exchange.serving.directory import BOOKINGS_FILE, INDEX_FILE, content_id
from matcher_ext import ATree
from pipelines.day_input import DayOrder
from pipelines.day_jobs import DayJob, JobDone, run_jobs
from targeting import Catalog
from targeting.report_tables import read_table

DAY, NEXT_DAY = date(2026, 11, 1), date(2026, 11, 2)
TYPES = {
    "time": "timestamp",
    "local_time": "timestamp local",
    "publisher.id": "string",
    "geo.country": "string",
    "geo.utc_offset": "integer",
    "geo.location": "geo",
    "user.age": "integer",
    "user.segments": "string set",
    "imp.floor": "float",
    "user.consent": "boolean",
    "user.id": "string",
    "device.type": "string",
    "source.schain_sellers": "string set",
    "source.schain_complete": "boolean",
}
CATALOG = Catalog.of(**TYPES)
LOG_SCHEMA = pa.schema(
    {
        "visit_id": pa.string(),
        "time": pa.timestamp("ms", "UTC"),
        "publisher.id": pa.string(),
        "geo.country": pa.string(),
        "geo.utc_offset": pa.int64(),
        "geo.location": pa.struct({"lat": pa.float64(), "lon": pa.float64()}),
        "user.age": pa.int64(),
        "user.segments": pa.list_(pa.string()),
        "imp.floor": pa.float64(),
        "user.consent": pa.bool_(),
        "user.id": pa.string(),
        "device.type": pa.string(),
        "source.schain_sellers": pa.list_(pa.string()),
        "source.schain_complete": pa.bool_(),
        "visit_weight": pa.int64(),
        "visit_salt": pa.string(),
        "visit_user_before": pa.string(),
        "visit_wrong_values": pa.list_(pa.string()),
    }
)
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
ORDINARY_VISIT: Mapping[str, object] = {
    "time": NOON,
    "publisher.id": "daily-herald",
    "geo.country": "USA",
    "user.age": 30,
    "user.segments": ["cars"],
}


def visit(visit_id: str | None, overrides: Mapping[str, object] | None = None) -> dict[str, object]:
    """Makes an ordinary visit, except for what the test is about."""
    return {"visit_id": visit_id, **ORDINARY_VISIT, **(overrides or {})}


@dataclass(frozen=True, slots=True)
class Entry:
    """A booking of the index."""

    booking_id: int
    campaign_id: int
    publisher: str
    text: str


USA_AT_HERALD = Entry(
    1, 10, "daily-herald", "publisher.id = 'daily-herald' and geo.country = 'USA'"
)


@dataclass(frozen=True, slots=True)
class History:
    """A folder with a visit log, snapshots and reports."""

    root: Path

    def log(
        self,
        day: date,
        visits: Sequence[Mapping[str, object]],
        *,
        schema: pa.Schema = LOG_SCHEMA,
        part: int = 0,
    ) -> None:
        folder = self.root / "visits" / f"dt={day}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = pa.Table.from_pylist([dict(row) for row in visits], schema)
        pa.parquet.write_table(rows, folder / f"part-{part:05}.parquet")

    def snapshot(
        self,
        entries: Sequence[Entry] = (USA_AT_HERALD,),
        catalog: Catalog = CATALOG,
        definitions: Mapping[str, str] | None = None,
        set_routes: Callable[[ATree], None] | None = None,
    ) -> Path:
        index = ATree(catalog)
        for name, text in (definitions or {}).items():
            index.define(name, text)
        if set_routes is not None:
            set_routes(index)
        for entry in entries:
            index.insert(entry.booking_id, entry.text)
        staged = self.root / "staged"
        staged.mkdir()
        index.freeze().save(staged / INDEX_FILE)
        write_bookings(staged / BOOKINGS_FILE, [booking_row(entry) for entry in entries])
        return staged.rename(self.root / content_id(staged))

    def order(self, snapshot: Path, day: date = DAY, **options: object) -> DayOrder:
        log, out = str(self.root / "visits"), str(self.root / "reports")
        return DayOrder(day, log, snapshot, out, "local[2]", options)

    def eligible(self, day: date = DAY) -> dict[tuple[int, str], int]:
        """Reads what was eligible, without zeros."""
        rows = self.table("by_publisher", day)
        return {
            (row["campaign_id"], row["publisher"]): row["eligible_visits"]
            for row in rows
            if row["eligible_visits"]
        }

    def table(self, name: str, day: date = DAY, job: str = "eligibility") -> list[dict[str, Any]]:
        found = read_table(str(self.root / "reports"), job, name, day)
        assert found is not None, f"{job} of {day} was never committed"
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows


def run_job(spark: SparkSession, order: DayOrder, job: DayJob) -> JobDone:
    (done,) = run_jobs(spark, order, [job])
    assert not done.error, done.error
    return done


def booking_row(entry: Entry) -> BookingRow:
    return BookingRow(
        booking_id=entry.booking_id,
        campaign_id=entry.campaign_id,
        campaign=f"Campaign {entry.campaign_id}",
        advertiser="Solberg Soda",
        publisher=entry.publisher,
        path=(entry.publisher,),
        fee_percent=12.5,
        net_cpm=1.0,
    )

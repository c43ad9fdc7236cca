"""Measures the Spark jobs beside Spark SQL, a row-wise Python function and DuckDB.

    python -m bench spark

One exchange (the demo's), a day of 1,000,000 visits of its log, sorted by publisher as the log is.
Seconds are of the processor, of Spark and all of its Python workers, because the machine may do
other things; an evaluation is one visit held against one booking or campaign.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from bench.demo_exchange import (
    BOOKINGS_100K,
    DEMO,
    SEED,
    ExchangeSize,
    make_market,
    open_exchange,
)
from bench.spark_rivals import DUCKDB, SPARK, NoSqlError, write_sql
from bench.workloads import CACHE
from exchange.demo.graph import build_graph
from exchange.demo.visit_table import make_day
from exchange.demo.visits import open_source
from matcher_ext import VisitTable
from pipelines import eligibility
from pipelines.__main__ import DAY_JOBS
from pipelines.asking import Batches
from pipelines.day_input import DayInput, DayOrder
from pipelines.day_jobs import DayJob, run_jobs
from pipelines.matching import SnapshotSource
from pipelines.session import start_session
from targeting import Expression, ExpressionError, parse
from targeting.visit_log import PUBLISHER

VISITS, SOME_VISITS, FEW_VISITS = 1_000_000, 250_000, 2_000
SQL_VISITS = 100_000
CAMPAIGNS = 150  # that SQL can express
UDF_CAMPAIGNS = 20
TICKS = os.sysconf("SC_CLK_TCK")
ROWS = StructType([StructField("rows", LongType())])
QUARTER = ExchangeSize("a quarter of the demo", DEMO.graph, campaigns=750)


def main() -> None:
    day = datetime.now(UTC).date() - timedelta(days=1)
    logs = {count: write_log(count) for count in (VISITS, SOME_VISITS)}
    order = make_order(logs[VISITS], open_folder(DEMO))
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"# Spark: a day of {VISITS:,} visits of the demo's log, {day}\n")
    print(f"Load average of the machine when it began, over 1, 5 and 15 minutes: {load}.\n")
    with session("local[2]") as spark:
        measured = measure_jobs(spark, order)
        tell_jobs(measured)
        duckdb_rate = tell_rivals(spark, logs[VISITS], measured)
        tell_large(spark, duckdb_rate)
        fewer = make_order(logs[SOME_VISITS], order.snapshot)
        narrower = make_order(logs[SOME_VISITS], open_folder(QUARTER))
        rows = {
            f"{VISITS:,} visits": measured["eligibility"],
            f"{SOME_VISITS:,} visits": time_jobs(spark, fewer),
            f"{SOME_VISITS:,} visits, a quarter of the campaigns": time_jobs(spark, narrower),
        }
    with session("local[1]") as spark:
        rows[f"{SOME_VISITS:,} visits, one core, just started"] = time_jobs(spark, fewer)
    tell_growth(rows)


@dataclass(frozen=True, slots=True)
class Cost:
    """What something took: of the processor, and of the wall."""

    processor: float
    wall: float


def write_log(count: int, size: ExchangeSize = DEMO) -> Path:
    """Writes a day of at least so many visits, sorted by publisher, in two files."""
    day = datetime.now(UTC).date() - timedelta(days=1)
    folder = CACHE / f"visits-{count}-{size.name.replace(' ', '-')}"
    target = folder / f"dt={day}"
    if not target.exists():
        rows = spread(make_day(open_source(SEED, count), day), size).sort_by("publisher.id")
        shutil.rmtree(folder, ignore_errors=True)
        aside = folder / "_aside"
        aside.mkdir(parents=True)
        half = rows.num_rows // 2
        for number, part in enumerate((rows.slice(0, half), rows.slice(half))):
            path = aside / f"part-{number:05}.parquet"
            pq.write_table(part, path, compression="zstd", row_group_size=20_000)
        aside.rename(target)
    return folder


def spread(rows: pa.Table, size: ExchangeSize) -> pa.Table:
    """Spreads the demo's visits over the publishers of a larger exchange."""
    if size == DEMO:
        return rows
    graph = build_graph(SEED, size.graph)
    sellers = [graph.parties[place].seller_id for place in graph.publishers]
    chosen = pa.array(sellers).take(pa.array(np.arange(rows.num_rows) % len(sellers)))
    return rows.set_column(rows.schema.get_field_index(PUBLISHER), PUBLISHER, chosen)


def open_folder(size: ExchangeSize) -> Path:
    directory = open_exchange(size, CACHE)
    manifest = directory.read_manifest()
    assert manifest is not None
    return directory.folder(manifest.snapshot_id)


def make_order(log: Path, snapshot: Path) -> DayOrder:
    day = datetime.now(UTC).date() - timedelta(days=1)
    out = CACHE / "spark-tables"
    shutil.rmtree(out, ignore_errors=True)
    return DayOrder(day, str(log.resolve()), snapshot, str(out.resolve()), "local[2]")


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    started = time.monotonic()
    spark = start_session(name="bench", master=master)
    print(f"Starting {master}: {time.monotonic() - started:.1f} s, not counted.\n", flush=True)
    try:
        yield spark
    finally:
        spark.stop()


def measure(spark: SparkSession, work: Callable[[], Any]) -> Cost:
    root: Any = spark.sparkContext._gateway
    before, own, wall = tree_seconds(root.proc.pid), time.process_time(), time.monotonic()
    work()
    processor = tree_seconds(root.proc.pid) - before + time.process_time() - own
    return Cost(processor, time.monotonic() - wall)


def tree_seconds(root: int) -> float:
    """Sums up a process and all below it, those that ended included."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(path.parent.name)
        children.setdefault(int(fields[1]), []).append(process)
        ticks[process] = sum(map(int, fields[11:15]))
    waiting, total = [root], 0
    while waiting:
        process = waiting.pop()
        total += ticks.get(process, 0)
        waiting += children.get(process, [])
    return total / TICKS


def time_jobs(spark: SparkSession, order: DayOrder, jobs: list[DayJob] | None = None) -> Cost:
    def run() -> None:
        for done in run_jobs(spark, order, jobs or [eligibility.JOB]):
            assert not done.error, done.error

    return measure(spark, run)


def measure_jobs(spark: SparkSession, order: DayOrder) -> dict[str, Cost]:
    """Measures reading alone, one job, and the night; the first run warms Spark up."""
    nightly = [import_module(f"pipelines.{name}").JOB for name in DAY_JOBS]
    warm_up(spark, order)
    return {
        "reading": measure(spark, lambda: read_only(spark, order)),
        "eligibility": time_jobs(spark, order),
        "nightly": time_jobs(spark, order, nightly),
    }


def warm_up(spark: SparkSession, order: DayOrder) -> None:
    time_jobs(spark, replace(order, visits=str(write_log(FEW_VISITS).resolve())))


def read_only(spark: SparkSession, order: DayOrder) -> None:
    """Reads, judges and moves rows to Python, as every job does before it asks."""
    day = DayInput(spark, order)
    day.map_visits(count_rows, ROWS).agg(sf.sum("rows")).collect()
    day.close()


def count_rows(batches: Batches) -> Batches:
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([rows])], ["rows"])


def tell_jobs(measured: Mapping[str, Cost]) -> None:
    print("| | processor, s | wall, s | us a visit | times `eligibility` |\n|---|---|---|---|---|")
    names = {
        "reading": "Spark's own reading, judging and transfer",
        "eligibility": "`eligibility`, whole",
        "nightly": "`nightly`, whole",
    }
    whole = measured["eligibility"].processor
    for name, words in names.items():
        cost = measured[name]
        each = 1e6 * cost.processor / VISITS
        share = cost.processor / whole
        print(f"| {words} | {cost.processor:.1f} | {cost.wall:.1f} | {each:.1f} | {share:.2f} |")
    print(flush=True)


def tell_rivals(spark: SparkSession, log: Path, measured: Mapping[str, Cost]) -> float:
    """Tells how fast others are, and gives back DuckDB's evaluations per second."""
    texts = choose_campaigns()
    rows = read_some(log)
    source = SnapshotSource.of(open_folder(DEMO), is_shipped=False)
    bookings = len(source.open().snapshot)
    whole = measured["eligibility"].processor
    own = whole - measured["reading"].processor
    found = {
        "`eligibility`, end to end": VISITS * bookings / whole,
        "`eligibility` without Spark's reading and transfer": VISITS * bookings / own,
        "DuckDB, `count_if`": rate_duckdb(texts, rows),
        "Spark SQL, `count_if`": rate_spark_sql(spark, texts, rows),
        "row-wise Python function": rate_function(spark, texts, rows),
    }
    tell_rates(found, found["DuckDB, `count_if`"])
    print(
        f"\nOurs: {bookings:,} bookings with their paths, any-path ones included, by country and "
        f"device, with people. The others: {len(texts)} campaigns that SQL can express, without "
        f"their paths, on {SQL_VISITS:,} visits, the Python function {UDF_CAMPAIGNS} on "
        f"{FEW_VISITS:,}; all three counted the same.\n",
        flush=True,
    )
    return found["DuckDB, `count_if`"]


def tell_rates(rates: Mapping[str, float], bar: float) -> None:
    print("| | evaluations per second and core | beside DuckDB |\n|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:,.0f} | {rate / bar:,.4g} |")


def tell_large(spark: SparkSession, bar: float) -> None:
    """Tells the same of an exchange of many publishers; DuckDB's rate does not depend on it."""
    folder = open_folder(BOOKINGS_100K)
    order = make_order(write_log(SOME_VISITS, BOOKINGS_100K), folder)
    reading = measure(spark, lambda: read_only(spark, order))
    whole = time_jobs(spark, order)
    evaluations = SOME_VISITS * len(SnapshotSource.of(folder, is_shipped=False).open().snapshot)
    own = whole.processor - reading.processor
    tell_rates(
        {
            "`eligibility`, end to end": evaluations / whole.processor,
            "without Spark's reading and transfer": evaluations / own,
        },
        bar,
    )
    publishers = len(build_graph(SEED, BOOKINGS_100K.graph).publishers)
    print(f"\n{BOOKINGS_100K.name}, {publishers} publishers, {SOME_VISITS:,} visits.\n", flush=True)


def choose_campaigns() -> dict[str, Expression]:
    """Chooses campaigns that SQL can express, by their texts."""
    market = make_market(build_graph(SEED, DEMO.graph), DEMO, datetime.now(UTC).date())
    chosen: dict[str, Expression] = {}
    for campaign in market.campaigns.values():
        try:
            expression = parse(campaign.expression, market.catalog)
            write_sql(expression, SPARK)
        except (NoSqlError, ExpressionError):
            continue
        chosen.setdefault(expression.text, expression)
        if len(chosen) == CAMPAIGNS:
            break
    return chosen


def read_some(log: Path) -> pa.Table:
    (day,) = log.glob("dt=*")
    return pq.read_table(day, partitioning=None).slice(0, SQL_VISITS)


def count_ours(texts: Mapping[str, Expression], rows: pa.Table) -> list[int]:
    """Counts by a prepared table, to hold the others against."""
    catalog = next(iter(texts.values())).catalog
    table = VisitTable.from_arrow(rows, catalog, users=None)
    return [len(table.rows(table.bitmap(text)[0])) for text in texts]


def rate_duckdb(texts: Mapping[str, Expression], rows: pa.Table) -> float:
    counts = ", ".join(f"count_if({write_sql(each, DUCKDB)})" for each in texts.values())
    with duckdb.connect(config={"threads": 1}) as database:
        database.execute("create table visits as select * from rows")
        started = time.process_time()
        query = f"select {counts} from visits"  # noqa: S608 - our own
        found = database.execute(query).fetchone()
        seconds = time.process_time() - started
    assert list(found or ()) == count_ours(texts, rows)
    return float(rows.num_rows * len(texts) / seconds)


def rate_spark_sql(spark: SparkSession, texts: Mapping[str, Expression], rows: pa.Table) -> float:
    visits = spark.createDataFrame(rows).cache()
    visits.count()
    counts = [sf.expr(f"count_if({write_sql(each, SPARK)})") for each in texts.values()]
    found: list[Any] = []
    cost = measure(spark, lambda: found.extend(visits.agg(*counts).collect()))
    visits.unpersist()
    assert list(found[0]) == count_ours(texts, rows)
    return float(rows.num_rows * len(texts) / cost.processor)


def rate_function(spark: SparkSession, texts: Mapping[str, Expression], rows: pa.Table) -> float:
    """Measures the plain evaluator, row by row."""
    some = dict(list(texts.items())[:UDF_CAMPAIGNS])
    few = rows.slice(0, FEW_VISITS)
    catalog = next(iter(some.values())).catalog
    names = [each.name for each in catalog if each.name in few.schema.names]
    judge = JudgeVisit(list(some), catalog)
    visits = spark.createDataFrame(few.select(names)).cache()
    visits.count()
    cells = sf.struct(*[sf.col(f"`{name}`") for name in names])
    count = sf.sum(sf.udf(judge, LongType())(cells))
    found: list[Any] = []
    cost = measure(spark, lambda: found.extend(visits.agg(count).collect()))
    visits.unpersist()
    assert found[0][0] == sum(count_ours(some, few))
    return float(few.num_rows * len(some) / cost.processor)


class JudgeVisit:
    """Counts the expressions that are true of a visit."""

    def __init__(self, texts: list[str], catalog: Any) -> None:
        self._texts = texts
        self._catalog = catalog
        self._parsed: list[Expression] = []

    def __call__(self, row: Any) -> int:
        self._parsed = self._parsed or [parse(text, self._catalog) for text in self._texts]
        visit = {name: value for name, value in row.asDict().items() if value is not None}
        return sum(each.evaluate(visit) is True for each in self._parsed)


def tell_growth(rows: Mapping[str, Cost]) -> None:
    print("| `eligibility` | processor, s | wall, s |\n|---|---|---|")
    for name, cost in rows.items():
        print(f"| {name} | {cost.processor:.1f} | {cost.wall:.1f} |")


if __name__ == "__main__":
    main()

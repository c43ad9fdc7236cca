"""Measures visits that are prepared once and asked many times, beside `count_batch` and DuckDB:
`bench visits`.

Microseconds of the processor a visit, or milliseconds where a line says so; the best of several
rounds in which all take turns. The demo is the exchange that `make run` loads with a day of its
log; r3k, r100k and r1m are made up (bench/visit_sets.py). Other sets may follow `python -m
bench.visits`; TREELINE_BENCH_FULL=1 adds r1m. A snapshot is bound to a table before anything is
timed; "bind" says what that costs. Answers are compared, not only timed: with those of
`count_batch` before there were tables (visit by visit), and with DuckDB's.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from bench.exchange_graph import SIZES as ROUTED
from bench.rounds import show, timed
from bench.visit_sets import VisitSet, draw_visits, open_routed, open_visit_set
from bench.visit_sql import Database, list_conditions
from matcher_ext import ATree, Snapshot, VisitTable

VISITS = 200_000
SETS = ("r3k", "r100k")
LARGE = "r1m"
LARGE_VISITS = 1_000_000
ROUNDS = 4
BATCH_VISITS = 2_000  # that count_batch is timed on
SQL_CAMPAIGNS = 150
SQL_VISITS = 50_000
IMPACTS = 300
GROWN = "r3k"
# What production code is to reach, of the demo unless it says otherwise.
GOALS = {
    "count": 0.3,
    "funnel": 0.5,
    "sole blockers": 0.5,
    "r100k count": 6.0,
    "r1m count, 5,000 visits a publisher": 8.0,
    "preparation": 3.0,
    "impact p50 ms": 1.0,
    "impact p95 ms": 5.0,
    "bytes a visit": 350.0,
}
Figures = dict[str, float]


def best_of(work: Mapping[str, Callable[[], Any]], rounds: int = ROUNDS) -> Figures:
    """Seconds of each, taking turns."""
    best: Figures = {}
    for _ in range(rounds):
        for name, call in work.items():
            seconds, _ = timed(call)
            best[name] = min(best.get(name, seconds), seconds)
    return best


def prepare(made: VisitSet) -> VisitTable:
    return VisitTable.from_arrow(made.visits, made.catalog, groups=made.groups)


def measure_set(made: VisitSet) -> Figures:
    """Microseconds a visit of what is asked of all bookings."""
    visits = made.visits.num_rows
    preparation = best_of({"": partial(prepare, made)}, 2)[""]
    table = prepare(made)
    bind, counts = timed(partial(table.count, made.snapshot))
    few = made.visits.slice(0, BATCH_VISITS)
    of_few = VisitTable.from_arrow(few, made.catalog).count(made.snapshot)
    if not np.array_equal(of_few, count_as_before(made.snapshot, few)):
        raise SystemExit(f"{made.name}: another count than count_batch")
    best = best_of(
        {
            "count": partial(table.count, made.snapshot),
            "funnel": partial(table.funnel, made.snapshot),
            "sole blockers": partial(table.sole_blockers, made.snapshot),
        }
    )
    before = best_of({"": partial(count_as_before, made.snapshot, few)}, 2)[""]
    stats = table.stats()
    return {
        "visits": float(visits),
        "bookings": float(len(made.snapshot)),
        "eligible a visit": float(counts.sum()) / visits,
        "count_batch of before": 1e6 * before / few.num_rows,
        **{name: 1e6 * seconds / visits for name, seconds in best.items()},
        "times faster than count_batch": before / few.num_rows * visits / best["count"],
        "preparation": 1e6 * preparation / visits,
        "bind ms": 1e3 * (bind - best["count"]),
        "bytes a visit": stats["bytes"] / visits,
    }


def count_as_before(snapshot: Snapshot, visits: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Counts batches that do not say how many rows they have, which makes no table of them."""
    return snapshot.count_batch(visits.to_reader())


def measure_demo(made: VisitSet) -> Figures:
    """Measures what else is asked of the demo."""
    table, snapshot = prepare(made), made.snapshot
    table.count(snapshot)
    best = best_of(
        {
            "by group": partial(table.count, snapshot, groups=True),
            "cheapest way": partial(table.cheapest, snapshot),
            "users": partial(table.users, snapshot),
            "overlap": partial(table.overlap, snapshot),
        },
        2,
    )
    visits = made.visits.num_rows
    return {
        "groups": float(len(table.groups)),
        "by group, us a visit": 1e6 * best["by group"] / visits,
        "cheapest way, us a visit": 1e6 * best["cheapest way"] / visits,
        "users of all, ms": 1e3 * best["users"],
        "overlap of all, ms": 1e3 * best["overlap"],
        **measure_impact(made, table),
        **measure_bookings(snapshot, table),
    }


def spread(times: list[float]) -> Figures:
    return {
        "p50 ms": 1e3 * statistics.median(times),
        "p95 ms": 1e3 * statistics.quantiles(times, n=20)[-1],
        "max ms": 1e3 * max(times),
    }


def measure_impact(made: VisitSet, table: VisitTable) -> Figures:
    """Measures one campaign as its editor asks for it: its text is parsed, its path is followed."""
    names = {name: f"audience.{number}" for number, name in enumerate(made.definitions, 1)}
    paths = list_paths(made)
    asked = []
    for number, text in enumerate(made.campaigns[:IMPACTS]):
        for name, known in names.items():
            text = text.replace(f"@{name}", f"@{known}")
        asked.append((text, [paths[number % len(paths)]]))
    times = []
    for text, bookings in asked:
        call = partial(table.impact, text, bookings=bookings, index=made.snapshot)
        times.append(min(timed(call)[0] for _ in range(2)))
    return {f"impact {name}": figure for name, figure in spread(times).items()}


def list_paths(made: VisitSet) -> list[str]:
    """Lists publishers and paths of bookings, from the funnel's names of steps."""
    table = VisitTable.from_arrow(made.visits.slice(0, 1), made.catalog)
    ids = made.snapshot.ids[:: max(1, len(made.snapshot) // 50)].tolist()
    publishers = made.visits["publisher.id"].slice(0, 1_000).unique().to_pylist()
    found = []
    for number, funnel in enumerate(table.funnel(made.snapshot, ids).values()):
        edges = " and ".join(f"@{step.name}" for step in funnel.steps[:-1])
        if edges:
            publisher = publishers[number % len(publishers)]
            found.append(f"publisher.id = '{publisher}' and {edges}")
    return found


def measure_bookings(snapshot: Snapshot, table: VisitTable) -> Figures:
    """Measures funnel and sole blockers of one booking."""

    def ask(booking: int) -> None:
        table.funnel(snapshot, [booking])
        table.sole_blockers(snapshot, [booking])

    ids = snapshot.ids[:: max(1, len(snapshot) // IMPACTS)].tolist()
    times = [min(timed(partial(ask, booking))[0] for _ in range(2)) for booking in ids]
    return {f"why not of one booking {name}": figure for name, figure in spread(times).items()}


def measure_sql(made: VisitSet) -> Figures:
    """Measures campaigns alone, without publisher and path, in one scan of DuckDB and in one
    call."""
    visits = made.visits.slice(0, SQL_VISITS)
    told = list_conditions(made.campaigns, made.definitions, made.catalog, SQL_CAMPAIGNS)
    index = ATree(made.catalog)
    for name, text in made.definitions.items():
        index.define(name, text)
    index.insert_many(told, [made.campaigns[number] for number in told])
    snapshot = index.freeze()
    table = VisitTable.from_arrow(visits, made.catalog)
    database = Database(visits, made.catalog)
    conditions = [told[number] for number in snapshot.ids.tolist()]
    if table.count(snapshot).tolist() != database.count(conditions):
        raise SystemExit("another count than DuckDB's")
    best = best_of(
        {"ours": partial(table.count, snapshot), "duckdb": partial(database.count, conditions)}, 3
    )
    evaluations = len(told) * visits.num_rows
    return {
        "campaigns that SQL can express": float(len(told)),
        "visits": float(visits.num_rows),
        "DuckDB, million evaluations a second": evaluations / best["duckdb"] / 1e6,
        "ours, million evaluations a second": evaluations / best["ours"] / 1e6,
        "times faster": best["duckdb"] / best["ours"],
    }


# Growth.


def time_count(snapshot: Snapshot, visits: pa.Table, made: VisitSet) -> Figures:
    table = VisitTable.from_arrow(visits, made.catalog)
    table.count(snapshot)
    seconds = best_of({"": partial(table.count, snapshot)})[""]
    return {"us a visit": 1e6 * seconds / visits.num_rows, "ms in all": 1e3 * seconds}


def measure_growth(name: str) -> dict[str, dict[str, Figures]]:
    made = open_routed(name, VISITS)
    size = ROUTED[name]
    bookings = [len(made.snapshot) // part for part in (9, 3, 1)]
    return {
        "visits": {
            f"{count:,}": time_count(made.snapshot, made.visits.slice(0, count), made)
            for count in (VISITS // 20, VISITS // 4, VISITS)
        },
        "bookings": {
            f"{count:,}": time_count(
                open_routed(name, 0, bookings=count).snapshot, made.visits, made
            )
            for count in bookings
        },
        "publishers, of whom 12 have bookings": {
            f"{count:,}": time_count(made.snapshot, draw_visits(size, VISITS, count), made)
            for count in (size.publishers, 10 * size.publishers, 100 * size.publishers)
        },
        "threads": {str(count): measure_threads(made, count) for count in (1, 2)},
    }


def measure_threads(made: VisitSet, count: int) -> Figures:
    """Calls a second by the clock, of so many threads that ask one table."""
    table = prepare(made)
    table.count(made.snapshot)
    best = 0.0
    calls = 8
    with ThreadPoolExecutor(count) as threads:
        for _ in range(ROUNDS):
            started = time.perf_counter()
            list(threads.map(lambda _: table.count(made.snapshot), range(calls)))
            best = max(best, calls / (time.perf_counter() - started))
    return {"calls a second": best}


# The report.


def list_goals(found: Mapping[str, Figures], demo: Figures, sql: Figures) -> dict[str, Figures]:
    figures = found["demo"] | demo
    figures |= {f"{name} count": of["count"] for name, of in found.items()}
    if LARGE in found:
        figures["r1m count, 5,000 visits a publisher"] = found[LARGE]["count"]
    goals = {
        name: {"goal": goal, "measured": figures[name], "times the goal": figures[name] / goal}
        for name, goal in GOALS.items()
        if name in figures
    }
    faster = sql["times faster"]
    goals["times faster than DuckDB"] = {
        "goal": 500.0,
        "measured": faster,
        "times the goal": faster / 500.0,
    }
    return goals


def turn(rows: Mapping[str, Figures]) -> dict[str, Figures]:
    """Makes columns of lines."""
    figures = next(iter(rows.values()))
    return {figure: {name: row[figure] for name, row in rows.items()} for figure in figures}


def main(names: Iterable[str]) -> int:
    large = (LARGE,) if os.environ.get("TREELINE_BENCH_FULL") else ()
    print("Microseconds of the processor a visit, unless a line says otherwise. Other programs ran")
    print(f"beside it; the load average was {os.getloadavg()[0]:.1f} as it began.\n")
    found: dict[str, Figures] = {}
    demo = open_visit_set("demo", VISITS)
    found["demo"] = measure_set(demo)
    others = list(names) or [*SETS, *large]
    for name in others:
        visits = LARGE_VISITS if name == LARGE else VISITS
        found[name] = measure_set(open_visit_set(name, visits))
        print(f"measured {name}", file=sys.stderr)
    show(found)
    of_demo = measure_demo(demo)
    print("\nWhat else is asked of the demo:\n")
    show({"demo": of_demo})
    sql = measure_sql(demo)
    print("\nBeside DuckDB, one thread, each campaign's own expression over the demo's visits:\n")
    show({"demo": sql})
    print(f"\nHow a count grows ({GROWN}, {VISITS:,} visits):\n")
    for title, rows in measure_growth(GROWN).items():
        print(f"{title}\n")
        show(rows)
        print()
    print(f"Goals (the load average is {os.getloadavg()[0]:.1f} now):\n")
    show(turn(list_goals(found, of_demo, sql)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The index beside a compiled scan of the same expressions, in one run: `python -m bench matcher`.

Names of workloads may follow (s10k, ads10k, .., b100k for 100,000 bookings); by default the small
ones, and all of them with TREELINE_BENCH_FULL=1. Times are of the processor, so that other work on
the machine counts less; compare by the ratios all the same. Every match is a Python call with a
dict visit; the cost of that call alone is in a column of its own.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.bookings import make_bookings
from bench.workloads import open_workload
from matcher_ext import ATree, Snapshot
from matcher_ext.language import normalise_many
from matcher_ext.scan import Scan
from targeting import Catalog

SMALL = ("s10k", "ads10k", "s100k", "ads100k", "b100k")
FULL = (*SMALL, "s1m", "ads1m", "b1m")
BOOKINGS = {"b3k": 3_000, "b100k": 100_000, "b1m": 1_000_000}
SCANNED_SECONDS = 4.0
BATCH_ROWS = 4096
SETTLING_SECONDS = 0.2  # before that, a file may change unseen and is checked at every open


@dataclass(frozen=True, slots=True)
class Set:
    """One workload in memory."""

    name: str
    catalog: Catalog
    definitions: dict[str, str]
    texts: list[str]
    visits: list[dict[str, Any]]
    training_visits: list[dict[str, Any]]


def open_set(name: str) -> Set:
    if name in BOOKINGS:
        made = make_bookings(BOOKINGS[name], publishers=12 if name == "b3k" else 200)
        return Set(
            name, made.catalog, made.definitions, made.entries, made.visits, made.training_visits
        )
    workload = open_workload(name)
    catalog = Catalog.of(**dict.fromkeys(workload.attribute_names, "integer"))
    return Set(
        name,
        catalog,
        {},
        workload.expressions(),
        list(workload.visits()[:500]),
        list(workload.training_visits()[:300]),
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time of this thread, and the answer."""
    started = time.thread_time()
    answer = work()
    return time.thread_time() - started, answer


def microseconds(
    work: Callable[[Any], Any], arguments: Sequence[Any], limit_seconds: float = 60.0
) -> list[float]:
    """The best of three runs for each argument, as far as the time allows."""
    found = []
    deadline = time.monotonic() + limit_seconds
    for argument in arguments:
        found.append(1e6 * min(timed(partial(work, argument))[0] for _ in range(3)))
        if time.monotonic() > deadline and len(found) >= 5:
            break
    return found


def per_call(work: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> float:
    """Microseconds of one of several calls."""

    def call_all() -> None:
        for arguments in calls:
            work(*arguments)

    return 1e6 * timed(call_all)[0] / len(calls)


def build(workload: Set) -> tuple[ATree, dict[str, float]]:
    index = ATree(workload.catalog)
    parse_seconds, _ = timed(lambda: normalise_many(workload.catalog.compiled, workload.texts))
    for name, text in workload.definitions.items():
        index.define(name, text)
    insert_seconds, _ = timed(lambda: index.insert_many(range(len(workload.texts)), workload.texts))
    learn_seconds, _ = timed(lambda: index.learn_truth_rates(workload.training_visits))
    freeze_seconds, _ = timed(index.freeze)
    return index, {
        "parse s": parse_seconds,
        "insert s": insert_seconds,
        "learn s": learn_seconds,
        "freeze s": freeze_seconds,
        "build / parse": (insert_seconds + freeze_seconds) / parse_seconds,
    }


def measure_file(snapshot: Snapshot, visit: dict[str, Any]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.atree"
        snapshot.save(path)
        time.sleep(SETTLING_SECONDS)
        checked, _ = timed(lambda: Snapshot.open(path))
        seconds, opened = timed(lambda: open_and_match(path, visit))
        thawing, _ = timed(lambda: opened.to_graphviz(0))
        return {
            "file MB": path.stat().st_size / 1e6,
            "check ms": 1e3 * checked,
            "open + first ms": 1e3 * seconds,
            "graph ms": 1e3 * thawing,
        }


def open_and_match(path: Path, visit: dict[str, Any]) -> Snapshot:
    """As a server does with a file that this machine checked before."""
    snapshot = Snapshot.open(path)
    snapshot.match_ids(visit)
    return snapshot


def measure_matches(workload: Set, snapshot: Snapshot) -> dict[str, float]:
    ours = microseconds(snapshot.match_ids, workload.visits)
    scan = microseconds(Scan(snapshot).match_ids, workload.visits, SCANNED_SECONDS)
    call = microseconds(ATree(workload.catalog).freeze().match_ids, workload.visits[:100])
    return {
        "matches": statistics.mean(len(snapshot.match_ids(v)) for v in workload.visits[:100]),
        "match us": statistics.median(ours),
        "p99 us": statistics.quantiles(ours, n=100)[-1],
        "call us": statistics.median(call),
        "scan us": statistics.median(scan),
        "times faster": statistics.median(scan) / statistics.median(ours),
    }


def measure_batch(workload: Set, snapshot: Snapshot, scan_us: float) -> dict[str, float]:
    rows = [workload.visits[i % len(workload.visits)] for i in range(BATCH_ROWS)]
    names = sorted({name for row in rows for name in row})
    batch = pa.RecordBatch.from_pydict({name: [row.get(name) for row in rows] for name in names})
    snapshot.count_batch(batch.slice(0, 0))  # makes the graph, which has a row of its own
    count_seconds, _ = timed(lambda: snapshot.count_batch(batch))
    pairs_seconds, _ = timed(lambda: snapshot.match_batch(batch.slice(0, 512)))
    count_us = 1e6 * count_seconds / BATCH_ROWS
    return {
        "count us": count_us,
        "count, times faster": scan_us / count_us,
        "pairs us": 1e6 * pairs_seconds / 512,
    }


def measure_changes(workload: Set, index: ATree) -> dict[str, float]:
    texts = workload.texts[:500]
    numbers = range(-500, -500 + len(texts))
    index.define("bench", "true")
    return {
        "insert us": per_call(index.insert, list(zip(numbers, texts, strict=True))),
        "redefine us": per_call(index.define, [("bench", text) for text in texts[:100]]),
        "delete us": per_call(index.delete, [(number,) for number in numbers]),
    }


def measure(name: str) -> dict[str, float]:
    workload = open_set(name)
    index, row = build(workload)
    snapshot = index.freeze()
    row |= measure_file(snapshot, workload.visits[0])
    row |= measure_matches(workload, snapshot)
    row |= measure_batch(workload, snapshot, row["scan us"])
    return row | measure_changes(workload, index)


def show(rows: dict[str, dict[str, float]]) -> None:
    """One line per figure, one column per workload."""
    print("| | " + " | ".join(rows) + " |")
    print("|---|" + "---|" * len(rows))
    for figure in next(iter(rows.values())):
        cells = [
            f"{row[figure]:,.3g}" if row[figure] < 100 else f"{row[figure]:,.0f}"
            for row in rows.values()
        ]
        print(f"| {figure} | " + " | ".join(cells) + " |")


def main(names: Iterable[str]) -> int:
    chosen = list(names) or list(FULL if os.environ.get("TREELINE_BENCH_FULL") else SMALL)
    rows = {}
    for name in chosen:
        rows[name] = measure(name)
        print(f"measured {name}", file=sys.stderr)
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measures the index beside a compiled scan of the same expressions: `python -m bench matcher`.

Names of workloads may follow `python -m bench.matcher` (s10k, ads10k, .., b100k for 100,000
bookings); by default the small ones, and all of them with TREELINE_BENCH_FULL=1. Times are of the
processor, the best of several rounds in which all take turns; compare the ratios all the same.
Every match is a Python call with a dict visit; lines of their own say what the call and reading the
dict cost. A visit is matched three times in a row, of which the best counts, and then "in turn":
once in each round, after 499 others, when the caches hold little of what it reads. Batches are of
4,096 different visits; their figures are per visit, once the index has found out how it counts
best.
"""

from __future__ import annotations

import ctypes
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.rounds import Contestant, per_call, show, time_in_rounds, time_in_turn, timed
from bench.sets import Set, open_set
from matcher_ext import ATree, Snapshot
from matcher_ext.engines import Scan
from matcher_ext.language import normalise_many

SMALL = ("s10k", "ads10k", "s100k", "ads100k", "b100k")
FULL = (*SMALL, "s1m", "ads1m", "b1m")
DATA = """\
s.. and ads..: made-up expressions after the paper, visits of about 20 attributes. b..: bookings of
the demo's generator, a third pinned, a third on the cheapest path, a third on any, beside whole
visits of its log (46 attributes, names that the catalogue does not know, malformed values) at all
publishers. 500 different visits each. "match": the best of three calls in a row in each of four
rounds, so that what a visit reads is in the caches; "in turn": once in each of eight rounds, after
499 others. The scan walks no graph: bookings on any path are never true for it, so what it takes
for b.. is too little.
"""
SCANNED_VISITS = 60
PAIRED_ROWS = 512
SETTLING_BATCHES = 12  # by then a large index has made its circuit, if that pays (counting.pxd)
SETTLING_SECONDS = 0.2  # a younger file may change unseen, so every open checks it


def measure_memory() -> float:
    """Measures the MB that this process holds, without what it has freed."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def build(workload: Set) -> tuple[ATree, Snapshot, dict[str, float]]:
    parse_seconds, _ = timed(lambda: normalise_many(workload.catalog.compiled, workload.texts))
    before = measure_memory()
    index = workload.open_index()
    insert_seconds, _ = timed(lambda: index.insert_many(range(len(workload.texts)), workload.texts))
    learn_seconds, _ = timed(lambda: index.learn_truth_rates(workload.training_visits))
    grown = measure_memory()
    freeze_seconds, snapshot = timed(index.freeze)
    return (
        index,
        snapshot,
        {
            "expressions": len(workload.texts),
            "parse s": parse_seconds,
            "insert s": insert_seconds,
            "learn rates s": learn_seconds,
            "freeze s": freeze_seconds,
            "**build, times the parse**": (insert_seconds + freeze_seconds) / parse_seconds,
            "memory of the dynamic index, MB": grown - before,
        },
    )


def open_and_match(path: Path, visit: dict[str, Any]) -> Snapshot:
    """Opens and matches as a server does with a file that this machine checked before."""
    snapshot = Snapshot.open(path)
    snapshot.match_ids(visit)
    return snapshot


def measure_file(snapshot: Snapshot, visit: dict[str, Any]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.atree"
        snapshot.save(path)
        time.sleep(SETTLING_SECONDS)
        checked, _ = timed(lambda: Snapshot.open(path))
        seconds, _ = timed(lambda: open_and_match(path, visit))
        return {
            "**file, MB**": path.stat().st_size / 1e6,
            "check once per machine, ms": 1e3 * checked,
            "**map + first match, ms**": 1e3 * seconds,
        }


def make_batch(workload: Set) -> pa.RecordBatch:
    rows = workload.batch_visits
    names = sorted({name for row in rows for name in row})
    return pa.RecordBatch.from_pydict({name: [row.get(name) for row in rows] for name in names})


def name_contestants(
    workload: Set, snapshot: Snapshot, batch: pa.RecordBatch
) -> dict[str, Contestant]:
    empty = ATree(workload.catalog).freeze()
    return {
        "match": (snapshot.match_ids, workload.visits),
        "scan": (Scan(snapshot).match_ids, workload.visits[:SCANNED_VISITS]),
        "count": (snapshot.count_batch, [batch]),
        "pairs": (snapshot.match_batch, [batch.slice(0, PAIRED_ROWS)]),
        "dict": (empty.match_ids, workload.visits[:100]),
        "call": (empty.match_ids, [{}] * 100),
    }


def measure_matches(workload: Set, snapshot: Snapshot) -> dict[str, float]:
    batch = make_batch(workload)
    before = measure_memory()
    first_seconds, _ = timed(lambda: snapshot.count_batch(batch))
    for _ in range(SETTLING_BATCHES):
        snapshot.count_batch(batch)
    counting = measure_memory() - before
    times = time_in_rounds(name_contestants(workload, snapshot, batch))
    scan, match = statistics.median(times["scan"]), statistics.median(times["match"])
    in_turn = time_in_turn(snapshot.match_ids, workload.visits)
    call = statistics.median(times["call"])
    count = times["count"][0] / batch.num_rows
    pairs = times["pairs"][0] / PAIRED_ROWS
    return {
        "matches a visit": statistics.mean(
            len(snapshot.match_ids(visit)) for visit in workload.visits[:100]
        ),
        "scan, us": scan,
        "match, median us": match,
        "match, p99 us": statistics.quantiles(times["match"], n=100)[-1],
        "of which the Python call, us": call,
        "of which reading the dict, us": statistics.median(times["dict"]) - call,
        "**match, times faster than the scan**": scan / match,
        "match in turn, median us": in_turn,
        "match in turn, times faster than the scan": scan / in_turn,
        "batch counts, us": count,
        "**batch counts, times faster than the scan**": scan / count,
        "batch pairs, us": pairs,
        "batch pairs, times faster than the scan": scan / pairs,
        "first batch counted, s": first_seconds,
        "memory of counting, MB": counting,
    }


def measure_changes(workload: Set, index: ATree) -> dict[str, float]:
    texts = workload.texts[:500]
    numbers = range(-500, -500 + len(texts))
    definable = [text for text in texts if "@reach." not in text]
    index.define("bench", "true")
    return {
        "insert, us": per_call(index.insert, list(zip(numbers, texts, strict=True))),
        "redefine, us": per_call(index.define, [("bench", text) for text in definable[:100]]),
        "delete, us": per_call(index.delete, [(number,) for number in numbers]),
    }


def measure(name: str) -> dict[str, float]:
    workload = open_set(name)
    index, snapshot, row = build(workload)
    row |= measure_file(snapshot, workload.visits[0])
    row |= measure_matches(workload, snapshot)
    return row | measure_changes(workload, index)


def main(names: Iterable[str]) -> int:
    chosen = list(names) or list(FULL if os.environ.get("TREELINE_BENCH_FULL") else SMALL)
    rows = {}
    for name in chosen:
        rows[name] = measure(name)
        print(f"measured {name}", file=sys.stderr)
    print(DATA)
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

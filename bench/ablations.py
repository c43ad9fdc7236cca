"""Measures the A-Tree paper's ideas, each switched off in turn: `python -m bench ablations`.

It takes the paper's tree apart as figures 8 to 10 do (sharing and multitree, reorganisation and
self-adjustment, zero suppression and propagation on demand), beside the index that the platform
uses and a compiled scan. Names of workloads may follow `python -m bench.ablations`.

PaperTree has no predicate index, unlike the paper's: it tests each of its predicates on attributes
that the visit carries. So compare the options, not the tree with the index; without sharing, the
same predicate is tested once for each expression that has it.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from bench.rounds import REPEATED, Contestant, time_in_rounds, timed
from bench.sets import Set, open_set
from matcher_ext import ATree, Snapshot
from matcher_ext.engines import PaperTree, Scan

WORKLOADS = ("s10k", "ads10k")
MEASURED_VISITS = 100
SCAN, INDEX = "compiled scan", "the platform's index"
OPTIONS: dict[str, dict[str, bool]] = {
    "the paper's tree": {},
    "no sharing (figure 8)": {"sharing": False},
    "binary (figure 8)": {"binary": True},
    "reorganisation (figure 9)": {"reorganise": True},
    "and self-adjustment (figure 9)": {"reorganise": True, "self_adjust": True},
    "no zero suppression (figure 10)": {"zero_suppression": False},
    "no propagation on demand (figure 10)": {"on_demand": False},
    "neither (figure 10)": {"zero_suppression": False, "on_demand": False},
}
HEADINGS = (
    "workload",
    "option",
    "build s",
    "nodes",
    "edges",
    "match us",
    "empty visit us",
    "times faster",
)

Sizes = tuple[float, Mapping[str, int]]  # seconds of the build, and its stats
Match = Callable[[Mapping[str, Any]], Any]


def grow_tree(workload: Set, switches: Mapping[str, bool]) -> PaperTree:
    tree = PaperTree(workload.catalog, **switches)
    for number, text in enumerate(workload.texts):
        tree.insert(number, text)
    return tree


def freeze_index(workload: Set) -> Snapshot:
    index = ATree(workload.catalog)
    index.insert_many(range(len(workload.texts)), workload.texts)
    index.learn_truth_rates(workload.training_visits)
    return index.freeze()


def show_row(name: str, option: str, sizes: Sizes, costs: Mapping[tuple[str, bool], float]) -> None:
    seconds, stats = sizes
    match, empty = costs[option, False], costs[option, True]
    cells = f"{seconds:.2f} | {stats['nodes']:,} | {stats['edges']:,} | {match:,.1f} | {empty:,.1f}"
    print(f"| {name} | {option} | {cells} | {costs[SCAN, False] / match:,.2f} |", flush=True)


def check_answers(workload: Set, snapshot: Snapshot, tree: PaperTree, option: str) -> None:
    for visit in workload.visits[:20]:
        if tree.match(visit) != snapshot.match(visit):
            raise SystemExit(f"{workload.name}, {option}: another answer than the index's")


def measure(name: str) -> None:
    workload = open_set(name)
    built, snapshot = timed(lambda: freeze_index(workload))
    sizes: dict[str, Sizes] = dict.fromkeys((SCAN, INDEX), (built, snapshot.stats()))
    matches: dict[str, Match] = {SCAN: Scan(snapshot).match_ids, INDEX: snapshot.match_ids}
    for option, switches in OPTIONS.items():
        seconds, tree = timed(partial(grow_tree, workload, switches))
        check_answers(workload, snapshot, tree, option)
        sizes[option] = (seconds, tree.stats())
        matches[option] = tree.match
    costs = time_matches(matches, workload.visits[:MEASURED_VISITS])
    for option in matches:
        show_row(name, option, sizes[option], costs)


def time_matches(
    matches: Mapping[str, Match], visits: list[dict[str, Any]]
) -> dict[tuple[str, bool], float]:
    """Measures the median microseconds of a match, by option and by whether the visit is empty."""
    contestants: dict[tuple[str, bool], Contestant] = {
        (option, is_empty): (match, [{}] * 5 if is_empty else visits)
        for option, match in matches.items()
        for is_empty in (False, True)
    }
    return {key: statistics.median(us) for key, us in time_in_rounds(contestants).items()}


def main(names: Iterable[str]) -> int:
    print(f"Made-up expressions, no bookings; {MEASURED_VISITS} different visits of about 20")
    print(f"attributes. {REPEATED}\n")
    print("| " + " | ".join(HEADINGS) + " |")
    print("|" + "---|" * len(HEADINGS))
    for name in list(names) or WORKLOADS:
        measure(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

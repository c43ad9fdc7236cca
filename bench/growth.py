"""Measures how a match's cost grows, as a table and as a plot: `python -m bench growth`.

It grows with the number of expressions, the attributes of a visit and the depth of expressions, for
the index and for a compiled scan, in microseconds of the processor for each visit. Other numbers of
expressions may follow `python -m bench.growth`; TREELINE_BENCH_FULL=1 adds the paper's largest. The
scan repeats what expressions share, which explains part of the gap as they grow deeper.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from bench.rounds import REPEATED, Contestant, show, time_in_rounds, timed
from bench.workloads import ADS, CACHE, SYNTHETIC, Parameters, open_parameters
from matcher_ext import ATree, Snapshot
from matcher_ext.engines import Scan
from targeting import Catalog

PICTURE = Path(__file__).resolve().parent / "results" / "growth.png"
SIZES = (10_000, 30_000, 100_000, 300_000)
VISIT_SIZES = (5, 10, 20, 50, 100)
DEPTHS = range(1, 9)
SCANNED_VISITS = 40
MOST_AT_ONCE = 30_000  # expressions, where their number is not what grows
PROFILES = {"synthetic": SYNTHETIC, "ads": ADS}
COLOURS = {"synthetic": "#0072b2", "ads": "#d55e00"}


Point = tuple[str, int]  # a profile, and the number that grows
Rows = dict[Point, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Built:
    """The index of one workload."""

    snapshot: Snapshot
    visits: list[dict[str, int]]
    seconds: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """Workloads that differ in one number, which grows."""

    title: str
    points: dict[Point, Parameters]
    is_logarithmic: bool = True


def plan_sweeps(sizes: Iterable[int]) -> list[Sweep]:
    sizes = sorted(sizes)
    few = {
        name: replace(profile, expressions=min(MOST_AT_ONCE, sizes[-1]))
        for name, profile in PROFILES.items()
    }
    # Two children: with four, one expression of eight levels would have 16,384 predicates.
    narrow = replace(few["synthetic"], children=2)
    return [
        Sweep(
            "expressions",
            {(p, n): replace(PROFILES[p], expressions=n) for p in PROFILES for n in sizes},
        ),
        Sweep(
            "attributes of a visit",
            {
                (p, n): replace(few[p], attributes_per_visit=n)
                for p in PROFILES
                for n in VISIT_SIZES
            },
        ),
        Sweep(
            "levels of an expression",
            {("synthetic", n): replace(narrow, depth=n) for n in DEPTHS},
            is_logarithmic=False,
        ),
    ]


def build(parameters: Parameters, name: str) -> Built:
    workload = open_parameters(replace(parameters, visits=300), CACHE / name)
    catalog = Catalog.of(**dict.fromkeys(workload.attribute_names, "integer"))
    index = ATree(catalog)
    texts = workload.expressions()
    insert_seconds, _ = timed(lambda: index.insert_many(range(len(texts)), texts))
    index.learn_truth_rates(workload.training_visits())
    freeze_seconds, snapshot = timed(index.freeze)
    return Built(snapshot, workload.visits(), insert_seconds + freeze_seconds)


def describe(built: Built, ours: list[float], scan: list[float]) -> dict[str, float]:
    return {
        "matches": statistics.mean(len(built.snapshot.match_ids(visit)) for visit in built.visits),
        "match us": statistics.median(ours),
        "p99 us": statistics.quantiles(ours, n=100)[-1],
        "scan us": statistics.median(scan),
        "times faster": statistics.median(scan) / statistics.median(ours),
        "build s": built.seconds,
        "MB": built.snapshot.stats()["bytes"] / 1e6,
    }


def measure_sweep(sweep: Sweep) -> Rows:
    built = {}
    contestants: dict[tuple[Point, str], Contestant] = {}
    for point, parameters in sweep.points.items():
        one = built[point] = build(parameters, f"growth-{point[0]}")
        contestants[point, "index"] = (one.snapshot.match_ids, one.visits)
        contestants[point, "scan"] = (Scan(one.snapshot).match_ids, one.visits[:SCANNED_VISITS])
    times = time_in_rounds(contestants)
    print(f"measured growth by {sweep.title}", file=sys.stderr)
    return {
        point: describe(one, times[point, "index"], times[point, "scan"])
        for point, one in built.items()
    }


def draw_sweep(axes: Axes, sweep: Sweep, rows: Rows) -> None:
    for profile in dict.fromkeys(profile for profile, _ in rows):
        numbers = [number for name, number in rows if name == profile]
        for figure, style, label in (("match us", "o-", "index"), ("scan us", "s--", "scan")):
            costs = [rows[profile, number][figure] for number in numbers]
            axes.plot(numbers, costs, style, color=COLOURS[profile], label=f"{profile}, {label}")
    if sweep.is_logarithmic:
        axes.set_xscale("log")
    numbers = sorted({number for _, number in rows})
    axes.set_xticks(numbers, [name_number(number) for number in numbers])
    axes.minorticks_off()
    axes.set_yscale("log")
    axes.set_xlabel(sweep.title)
    axes.grid(visible=True, color="#dddddd")


def name_number(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1e6:.3g} M"
    return f"{number / 1e3:.3g} k" if number >= 1000 else str(number)


def draw(sweeps: list[Sweep], found: list[Rows]) -> None:
    figure, panels = plt.subplots(1, len(sweeps), figsize=(15, 5), sharey=True)
    for axes, sweep, rows in zip(panels, sweeps, found, strict=True):
        draw_sweep(axes, sweep, rows)
    panels[0].set_ylabel("microseconds for each visit (median)")
    panels[0].legend(frameon=False, loc="upper left")
    few = next(iter(sweeps[-1].points.values())).expressions
    fixed = ("20 attributes a visit", f"{few:,} expressions", f"{few:,} narrow expressions")
    for axes, title in zip(panels, fixed, strict=True):
        axes.set_title(title, fontsize=10)
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


def main(numbers: Iterable[str]) -> int:
    full = (ADS.expressions,) if os.environ.get("TREELINE_BENCH_FULL") else ()
    sweeps = plan_sweeps([int(number) for number in numbers] or [*SIZES, *full])
    found = [measure_sweep(sweep) for sweep in sweeps]
    print("Made-up expressions, no bookings; 300 different visits, of about 20 attributes where")
    print(f"their number is not what grows. {REPEATED}\n")
    for sweep, rows in zip(sweeps, found, strict=True):
        print(f"By {sweep.title}:\n")
        show({f"{profile} {name_number(n)}": row for (profile, n), row in rows.items()})
        print()
    draw(sweeps, found)
    print(f"![How cost grows]({PICTURE.name})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

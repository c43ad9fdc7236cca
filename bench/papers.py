"""Runs the papers' studies on every published matcher: `python -m bench papers`.

Each cell (an engine on a workload) runs in a process of its own with a cap on memory and processor
time, so that "out of memory" is a result. What was measured is kept in the cache folder: a run that
was interrupted goes on where it stopped. Progress goes to stderr, the Markdown to stdout, plots to
the folder of results.

`python -m bench.papers --quick` runs every study at a size that takes a minute and draws nothing;
`--scale 100` is nearer to the papers' sizes; `--only dexin` takes studies whose key has it;
`--report` shows what is measured already.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.paper_figures import list_studies
from bench.paper_report import write_report
from bench.paper_sharing import describe_sharing
from bench.paper_studies import Spec, Study
from bench.paper_workloads import MAKERS, Made
from bench.rounds import timed
from bench.workloads import CACHE
from matcher_ext.engines import ENGINES, EngineLimitError
from targeting import Catalog

Result = dict[str, Any]
CHECKOUT = Path(__file__).resolve().parents[1]
PROGRAM = ("-m", "bench.papers", "--cell")
ROOM_BYTES = 2 << 30
CELL_SECONDS = 120  # of the processor
MATCH_SECONDS = 1.0
QUICK_SCALE = 0.01
QUICK_SECONDS = 0.02


# One cell.


def measure_cell(engine: str, options: Mapping[str, Any], spec: Spec, seconds: float) -> Result:
    """Builds the engine, matches the visits, and says what both cost."""
    numbers = {key: value for key, value in spec.items() if key != "make"}
    made = MAKERS[spec["make"]](**numbers)
    index = ENGINES[engine](Catalog.of(**made.types), **options)
    insert_seconds, refused = timed(lambda: fill(index, made))
    if hasattr(index, "learn_truth_rates"):
        index.learn_truth_rates(made.training)
    prepare_seconds, _ = timed(index.prepare)
    before = index.stats()
    micros, matches = match_all(index, made, seconds)
    after = index.stats()
    visits = max(1, after["visits"] - before["visits"])
    work = {key: (after[key] - before[key]) / visits for key in before if key in WORK}
    return {
        "match us": statistics.median(micros),
        "deviation us": statistics.pstdev(micros),
        "matches": matches,
        "build s": insert_seconds + prepare_seconds,
        "MB": after["bytes"] / 1e6,
        "process MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "refused": refused / len(made.texts),
        "nodes": after["nodes"],
        "evaluations": work["tested"],
        "tests": work["tested"],
        "nodes visited": work["visited"],
        "planned cost": work.get("planned_cost_millionths", 0.0) / 1e6,
        **{
            f"{name} us": work.get(f"{name}_ns", 0.0) / 1e3
            for name in ("index", "sort", "evaluate", "planning")
        },
    }


WORK = {
    "tested",
    "visited",
    "index_ns",
    "sort_ns",
    "evaluate_ns",
    "planning_ns",
    "planned_cost_millionths",
}


def fill(index: Any, made: Made) -> int:
    """Inserts what the engine takes; returns how many expressions were beyond its limits."""
    refused = 0
    for number, text in enumerate(made.texts):
        try:
            index.insert(number, text)
        except EngineLimitError:
            refused += 1
    return refused


def match_all(index: Any, made: Made, seconds: float) -> tuple[list[float], float]:
    """Measures processor microseconds for each visit, the best of two, and the average matches."""
    micros: list[float] = []
    matches = []
    deadline = time.thread_time() + seconds
    for visit in made.visits:
        took, matched = timed(partial(index.match, visit))
        again, _ = timed(partial(index.match, visit))
        micros.append(1e6 * min(took, again))
        matches.append(len(matched))
        if time.thread_time() > deadline and len(micros) >= 3:
            break
    return micros, statistics.mean(matches)


def run_in_child(cell: dict[str, Any]) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (ROOM_BYTES, ROOM_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CELL_SECONDS, CELL_SECONDS))
    try:
        result = measure_cell(cell["engine"], cell["options"], cell["spec"], cell["seconds"])
    except MemoryError:
        result = {"failed": "out of memory"}
    print(json.dumps(result))
    return 0


# All cells.


def plan_cells(studies: list[Study], seconds: float) -> dict[str, dict[str, Any]]:
    """Lists the cells by their key; studies that show other figures of one cell share it."""
    cells = {}
    for study in studies:
        for contestant in study.contestants:
            for spec in filter(contestant.takes, study.points.values()):
                cell = describe_cell(contestant.engine, contestant.options, spec, seconds)
                cells[name_cell(cell)] = cell
    return cells


def describe_cell(
    engine: str, options: Mapping[str, Any], spec: Spec, seconds: float
) -> dict[str, Any]:
    return {"engine": engine, "options": dict(options), "spec": spec, "seconds": seconds}


def name_cell(cell: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:24]


def run_cell(cell: dict[str, Any], program: Sequence[str] = PROGRAM) -> Result:
    command = [sys.executable, *program, json.dumps(cell)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT)
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        result: Result = json.loads(lines[-1])
        return result
    # Too much time ends in SIGXCPU, or in SIGKILL at the hard limit; without memory, C++ aborts.
    if done.returncode in (-24, -9):
        return {"failed": "out of time"}
    if done.returncode == -6 or "bad_alloc" in done.stderr or "MemoryError" in done.stderr:
        return {"failed": "out of memory"}
    raise SystemExit(f"cell {cell} failed with {done.returncode}:\n{done.stderr[-2000:]}")


def run_cells(cells: Mapping[str, dict[str, Any]], folder: Path) -> dict[str, Result]:
    """Runs what is not in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, cell) in enumerate(cells.items(), 1):
        path = folder / f"{name}.json"
        if not path.exists():
            say(f"{number} of {len(cells)}: {cell['engine']} {cell['options']} {cell['spec']}")
            unfinished = path.with_suffix(".partial")
            unfinished.write_text(json.dumps(run_cell(cell)))
            unfinished.rename(path)
    return dict(read_results(cells, folder))


def read_results(cells: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, Result]]:
    for name in cells:
        path = folder / f"{name}.json"
        if path.exists():
            yield name, json.loads(path.read_text())


def find_result(
    study: Study, contestant: int, point: str, seconds: float, results: Mapping[str, Result]
) -> Result | None:
    chosen = study.contestants[contestant]
    cell = describe_cell(chosen.engine, chosen.options, study.points[point], seconds)
    return results.get(name_cell(cell))


def shrink(study: Study) -> Study:
    """Leaves the first and the last point of a study, with few visits."""
    ends = [*study.points.items()]
    points = {name: {**spec, "visits": 5} for name, spec in (ends[0], ends[-1])}
    return replace(study, sweep=replace(study.sweep, points=points))


def say(text: str) -> None:
    print(f"papers: {text}", file=sys.stderr, flush=True)


def read_options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, default=CACHE / "papers")
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = read_options(arguments)
    if options.cell:
        return run_in_child(options.cell)
    scale = QUICK_SCALE if options.quick else options.scale
    seconds = QUICK_SECONDS if options.quick else MATCH_SECONDS
    studies = [study for study in list_studies(scale) if options.only in study.key]
    if options.quick:
        studies = [shrink(study) for study in studies]
    cells = plan_cells(studies, seconds)
    if options.report:
        results = dict(read_results(cells, options.folder))
    elif options.quick:
        results = {name: run_quickly(cell) for name, cell in cells.items()}
    else:
        results = run_cells(cells, options.folder)

    def find(study: Study, contestant: int, point: str) -> Result | None:
        return find_result(study, contestant, point, seconds, results)

    sharing = ""
    if options.only in "atree-7":
        ads = MAKERS["abe"](profile="ads", expressions=round(10_000 * scale), visits=1)
        sharing = describe_sharing(ads)
    print(write_report(studies, find, scale, draws=not options.quick, sharing=sharing))
    return 0


def run_quickly(cell: dict[str, Any]) -> Result:
    """Runs a cell in this process: hundreds of small ones would take minutes to start."""
    return measure_cell(cell["engine"], cell["options"], cell["spec"], cell["seconds"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

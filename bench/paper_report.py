"""Writes the papers' studies as Markdown: a table, a sentence and a plot for each figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.paper_cover import count_least_of
from bench.paper_studies import MATCH, Study, size_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Result = dict[str, Any]
Find = Callable[[Study, int, str], "Result | None"]
PICTURES = Path(__file__).resolve().parent / "results"
COLUMNS = 3
EQUAL = 0.99  # what is nearer to one is no difference
HEAD = """\
Every published matcher on the papers' workloads, scaled to this machine: sizes are {scale:g} times
those in `bench/paper_figures.py`. A cell is one engine in a process of its own, capped at 2 GB and
120 s of the processor. Times are of the processor, the median over visits, the better of two calls.
*Refused* is the share of expressions beyond the engine's limits (docs/matchers.md). A dash: a size
that is not asked of the engine. *Not run*: the run was ended before, and goes on there.

Figures 8 to 10 of the A-Tree paper, its own ideas one by one, are in [ablations](ablations.md).
DEXIN's five reference algorithms and DEBS'07's variables are out of scope.

*Knowing all answers*: what a greedy cover asks that knows them, over two events. It is no lower
bound, the best cover may be smaller; how events come by their facts is ours, the paper does not
say. Its own 7,761 and 7,037 evaluations (figure 4, 80,000 on 40,000) are below that row; we cannot
say whether that is its events or something else.
"""


def write_report(
    studies: list[Study], find: Find, scale: float, *, draws: bool, sharing: str = ""
) -> str:
    """Writes the whole report; `sharing` is what stands before the A-Tree paper's other figures."""
    parts = [HEAD.format(scale=scale), describe_sizes(studies, find)]
    for paper in dict.fromkeys(study.paper for study in studies):
        own = [study for study in studies if study.paper == paper]
        parts.append(f"## {paper}\n")
        if draws:
            draw_paper(paper, own, find)
            parts.append(f"![{paper}](papers-{paper}.png)\n")
        parts += [sharing] if paper == "a-tree" and sharing else []
        parts += [describe(study, find) for study in own]
    return "\n".join(parts)


def describe_sizes(studies: list[Study], find: Find) -> str:
    """Says how large the largest set was that each engine was measured on."""
    largest: dict[str, int] = {}
    for study in studies:
        for number, contestant in enumerate(study.contestants):
            for point, spec in study.points.items():
                result = find(study, number, point)
                if result and "failed" not in result:
                    size = max(largest.get(contestant.engine, 0), size_of(spec))
                    largest[contestant.engine] = size
    listed = ", ".join(f"{engine} {size:,}" for engine, size in sorted(largest.items()))
    return f"Largest sets that were run, in expressions: {listed}.\n"


def describe(study: Study, find: Find) -> str:
    lines = [f"### {study.title}\n", f"| {study.metric} | " + " | ".join(study.points) + " |"]
    lines.append("|---|" + "---|" * len(study.points))
    for number, contestant in enumerate(study.contestants):
        cells = [
            show(study, find(study, number, point)) if contestant.takes(spec) else "-"
            for point, spec in study.points.items()
        ]
        lines.append(f"| {contestant.name} | " + " | ".join(cells) + " |")
    extra = [bound_row(study)] if study.key == "gryphon-growth" else []
    extra += [least_row(study)] if study.metric == "evaluations" else []
    return "\n".join([*lines, *extra, "", judge(study, find), ""])


def show(study: Study, result: Result | None) -> str:
    if result is None:
        return "not run"
    if "failed" in result:
        return str(result["failed"])
    value = result[study.metric]
    text = f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"
    return f"{text} ({result['refused']:.0%} refused)" if result["refused"] > 0.005 else text


def judge(study: Study, find: Find) -> str:
    """Judges in one sentence whether the paper's order holds here, and by what ratio; if not,
    why."""
    if not study.order:
        return f"{begin(study.metric)} {describe_growth(study, find)}."
    verdicts = [compare(study, find, *pair) for pair in study.order]
    said = f"{begin('; '.join(verdicts))}."
    if not any("does not hold" in verdict or "holds at" in verdict for verdict in verdicts):
        return said
    return " ".join(filter(None, [said, study.why, describe_work(study, find)]))


def begin(text: str) -> str:
    return text[0].upper() + text[1:]


def compare(study: Study, find: Find, better: str, worse: str) -> str:
    ratios = list(list_ratios(study, find, better, worse))
    if not ratios:
        return f"{better} and {worse} cannot be compared here"
    low, high = min(ratios), max(ratios)
    if low > EQUAL and high < 1 / EQUAL:
        return f"{better} and {worse} are equal here"
    held = sum(ratio > EQUAL for ratio in ratios)
    spread = f"{low:.2g} to {high:.2g}" if high > 1.05 * low else f"{low:.2g}"
    if held == len(ratios):
        return f"{better} before {worse} holds: {worse} needs {spread} times as much"
    if held == 0:
        return f"{better} before {worse} does not hold: {worse} needs {spread} times as much"
    return f"{better} before {worse} holds at {held} of {len(ratios)} points ({spread} times)"


def describe_work(study: Study, find: Find) -> str:
    """Tells the counted work behind times, at the last point that all compared engines took."""
    if study.metric != MATCH:
        return ""
    compared = {name for pair in study.order for name in pair}
    chosen = [(i, one.name) for i, one in enumerate(study.contestants) if one.name in compared]
    for point in reversed(study.points):
        results = [(name, find(study, number, point)) for number, name in chosen]
        if all(result and "failed" not in result for _, result in results):
            work = [count_work(name, result) for name, result in results if result]
            return f"Counted at {point}, a visit: {'; '.join(work)}."
    return ""


def count_work(name: str, result: Result) -> str:
    return (
        f"{name} {result['nodes visited']:,.0f} visited, {result['tests']:,.0f} tested,"
        f" {result['MB']:,.3g} MB"
    )


def list_ratios(study: Study, find: Find, better: str, worse: str) -> Iterator[float]:
    """Lists the ratios at the points where both engines took nearly all expressions."""
    names = [contestant.name for contestant in study.contestants]
    for point in study.points:
        results = [find(study, names.index(name), point) for name in (better, worse)]
        values = [
            result[study.metric]
            for result in results
            if result and "failed" not in result and result["refused"] < 0.02
        ]
        if len(values) == 2 and values[0] > 0 and values[1] > 0:
            yield values[1] / values[0]


def describe_growth(study: Study, find: Find) -> str:
    points = list(study.points)
    ends = [find(study, 0, point) for point in (points[0], points[-1])]
    if not all(end and "failed" not in end for end in ends):
        return "was not measured"
    first, last = (end[study.metric] for end in ends if end)
    return f"grows {last / first:.2g} times from {points[0]} to {points[-1]} {study.sweep.grows}"


# Gryphon's bound.


def bound_visits(subscriptions: int, attributes: int = 10, values: int = 5) -> float:
    """Bounds the nodes that a uniform event visits on the average, as we reconstruct the theorem.

    A node with j edges that are no stars is visited with a chance of v^-j, and there are at most
    C(k + 1, j + 1) v^j of them on all levels; a tree of n subscriptions has at most n k + 1 nodes.
    The worst tree has the likeliest nodes. The sum grows as n^(1 - a), a = ln v / (ln v + ln k).
    """
    left = subscriptions * attributes + 1.0
    visits = 0.0
    for j in range(attributes + 1):
        nodes = min(left, math.comb(attributes + 1, j + 1) * float(values) ** j)
        visits += nodes / float(values) ** j
        left -= nodes
    return visits


def bound_row(study: Study) -> str:
    bounds = [bound_visits(spec["subscriptions"]) for spec in study.points.values()]
    return "| bound (ours) | " + " | ".join(f"{bound:,.0f}" for bound in bounds) + " |"


# What overlapping subscriptions need at least.


def least_row(study: Study) -> str:
    least = [f"{count_least_of(spec):,.0f}" for spec in study.points.values()]
    return "| knowing all answers | " + " | ".join(least) + " |"


# Plots.


def draw_paper(paper: str, studies: list[Study], find: Find) -> None:
    # Each cell is a process of its own that reads this file and draws nothing.
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = -(-len(studies) // COLUMNS)
    figure, panels = plt.subplots(rows, COLUMNS, figsize=(15, 3.6 * rows), squeeze=False)
    for axes in panels.flat:
        axes.set_visible(False)
    for axes, study in zip(panels.flat, studies, strict=False):
        axes.set_visible(True)
        draw_study(axes, study, find)
    figure.tight_layout()
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"papers-{paper}.png", dpi=80)
    plt.close(figure)


def draw_study(axes: Axes, study: Study, find: Find) -> None:
    is_measured = False
    for number, contestant in enumerate(study.contestants):
        values = []
        for point in study.points:
            result = find(study, number, point)
            known = result is not None and "failed" not in result and result["refused"] < 0.02
            values.append(result[study.metric] if known and result else math.nan)
        axes.plot(range(len(values)), values, "o-", label=contestant.name)
        is_measured = is_measured or any(value > 0 for value in values)
    axes.set_xticks(range(len(study.points)), list(study.points))
    if is_measured:
        axes.set_yscale("log")
    axes.set_title(study.title, fontsize=8)
    axes.set_ylabel(study.metric, fontsize=8)
    axes.legend(fontsize=6, frameon=False)
    axes.grid(visible=True, color="#dddddd")

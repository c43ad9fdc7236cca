"""Shows pass rates as five steps of colour; the normal ones are weak: colour is for exceptions."""

from __future__ import annotations

from exchange.reports.edge_counts import EdgeCount

# The least percentage of each step, its class in the style sheet, and its words in the legend.
STEPS = (
    (95, "p4", "95 % and more"),
    (75, "p3", "75 to 95 %"),
    (50, "p2", "50 to 75 %"),
    (20, "p1", "20 to 50 %"),
    (0, "p0", "under 20 %"),
)
LEGEND = [(name, words) for _, name, words in STEPS]
NOT_COUNTED = "plain"
NOTHING_JUDGED = "none"
EXCEPTIONS = {"p1", "p0"}


def rate_class(count: EdgeCount | None) -> str:
    if count is None:
        return NOT_COUNTED
    if count.percent is None:
        return NOTHING_JUDGED
    return next(name for least, name, _ in STEPS if count.percent >= least)


def short(number: int) -> str:
    """Shortens a number for labels: 19.2k."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return str(number)

"""Times several contestants in rounds, each as often as the others.

Other work on a machine makes a match take twice as long for seconds at a time. A contestant that is
timed in such a moment gets another turn in a later round, and so does everyone else. Times are of
the processor, not of the wall clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

ROUNDS = 4
REPEATED = (
    "A visit's time is the best of three calls in a row in each of four rounds: what it reads is"
    " in the caches."
)
SCANNED_SECONDS = 4.0
Key = TypeVar("Key", bound=Hashable)
Contestant = tuple[Callable[[Any], Any], Sequence[Any]]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Measures the seconds of processor time of this thread; returns them with the answer."""
    started = time.thread_time()
    answer = work()
    return time.thread_time() - started, answer


def microseconds(
    work: Callable[[Any], Any], arguments: Sequence[Any], limit_seconds: float = 60.0
) -> list[float]:
    """Measures the best of three runs for each argument, as far as the time allows."""
    found = []
    deadline = time.monotonic() + limit_seconds
    for argument in arguments:
        found.append(1e6 * min(timed(partial(work, argument))[0] for _ in range(3)))
        if time.monotonic() > deadline and len(found) >= 5:
            break
    return found


def per_call(work: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> float:
    """Measures the average microseconds of a call."""

    def call_all() -> None:
        for arguments in calls:
            work(*arguments)

    return 1e6 * timed(call_all)[0] / len(calls)


def time_in_rounds(contestants: Mapping[Key, Contestant]) -> dict[Key, list[float]]:
    """Measures each contestant's microseconds by argument: the best of all rounds."""
    best: dict[Key, list[float]] = {}
    for _ in range(ROUNDS):
        for key, (work, arguments) in contestants.items():
            found = microseconds(work, arguments, SCANNED_SECONDS)
            best[key] = list(map(min, best.get(key, found), found))
    return best


def time_in_turn(work: Callable[[Any], Any], arguments: Sequence[Any]) -> float:
    """Measures the median microseconds over arguments, the best of all rounds for each. A round
    takes each argument once, so that all others come between two of its runs."""
    best = [float("inf")] * len(arguments)
    for _ in range(2 * ROUNDS):
        for place, argument in enumerate(arguments):
            best[place] = min(best[place], 1e6 * timed(partial(work, argument))[0])
    return statistics.median(best)


def show(rows: Mapping[str, Mapping[str, float]]) -> None:
    """Prints a Markdown table: one line per figure, one column per workload."""
    print("| | " + " | ".join(rows) + " |")
    print("|---|" + "---|" * len(rows))
    for figure in next(iter(rows.values())):
        cells = [
            f"{row[figure]:,.3g}" if row[figure] < 100 else f"{row[figure]:,.0f}"
            for row in rows.values()
        ]
        print(f"| {figure} | " + " | ".join(cells) + " |")

"""Times several contestants in rounds, each as often as the others.

Other work on a machine makes a match take twice as long for seconds at a time. Whoever is timed in
such a moment gets another turn in a later round, and so does everyone else.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from bench.matcher import SCANNED_SECONDS, microseconds

ROUNDS = 4
Key = TypeVar("Key", bound=Hashable)
Contestant = tuple[Callable[[Any], Any], Sequence[Any]]


def time_in_rounds(contestants: Mapping[Key, Contestant]) -> dict[Key, list[float]]:
    """For each contestant its microseconds by argument: the best of all rounds."""
    best: dict[Key, list[float]] = {}
    for _ in range(ROUNDS):
        for key, (work, arguments) in contestants.items():
            found = microseconds(work, arguments, SCANNED_SECONDS)
            best[key] = list(map(min, best.get(key, found), found))
    return best

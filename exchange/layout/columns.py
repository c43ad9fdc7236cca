"""Decides what stands in each column, and in which order, so that few links cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from exchange.layout.drawing import Link, Slot

SWEEPS = 24
# Bounds steps times sweeps: drawings with more steps between columns are swept less often.
STEPS_SWEPT = 12_000

Columns = list[list[Slot]]
# The slots that a link passes, by its number. Lists everywhere: a set would order by hash.
Ways = dict[int, tuple[Slot, ...]]
Step = tuple[Slot, Slot]


def fill_columns(links: Sequence[Link], ranks: Mapping[int, int]) -> tuple[Columns, Ways]:
    """Fills the columns. Long links of a node share its bend in a column: a cable of lanes, not a
    bend for each."""
    columns: Columns = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for node, rank in ranks.items():
        columns[rank].append(Slot(rank, node))
    ways: Ways = {}
    bends: dict[Slot, None] = {}
    for link in links:
        start, end = ranks[link.start], ranks[link.end]
        between = [Slot(rank, link.start, is_bend=True) for rank in range(start + 1, end)]
        ways[link.number] = (Slot(start, link.start), *between, Slot(end, link.end))
        bends |= dict.fromkeys(between)
    for bend in bends:
        columns[bend.column].append(bend)
    return columns, ways


def order_columns(columns: Columns, ways: Iterable[tuple[Slot, ...]]) -> None:
    """Orders columns in place by barycentre sweeps to the right and back; the best order seen is
    kept. A cable counts once for each of its lanes."""
    steps = [step for way in ways for step in pairwise(way)]
    before, after = find_neighbours(steps)
    best, fewest = copy_of(columns), count_crossings(columns, steps)
    for sweep in range(min(SWEEPS, max(2, STEPS_SWEPT // max(1, len(steps))))):
        is_rightwards = sweep % 2 == 0
        sweep_columns(columns, before if is_rightwards else after, backwards=not is_rightwards)
        crossings = count_crossings(columns, steps)
        if crossings < fewest:
            best, fewest = copy_of(columns), crossings
    columns[:] = best


def find_neighbours(steps: Iterable[Step]) -> tuple[dict[Slot, list[Slot]], dict[Slot, list[Slot]]]:
    before: dict[Slot, list[Slot]] = defaultdict(list)
    after: dict[Slot, list[Slot]] = defaultdict(list)
    for one, other in steps:
        after[one].append(other)
        before[other].append(one)
    return before, after


def sweep_columns(
    columns: Columns, neighbours: Mapping[Slot, list[Slot]], *, backwards: bool
) -> None:
    place = {slot: share for column in columns for slot, share in share_places(column)}
    for column in reversed(columns) if backwards else columns:
        centre = {slot: mean_place(slot, neighbours, place) for slot in column}
        column.sort(key=lambda slot: (centre[slot], place[slot]))
        place.update(share_places(column))


def share_places(column: Sequence[Slot]) -> list[tuple[Slot, float]]:
    """Places slots from 0 at the top to 1 at the bottom: columns of different length compare."""
    last = max(1, len(column) - 1)
    return [(slot, number / last) for number, slot in enumerate(column)]


def mean_place(
    slot: Slot, neighbours: Mapping[Slot, list[Slot]], place: Mapping[Slot, float]
) -> float:
    near = neighbours.get(slot, ())
    return sum(place[one] for one in near) / len(near) if near else place[slot]


def count_crossings(columns: Columns, steps: Iterable[Step]) -> int:
    """Counts pairs of steps between the same two columns that cross."""
    place = {slot: number for column in columns for number, slot in enumerate(column)}
    between: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for one, other in steps:
        between[one.column].append((place[one], place[other]))
    total = 0
    for pairs in between.values():
        seen: list[int] = []
        for _, end in sorted(pairs):
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return total


def copy_of(columns: Columns) -> Columns:
    return [list(column) for column in columns]

"""Decides how high everything is and stands, and where on a node its lanes begin and end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from exchange.layout.columns import Columns, Ways
from exchange.layout.drawing import Lane, Link, Slot, Spacing

TURNS = 12
# A short column takes some of the height that is left, up to so much below each slot.
AIR_SHARE = 0.55
MOST_AIR = 16.0


@dataclass(frozen=True, slots=True)
class Places:
    middles: dict[Slot, float]
    sizes: dict[Slot, float]
    height: float


def place_slots(columns: Columns, links: Sequence[Link], ways: Ways, spacing: Spacing) -> Places:
    sizes = measure(columns, links, ways, spacing)
    room = {slot: sizes[slot] + gap_below(slot, spacing) for slot in sizes}
    height = max([spacing.height, *(sum(room[slot] for slot in column) for column in columns)])
    for column in columns:
        left = height - sum(room[slot] for slot in column)
        for slot in column:
            room[slot] += min(AIR_SHARE * left / len(column), MOST_AIR)
    return Places(settle(columns, ways, room, height), sizes, height)


def gap_below(slot: Slot, spacing: Spacing) -> float:
    return spacing.bend_gap if slot.is_bend else spacing.node_gap


def measure(
    columns: Columns, links: Sequence[Link], ways: Ways, spacing: Spacing
) -> dict[Slot, float]:
    """Measures slots: as high as the lanes that enter or leave; nodes, at least as their label."""
    entering: dict[Slot, float] = defaultdict(float)
    leaving: dict[Slot, float] = defaultdict(float)
    for link in links:
        way = ways[link.number]
        for slot in way[:-1]:
            leaving[slot] += link.width + spacing.lane_gap
        for slot in way[1:]:
            entering[slot] += link.width + spacing.lane_gap
    return {
        slot: max(entering[slot], leaving[slot], 0.0 if slot.is_bend else spacing.least)
        for column in columns
        for slot in column
    }


def settle(
    columns: Columns, ways: Ways, room: Mapping[Slot, float], height: float
) -> dict[Slot, float]:
    """Draws everything to the mean of its neighbours, keeps the order, and lets nothing overlap."""
    near: dict[Slot, list[Slot]] = defaultdict(list)
    for way in ways.values():
        for one, other in pairwise(way):
            near[one].append(other)
            near[other].append(one)
    middles = {slot: y for column in columns for slot, y in stack(column, room, height)}
    for turn in range(TURNS):
        for column in columns if turn % 2 == 0 else reversed(columns):
            wanted = [half_way(slot, near[slot], middles) for slot in column]
            found = spread(wanted, [room[slot] for slot in column], height)
            middles.update(zip(column, found, strict=True))
    return middles


def stack(
    column: Sequence[Slot], room: Mapping[Slot, float], height: float
) -> Iterator[tuple[Slot, float]]:
    """Places slots one below the other, the free height shared out between them."""
    free = (height - sum(room[slot] for slot in column)) / (len(column) + 1)
    at = 0.0
    for slot in column:
        at += free
        yield slot, at + room[slot] / 2
        at += room[slot]


def half_way(slot: Slot, near: Sequence[Slot], middles: Mapping[Slot, float]) -> float:
    """Moves a slot half the way to its neighbours: columns keep some air instead of heaping up in
    the middle."""
    if not near:
        return middles[slot]
    return (sum(middles[one] for one in near) / len(near) + middles[slot]) / 2


def spread(wanted: Sequence[float], sizes: Sequence[float], height: float) -> list[float]:
    """Finds the middles nearest to those wanted, in their order, without overlap: isotonic
    regression by pooling what would be out of order (pool adjacent violators)."""
    offsets, at = [], 0.0
    for size in sizes:
        offsets.append(at + size / 2)
        at += size
    pools: list[tuple[float, int]] = []  # sum and number of what is wanted
    for want, offset in zip(wanted, offsets, strict=True):
        total, count = want - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before, many = pools.pop()
            total, count = total + before, count + many
        pools.append((total, count))
    free = max(0.0, height - at)
    tops = [min(max(total / count, 0.0), free) for total, count in pools for _ in range(count)]
    return [top + offset for top, offset in zip(tops, offsets, strict=True)]


@dataclass(frozen=True, slots=True)
class End:
    """Where a lane leaves or enters a slot: the `port`-th of its heights."""

    sort_key: tuple[float, float, int]
    link: Link
    port: int


def place_lanes(
    links: Sequence[Link], ways: Ways, places: Places, spacing: Spacing
) -> Iterator[Lane]:
    """Places lanes; they leave and enter a slot in the order of where they go to and come from."""
    heights = {link.number: [0.0] * (2 * len(ways[link.number]) - 2) for link in links}
    for is_leaving in (True, False):
        for slot, ends in collect_ends(links, ways, places.middles, is_leaving=is_leaving).items():
            total = sum(end.link.width + spacing.lane_gap for end in ends)
            y = places.middles[slot] - total / 2
            for end in sorted(ends, key=lambda end: end.sort_key):
                step = end.link.width + spacing.lane_gap
                heights[end.link.number][end.port] = y + step / 2
                y += step
    for link in links:
        ys = heights[link.number]
        for port in range(1, len(ys) - 1, 2):
            ys[port] = ys[port + 1]  # a cable runs straight through its bend
        yield Lane(link, ways[link.number], tuple(ys))


def collect_ends(
    links: Iterable[Link], ways: Ways, middles: Mapping[Slot, float], *, is_leaving: bool
) -> dict[Slot, list[End]]:
    ends: dict[Slot, list[End]] = defaultdict(list)
    for link in links:
        way = ways[link.number]
        for number, (one, other) in enumerate(pairwise(way)):
            slot, far = (one, other) if is_leaving else (other, one)
            # Within one cable the last end decides, so that its lanes do not cross.
            last = way[-1] if is_leaving or slot.is_bend else way[0]
            key = (middles[far], middles[last], link.number)
            ends[slot].append(End(key, link, 2 * number + (not is_leaving)))
    return ends

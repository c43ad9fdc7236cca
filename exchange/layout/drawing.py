"""Defines what a drawing is made from, and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Link:
    """A line from one node to another; `width` is that of the line."""

    number: int
    start: int
    end: int
    width: float = 1.0


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distances in the drawing's own units: `least` height of a node, gaps below nodes, bends and
    lanes; no drawing is lower than `height`."""

    least: float = 16.0
    node_gap: float = 7.0
    bend_gap: float = 1.5
    lane_gap: float = 0.6
    height: float = 0.0


class Slot(NamedTuple):
    """A place in a column: a node, or where the long links of a node pass the column."""

    column: int
    node: int
    is_bend: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """A link that runs from left to right. `heights` are two for each step from slot to slot: where
    it leaves the one and where it enters the other."""

    link: Link
    slots: tuple[Slot, ...]
    heights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Arc:
    """A link that does not run from left to right, because it is part of a cycle. One arc of each
    cycle `closes` it, and says how many nodes are in it; of the others it is 0."""

    link: Link
    closes: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """Slots of each column from top to bottom; `middles` and `sizes` are heights."""

    columns: tuple[tuple[Slot, ...], ...]
    middles: Mapping[Slot, float]
    sizes: Mapping[Slot, float]
    lanes: tuple[Lane, ...]
    arcs: tuple[Arc, ...]
    height: float

    def slot_of(self) -> dict[int, Slot]:
        """Finds where each node stands."""
        return {slot.node: slot for column in self.columns for slot in column if not slot.is_bend}

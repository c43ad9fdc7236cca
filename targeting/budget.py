"""Bounds an analysis, in steps: seconds would make its answers depend on the machine."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

MAX_VALUES = 12_000_000  # values of lists; looking at so many takes one or two seconds


class OutOfBudgetError(Exception):
    """The analysis has spent its budget: the search is given up, undecided."""


@dataclass(slots=True)
class Budget:
    """How many nodes, and how many values of lists, may still be looked at; shared by all searches
    of one analysis."""

    nodes: int
    values: int = MAX_VALUES
    paid: set[Hashable] = field(default_factory=set)

    def spend(self, nodes: int = 1) -> None:
        self.nodes -= nodes
        if self.nodes < 0:
            raise OutOfBudgetError

    def look_at(self, values: int) -> None:
        self.values -= values
        if self.values < 0:
            raise OutOfBudgetError

    def look_once(self, thing: Hashable, values: int) -> None:
        """Pays once in an analysis for a thing that is looked at again. Pays even if an earlier
        analysis kept it, because answers must not depend on who came before."""
        if thing not in self.paid:
            self.look_at(values)
            self.paid.add(thing)

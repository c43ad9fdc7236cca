"""Counts on the sample: which rows an expression is true of, and what they stand for a day.

Conditions are asked of the compiled table one by one and kept: of an expression that is being
changed all but one are known already. Groups are joined here, as the evaluator joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exchange.reports.sample_table import Sample
from targeting import Expression, ExpressionError
from targeting.printer import print_tree
from targeting.tree import (
    And,
    Constant,
    Node,
    Not,
    Or,
    Predicate,
    Reference,
    Xor,
    children_of,
    without_notes,
)

CONDITIONS_KEPT = 512  # 50 KB each, at 200,000 visits
NORMAL_95 = 1.96
NONE_SEEN_95 = 3  # of what no sampled person did, at most about three may

Rows = NDArray[np.bool_]
Chosen = Rows | NDArray[np.int64]  # rows: as a mask, or by their places


class Truths(NamedTuple):
    """The rows of which it is true, and false; of the rest it is unknown."""

    true: Rows
    false: Rows


@dataclass(frozen=True, slots=True)
class Count:
    """An average day. `low` and `high`: 95 percent, over those who were drawn."""

    visits: float
    low: float
    high: float
    users: float
    publishers: int
    people: int


class Counter:
    """Asks one sample. What is kept are packed bits, by the condition's text."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._ask = lru_cache(CONDITIONS_KEPT)(self._ask_table)

    def of(self, expression: Expression) -> Rows:
        """Finds the rows that the expression matches."""
        return self.judge(expression.root, expression).true & self.can_count()

    def can_count(self, required: Iterable[str] | None = None) -> Rows:
        """Finds the visits that may count: one that lacks a required attribute is eligible for
        nothing. What no visit of the sample could carry, such as an attribute that is not saved
        yet, none does."""
        names = self.sample.required if required is None else tuple(required)
        says = [self._carries(name) for name in names]
        return reduce(np.logical_and, says, np.ones(len(self.sample), dtype=bool))

    def _carries(self, name: str) -> Rows:
        try:
            return self._test(f"{name} is missing").false
        except ExpressionError:
            return np.zeros(len(self.sample), dtype=bool)

    def judge(self, node: Node, within: Expression) -> Truths:
        if isinstance(node, Constant):
            known = np.full(len(self.sample), node.value)
            return Truths(known, ~known)
        if isinstance(node, Reference):
            meaning = within.definitions[node.name]
            return self.judge(meaning.root, meaning)
        if isinstance(node, Predicate):
            return self._test(print_tree(without_notes(with_values(node, within))))
        below = [self.judge(child, within) for child in children_of(node)]
        if isinstance(node, Not):
            return negate(below[0])
        return join(node, below)

    def _test(self, text: str) -> Truths:
        true, false = self._ask(text)
        length = len(self.sample)
        return Truths(*(np.unpackbits(bits, count=length).view(bool) for bits in (true, false)))

    def _ask_table(self, text: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        table = self.sample.table
        true, false, _ = table.bitmap(text)
        packed = []
        for bits in (true, false):
            rows = np.zeros(len(self.sample), dtype=bool)
            rows[table.rows(bits)] = True
            packed.append(np.packbits(rows))
        return packed[0], packed[1]

    def at(self, seller_id: str) -> NDArray[np.int64]:
        """Finds the places of a publisher's visits, in their order."""
        order, bounds = self._by_publisher
        place = self._publishers.get(seller_id)
        return order[:0] if place is None else order[bounds[place] : bounds[place + 1]]

    @cached_property
    def _publishers(self) -> dict[str, int]:
        return {seller_id: place for place, seller_id in enumerate(self.sample.publisher_ids)}

    @cached_property
    def _by_publisher(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sorts the rows once: looking through all of them for each publisher takes longer."""
        order = np.argsort(self.sample.publishers, kind="stable")
        count = len(self.sample.publisher_ids)
        return order, np.searchsorted(self.sample.publishers[order], np.arange(count + 1))

    # --- what rows stand for

    def count(self, rows: Rows) -> Count:
        sample, days = self.sample, self.sample.day_count
        weights, people = sample.weights[rows], sample.people[rows]
        visits = float(weights.sum())
        _, who = np.unique(people, return_inverse=True)
        margin = self._margin(weights, who) if len(weights) else 0
        most = visits + margin if len(weights) else NONE_SEEN_95 * float(sample.weights.max())
        return Count(
            visits=visits / days,
            low=max(0.0, visits - margin) / days,
            high=most / days,
            users=self._users(rows) / days,
            publishers=len(np.unique(sample.publishers[rows])),
            people=int(who.max()) + 1 if len(who) else 0,
        )

    def visits(self, rows: Chosen) -> float:
        return float(self.sample.weights[rows].sum()) / self.sample.day_count

    def people(self, rows: Chosen) -> int:
        return len(np.unique(self.sample.people[rows]))

    def share(self, rows: Rows) -> float:
        return float(self.sample.weights[rows].sum() / self.sample.weights.sum())

    def _margin(self, weights: NDArray[np.float64], who: NDArray[np.int64]) -> float:
        """Estimates the margin. Whoever was drawn is in it with all visits, so people vary, not
        visits. Each stands for as many as the mean of its weights: if that is one, everybody was
        drawn."""
        of_each = np.bincount(who, weights)
        stands_for = of_each / np.bincount(who)
        left_out = np.clip(1 - 1 / stands_for, 0, 1)
        return float(NORMAL_95 * np.sqrt((of_each**2 * left_out).sum()))

    def _users(self, rows: Rows) -> float:
        """Counts each user once a day, for as many as the mean weight of the day's visits."""
        sample = self.sample
        known = rows & (sample.users >= 0)
        if not known.any():
            return 0.0
        span = int(sample.users.max()) + 1
        _, who = np.unique(sample.days[known] * span + sample.users[known], return_inverse=True)
        return float((np.bincount(who, sample.weights[known]) / np.bincount(who)).sum())


@lru_cache(maxsize=1)
def counter_of(sample: Sample) -> Counter:
    """Keeps what was asked of the newest sample."""
    return Counter(sample)


def with_values(node: Predicate, within: Expression) -> Predicate:
    """Writes a managed list out: the table knows no lists."""
    if node.list_name is None:
        return node
    return replace(node, operands=tuple(within.lists[node.list_name]), list_name=None)


def negate(truths: Truths) -> Truths:
    return Truths(truths.false, truths.true)


def join(node: Node, below: Sequence[Truths]) -> Truths:
    trues, falses = [each.true for each in below], [each.false for each in below]
    if isinstance(node, And):
        return Truths(reduce(np.logical_and, trues), reduce(np.logical_or, falses))
    if isinstance(node, Or):
        return Truths(reduce(np.logical_or, trues), reduce(np.logical_and, falses))
    is_known = reduce(np.logical_and, [each.true | each.false for each in below])
    odd = reduce(np.logical_xor, trues)
    found = Truths(odd & is_known, ~odd & is_known)
    return found if isinstance(node, Xor) or len(below) % 2 else negate(found)

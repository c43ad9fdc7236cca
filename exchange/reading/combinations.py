"""Tries many visits at once: every combination of a few values, each judged by the plain evaluator.

A rule is asked once for each combination of the values that it asks for, however often that occurs
among all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any

from exchange.accounts.models import User
from exchange.market.models import Booking
from exchange.market.saved_graph import load_graph
from exchange.reading.asked import Rule, all_attributes, list_edges, read_edge_rules
from targeting import Catalog
from targeting.catalog import UTC_OFFSET, AttributeType

MOST = 15_000
NO_PATH = "No path is open"

Combination = tuple[int, ...]
Judge = Callable[[Combination], bool]


@dataclass(frozen=True, slots=True)
class Varied:
    """Something that is tried with several values: what people call it, the values in their words,
    and the piece of a visit that each stands for."""

    name: str
    labels: tuple[str, ...]
    pieces: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One visit: `refusals` name what does not let it by; it passes without any."""

    combination: Combination
    refusals: tuple[str, ...]

    @property
    def passes(self) -> bool:
        return not self.refusals


@dataclass(frozen=True, slots=True)
class Matrix:
    varied: tuple[Varied, ...]
    cells: tuple[Cell, ...]

    @property
    def passing(self) -> int:
        return sum(cell.passes for cell in self.cells)

    def count_by_value(self) -> list[tuple[Varied, list[tuple[str, int, int]]]]:
        """Counts for each value of each attribute how many of its visits pass, of how many."""
        counted = []
        for place, varied in enumerate(self.varied):
            met = Counter(cell.combination[place] for cell in self.cells if cell.passes)
            of_each = len(self.cells) // len(varied.labels)
            rows = [(label, met[number], of_each) for number, label in enumerate(varied.labels)]
            counted.append((varied, rows))
        return counted

    def tell(self, cell: Cell) -> list[str]:
        """Names the values of a cell."""
        return [
            varied.labels[number]
            for varied, number in zip(self.varied, cell.combination, strict=True)
        ]


def count_combinations(varied: Sequence[Varied]) -> int:
    return prod(len(each.pieces) for each in varied)


def try_combinations(
    base: Mapping[str, Any],
    varied: Sequence[Varied],
    targeting: Rule,
    booking: Booking | None,
    viewer: User,
    catalog: Catalog,
) -> Matrix:
    """Judges every combination of the varied values. `base` is the visit that all have in common,
    stamped with its publisher. The caller has counted the combinations."""
    judges = [(targeting.title, judge_by(targeting, base, varied))]
    if booking is not None:
        judges += judge_path(booking, base, varied, viewer, catalog)
    cells = [
        Cell(combination, tuple(title for title, judge in judges if not judge(combination)))
        for combination in product(*(range(len(each.pieces)) for each in varied))
    ]
    return Matrix(tuple(varied), tuple(cells))


def judge_by(rule: Rule, base: Mapping[str, Any], varied: Sequence[Varied]) -> Judge:
    names = all_attributes(rule.expression)
    catalog = rule.expression.catalog
    local = AttributeType.TIMESTAMP_LOCAL
    if any(name in catalog and catalog[name].type is local for name in names):
        names.add(UTC_OFFSET)
    # A visit without a required attribute matches nothing, whatever the rule asks for.
    names |= {attribute.name for attribute in catalog if attribute.required}
    places = [
        place
        for place, each in enumerate(varied)
        if any(not names.isdisjoint(piece) for piece in each.pieces)
    ]

    @cache
    def judge(chosen: Combination) -> bool:
        visit = dict(base)
        for place, number in zip(places, chosen, strict=True):
            visit.update(varied[place].pieces[number])
        return rule.expression.evaluate(visit) is True

    return lambda combination: judge(tuple(combination[place] for place in places))


def judge_path(
    booking: Booking,
    base: Mapping[str, Any],
    varied: Sequence[Varied],
    viewer: User,
    catalog: Catalog,
) -> list[tuple[str, Judge]]:
    """Gives a judge for each edge of a booking's path; for a booking that takes any path, one judge
    of all edges together."""
    edges = list_edges(booking, viewer)
    rules = {rule.edge_id: rule for rule in read_edge_rules(edges, viewer, catalog)}
    judges = {
        edge.pk: judge_by(rules[edge.pk], base, varied) if edge.pk in rules else never
        for edge in edges
    }
    if not edges:
        return [(NO_PATH, never)]
    if booking.policy != Booking.Policy.ANY:
        return [(str(edge), judges[edge.pk]) for edge in edges]
    return [(NO_PATH, judge_any_path(booking, judges))]


def never(_: Combination) -> bool:
    return False


def judge_any_path(booking: Booking, judges: Mapping[int, Judge]) -> Judge:
    source, target, hops = booking.publisher_id, booking.advertiser_id, booking.hop_limit
    graph = load_graph().between(source, target, max_hops=hops)

    @cache
    def has_path(opened: frozenset[int]) -> bool:
        return target in graph.cheapest_paths(source, max_hops=hops, allows=opened.__contains__)

    return lambda chosen: has_path(frozenset(pk for pk, judge in judges.items() if judge(chosen)))

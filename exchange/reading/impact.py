"""Counts what an expression that is being written reaches, by the newest night's sample of visits.

    targeting   visits that it is true of, whoever's
    booked      those of them at publishers that the campaign is booked with
    eligible    those that the rules of a booking's path let by

The campaign's bookings and paths are those of now, and its flight is left aside: the sample is of
the last days, the question about the next ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Booking, Campaign
from exchange.reading.sampled_market import Places, SampledMarket
from exchange.reports.sample_counting import Count, Counter, Rows, counter_of
from exchange.reports.sample_table import Sample, open_sample
from targeting import Expression, ExpressionError
from targeting.tree import And, walk_paths

MOST_SHARES = 200  # conditions: more are not read
LEAST_PEOPLE = 10  # fewer are told only if no condition is about persons


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition, and the visits a day that dropping it would add."""

    path: str
    gain: float


@dataclass(frozen=True, slots=True)
class Reached:
    """`count` is of the last stage. `saved` are the visits a day of the version that is saved.
    `is_hidden`: about so few people that it would be about persons. `matched` are the rows that
    the expression is true of, `gate` what the bookings let by of them."""

    sample: Sample
    count: Count
    stages: tuple[tuple[str, float], ...]
    saved: float | None
    limits: tuple[Limit, ...]
    shares: dict[str, tuple[float, float]]
    matched: Rows
    gate: Gate | None
    is_hidden: bool = False


def measure(expression: Expression, campaign: Campaign | None) -> Reached | None:
    """Counts on the sample what an expression reaches; gives None if no night was counted yet. The
    campaign comes with its advertiser, and whoever asks may see its bookings."""
    sample = open_sample()
    if sample is None:
        return None
    counter = counter_of(sample)
    matched = counter.of(expression)
    gate = Gate(counter, campaign) if campaign is not None else None
    is_booked = gate is not None and gate.is_booked
    last = gate.open if gate is not None and is_booked else counter.can_count()
    count = counter.count(matched & last)
    if count.people < LEAST_PEOPLE and is_about_persons(expression):
        return Reached(sample, count, (), None, (), {}, matched, gate, is_hidden=True)
    stages = [("targeting", counter.visits(matched))]
    if gate is not None and is_booked:
        stages.append(("booked", counter.visits(matched & gate.booked)))
        stages.append(("eligible", count.visits))
    return Reached(
        sample,
        count,
        tuple(stages),
        measure_saved(counter, campaign, last),
        tuple(find_limits(counter, expression, last)),
        find_shares(counter, expression),
        matched,
        gate,
    )


def is_about_persons(expression: Expression) -> bool:
    """Tells whether an expression asks for something personal, also through the audiences that it
    names."""
    waiting = [expression]
    seen: set[str] = set()
    while waiting:
        read = waiting.pop()
        if any(read.catalog[name].personal for name in read.attributes if name in read.catalog):
            return True
        fresh = read.references - seen
        seen |= fresh
        waiting += [read.definitions[name] for name in fresh]
    return False


def measure_saved(counter: Counter, campaign: Campaign | None, last: Rows) -> float | None:
    """Counts what the campaign reaches as it is saved; gives None where there is nothing to compare
    with, or nothing that still compiles."""
    if campaign is None:
        return None
    reader = ExpressionReader(load_catalog())
    try:
        saved = reader.read(campaign.expression, campaign.advertiser.organisation_id)
    except ExpressionError:
        return None
    return counter.visits(counter.of(saved) & last)


def find_limits(counter: Counter, expression: Expression, last: Rows) -> Iterator[Limit]:
    """Finds, of the conditions that must all be met, those without which there would be more
    visits, the most limiting first. An expression's only condition cannot be dropped."""
    root = expression.root
    if not isinstance(root, And):
        return
    truths = [counter.judge(child, expression).true for child in root.children]
    missed = np.sum([~true for true in truths], axis=0)
    gains = [
        Limit(f"and.{index}", counter.visits(~true & (missed == 1) & last))
        for index, true in enumerate(truths)
    ]
    yield from sorted((one for one in gains if one.gain > 0), key=lambda one: -one.gain)


def find_shares(counter: Counter, expression: Expression) -> dict[str, tuple[float, float]]:
    """Gives for each node, by its path, the shares of all visits that it is true of and false
    of."""
    nodes = list(walk_paths(expression.root))[:MOST_SHARES]
    judged = [(path, counter.judge(node, expression)) for path, node in nodes]
    return {path: (counter.share(one.true), counter.share(one.false)) for path, one in judged}


class Gate:
    """Which visits the campaign's bookings let by: `booked` are those at their publishers, `open`
    those for which a booking's path is open. `bookings` has the same of each: the rows at its
    publisher, and of which of them its path is open."""

    def __init__(self, counter: Counter, campaign: Campaign) -> None:
        self.market = SampledMarket(counter)
        bookings = list(Booking.objects.active().with_parties().filter(campaign=campaign))
        self.is_booked = bool(bookings)
        self.booked, self.open = (np.zeros(len(counter.sample), dtype=bool) for _ in range(2))
        self.bookings: list[tuple[Booking, Places, Rows]] = []
        for way in self.market.find_ways(bookings):
            places, opened = self.market.at(way.booking.publisher), self.market.opened(way)
            self.booked[places] = True
            self.open[places[opened]] = True
            self.bookings.append((way.booking, places, opened))

"""Measures what an expression that is being written reaches, by the newest night's sample of
visits.

    targeting   visits that it is true of, whoever's
    booked      those of them at publishers that the campaign is booked with
    eligible    those that the rules of a booking's path let by

The campaign's bookings and paths are those of now, and its flight is left aside: the sample is of
the last days, the question about the next ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Booking, Campaign, Edge
from exchange.market.saved_graph import SavedGraph, load_graph
from exchange.reading.paths import choose_path, find_cheapest
from exchange.reading.sample_rules import SampleRules
from exchange.reports.sample_counting import Count, Counter, Rows, counter_of
from exchange.reports.sample_table import Sample, open_sample
from exchange.routing import Path
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
    """What an expression reaches. `count` is of the last stage. `saved` are the visits a day of the
    version that is saved. `is_hidden`: about so few people that it would be about persons."""

    sample: Sample
    count: Count
    stages: tuple[tuple[str, float], ...]
    saved: float | None
    limits: tuple[Limit, ...]
    shares: dict[str, tuple[float, float]]
    is_hidden: bool = False


def measure(expression: Expression, campaign: Campaign | None) -> Reached | None:
    """Measures an expression; None if no night was counted yet. The campaign comes with its
    advertiser, and whoever asks may see its bookings."""
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
        return Reached(sample, count, (), None, (), {}, is_hidden=True)
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
    )


def is_about_persons(expression: Expression) -> bool:
    """Tells whether the expression, or an audience that it names, asks for anything personal."""
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
    """Measures the saved version; None where there is none, or it no longer compiles."""
    if campaign is None:
        return None
    reader = ExpressionReader(load_catalog())
    try:
        saved = reader.read(campaign.expression, campaign.advertiser.organisation_id)
    except ExpressionError:
        return None
    return counter.visits(counter.of(saved) & last)


def find_limits(counter: Counter, expression: Expression, last: Rows) -> Iterator[Limit]:
    """Yields, of the conditions that must all be met, those without which there would be more, the
    most limiting first. The only one cannot be dropped."""
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
    """Finds, of all visits, how many each node is true of, and false; by its path."""
    nodes = list(walk_paths(expression.root))[:MOST_SHARES]
    judged = [(path, counter.judge(node, expression)) for path, node in nodes]
    return {path: (counter.share(one.true), counter.share(one.false)) for path, one in judged}


class Gate:
    """The visits that the campaign's bookings let by: `booked` are those at their publishers,
    `open` those for which a booking's path is open."""

    def __init__(self, counter: Counter, campaign: Campaign) -> None:
        self._counter = counter
        self._rules = SampleRules(counter)
        found = Booking.objects.active().with_parties().filter(campaign=campaign)
        bookings = list(found)
        self.is_booked = bool(bookings)
        self._edges: dict[int, Edge] = {}
        self.booked = self._join(self._at(booking) for booking in bookings)
        graph = load_graph()
        cheapest = find_cheapest(bookings, graph)
        ways = [self._list_edges(booking, graph, cheapest) for booking in bookings]
        self._edges = Edge.objects.with_parties().in_bulk({pk for way in ways for pk in way})
        opened = [
            self._at(booking) & self._walk(booking, way)
            for booking, way in zip(bookings, ways, strict=True)
        ]
        self.open = self._join(opened) & counter.can_count()

    def _join(self, parts: Iterable[Rows]) -> Rows:
        return reduce(np.logical_or, parts, np.zeros(len(self._counter.sample), dtype=bool))

    def _at(self, booking: Booking) -> Rows:
        return self._rules.at(booking.publisher)

    def _list_edges(
        self, booking: Booking, graph: SavedGraph, cheapest: dict[tuple[int, int, int], Path]
    ) -> tuple[int, ...]:
        """All that a path of the booking may take."""
        if booking.policy == Booking.Policy.ANY:
            ends = booking.publisher_id, booking.campaign.advertiser_id
            return tuple(graph.between(*ends, max_hops=booking.hop_limit).links)
        path = choose_path(booking, graph, cheapest)
        return path.edge_ids if path else ()

    def _walk(self, booking: Booking, edge_ids: tuple[int, ...]) -> Rows:
        """In rounds, for all rows at once: whom a visit can reach in so many hops."""
        everyone = np.ones(len(self._counter.sample), dtype=bool)
        reached = {booking.publisher_id: everyone}
        for _ in range(booking.hop_limit):
            before = dict(reached)
            for edge_id in edge_ids:
                edge = self._edges[edge_id]
                if edge.seller_id in before:
                    come = before[edge.seller_id] & self._rules.passes(edge)
                    reached[edge.buyer_id] = reached.get(edge.buyer_id, ~everyone) | come
        return reached.get(booking.campaign.advertiser_id, ~everyone)

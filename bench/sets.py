"""Opens workloads in memory, by name: s10k, ads1m (bench/workloads.py), b100k (demo bookings).

Bookings are those of the product: a third pinned, a third on the cheapest path, a third on any, the
demo's audiences; their visits are whole ones of the demo's log, at all publishers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from bench.workloads import open_workload
from matcher_ext import ATree
from targeting import Catalog

BOOKINGS = {"b3k": 3_000, "b100k": 100_000, "b1m": 1_000_000}
DEMO_BOOKINGS = 10_000  # up to so many the exchange has the demo's 12 publishers, above it 300
VISITS = 500
TRAINING_VISITS = 300
BATCH_VISITS = 4096


def leave_as_is(_index: ATree) -> None:
    """Sets no routes, because there is no graph."""


@dataclass(frozen=True, slots=True)
class Set:
    """One workload in memory."""

    name: str
    catalog: Catalog
    definitions: dict[str, str]
    texts: list[str]
    visits: list[dict[str, Any]]
    training_visits: list[dict[str, Any]]
    # These are all different, as in a log; there are none where no batch is measured.
    batch_visits: list[dict[str, Any]] = field(default_factory=list)
    # This gives an index that has its definitions the graph that bookings on any path need.
    set_routes: Callable[[ATree], None] = leave_as_is

    def open_index(self, **switches: bool) -> ATree:
        """Opens an index with everything but the expressions."""
        index = ATree(self.catalog, **switches)
        for name, text in self.definitions.items():
            index.define(name, text)
        self.set_routes(index)
        return index


def open_set(name: str) -> Set:
    if name in BOOKINGS:
        return open_bookings(name, BOOKINGS[name])
    workload = open_workload(name)
    catalog = Catalog.of(**dict.fromkeys(workload.attribute_names, "integer"))
    return Set(
        name,
        catalog,
        {},
        workload.expressions(),
        list(workload.visits()[:VISITS]),
        list(workload.training_visits()[:TRAINING_VISITS]),
        list(workload.batch_visits(BATCH_VISITS)),
    )


def open_bookings(name: str, count: int) -> Set:
    """Makes so many bookings of the demo exchange, as a build composes them, and visits of its
    log."""
    # These load Django, which nothing else here needs.
    from bench.demo_exchange import (
        DEMO_GRAPH,
        LARGE_GRAPH,
        SEED,
        ExchangeSize,
        draw_questions,
        make_market,
    )
    from exchange.demo.graph import build_graph
    from exchange.snapshots.building import set_routes
    from exchange.snapshots.composing import Composer

    # A few bookings have no path, and are left out as a build leaves them out.
    graph = LARGE_GRAPH if count > DEMO_BOOKINGS else DEMO_GRAPH
    size = ExchangeSize(name, graph, bookings=count + count // 20)
    market = make_market(build_graph(SEED, size.graph), size, datetime.now(UTC).date())
    composer = Composer(market)
    definitions = dict(composer.definitions())
    texts = [entry.text for entry in islice(composer.entries(), count)]
    # Visits are stamped as the endpoint does, because a flight is a condition on the time.
    now = int(market.read_at.timestamp() * 1000)
    stamps = {"time": now, "local_time": now}
    visits = [
        {**question.visit, "publisher.id": question.publisher, **stamps}
        for question in draw_questions(size, count=VISITS + TRAINING_VISITS + BATCH_VISITS)
    ]
    return Set(
        name,
        market.catalog,
        definitions,
        texts,
        visits[:VISITS],
        visits[VISITS : VISITS + TRAINING_VISITS],
        visits[VISITS + TRAINING_VISITS :],
        lambda index: set_routes(index, composer),
    )

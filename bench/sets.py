"""Workloads in memory, by name: s10k, ads1m (bench/workloads.py), b100k (the demo's bookings)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from bench.workloads import open_workload
from targeting import Catalog

BOOKINGS = {"b3k": 3_000, "b100k": 100_000, "b1m": 1_000_000}
VISITS = 500
TRAINING_VISITS = 300
BATCH_VISITS = 4096


@dataclass(frozen=True, slots=True)
class Set:
    """One workload in memory."""

    name: str
    catalog: Catalog
    definitions: dict[str, str]
    texts: list[str]
    visits: list[dict[str, Any]]
    training_visits: list[dict[str, Any]]
    # All different, as those of a log are; none where no batch is measured.
    batch_visits: list[dict[str, Any]] = field(default_factory=list)


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
    """So many bookings of the demo exchange, as a build composes them, and visits of its log."""
    # Loads Django, which nothing else here needs.
    from bench.demo_exchange import (
        LARGE_GRAPH,
        SEED,
        ExchangeSize,
        draw_questions,
        make_market,
    )
    from exchange.market.demo.graph import build_graph
    from exchange.snapshots.composing import Composer

    # A few have no path, and are left out as a build leaves them out.
    size = ExchangeSize(name, LARGE_GRAPH, bookings=count + count // 20)
    market = make_market(build_graph(SEED, size.graph), size, datetime.now(UTC).date())
    composer = Composer(market)
    definitions = dict(composer.definitions())
    texts = [entry.text for entry in islice(composer.entries(), count)]
    drawn = VISITS + TRAINING_VISITS + BATCH_VISITS
    questions = draw_questions(size, count=drawn, attributes=20)
    # As the endpoint stamps them: a flight is a condition on the time.
    now = int(market.read_at.timestamp() * 1000)
    visits: Sequence[dict[str, Any]] = [
        {**question.visit, "time": now, "local_time": now} for question in questions
    ]
    return Set(
        name,
        market.catalog,
        definitions,
        texts,
        list(visits[:VISITS]),
        list(visits[VISITS : VISITS + TRAINING_VISITS]),
        list(visits[VISITS + TRAINING_VISITS :]),
    )

"""Opens exchanges with a log of visits in Arrow, by name: what `bench.visits` prepares and asks.

    demo            the exchange that `make run` loads, and a day of its log: 74 attributes
    r3k, r100k, r1m bench/exchange_graph.py, a third of the bookings under each routing policy;
                    visits as that file draws them, 26 of 30 numbers and a publisher, drawn by numpy

The same name and number of visits always give the same exchange, and for the demo the same visits
within a day: its campaigns' flights are around today.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pyarrow as pa

from bench.exchange_graph import ATTRIBUTES, CARRIED, VALUES, Booked, Size
from bench.exchange_graph import SIZES as ROUTED
from bench.routing import Built, Composer, Keeper, build
from bench.workloads import CACHE
from matcher_ext import Snapshot
from targeting import Catalog

GROUPS = ("geo.country", "device.type")
SEED = 5


@dataclass(frozen=True, slots=True)
class VisitSet:
    """An exchange and its visits. `campaigns` are expressions without publisher and path."""

    name: str
    catalog: Catalog
    snapshot: Snapshot
    visits: pa.Table
    campaigns: list[str]
    definitions: dict[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()


def open_visit_set(name: str, visits: int) -> VisitSet:
    return open_demo(visits) if name == "demo" else open_routed(name, visits)


def open_demo(visits: int) -> VisitSet:
    # Loads Django, which the other sets do not need.
    from bench import demo_exchange as demo
    from exchange.demo.graph import build_graph
    from exchange.demo.visit_table import make_day
    from exchange.demo.visits import open_source
    from exchange.serving.directory import INDEX_FILE

    now = datetime.now(UTC)
    directory = demo.open_exchange(demo.DEMO, CACHE)
    manifest = directory.read_manifest()
    assert manifest is not None
    market = demo.make_market(build_graph(demo.SEED, demo.DEMO.graph), demo.DEMO, now.date())
    # A publisher's day has more or fewer visits than were asked for.
    source = open_source(demo.SEED, visits + visits // 10)
    day = make_day(source, now.date() - timedelta(days=1))
    return VisitSet(
        "demo",
        market.catalog,
        Snapshot.open(directory.folder(manifest.snapshot_id) / INDEX_FILE),
        day.slice(0, visits),
        [row.expression for row in market.campaigns.values()],
        {row.name: row.expression for row in market.audiences},
        GROUPS,
    )


def open_routed(name: str, visits: int, *, bookings: int | None = None) -> VisitSet:
    """Opens a routed exchange with its log; with `bookings`, only so many of them."""
    keeper = Keeper.from_environment()
    booked = keeper.exchange(name)
    chosen = booked.bookings[:bookings]
    form = f"{name} visits" if bookings is None else f"{name} visits {bookings}"
    built = keeper.build(form, partial(build_thirds, booked, chosen))
    return VisitSet(
        name,
        booked.catalog,
        built.snapshot,
        draw_visits(ROUTED[name], visits),
        booked.campaigns,
    )


def build_thirds(booked: Booked, bookings: Sequence[object]) -> Built:
    thirds = [booked.bookings[: len(bookings)][i::3] for i in range(3)]
    composer = Composer(booked, thirds[1])
    return build(
        booked,
        [
            (composer.pinned, thirds[0]),
            (composer.cheapest_path, thirds[1]),
            (composer.any_path, thirds[2]),
        ],
    )


def draw_visits(size: Size, count: int, publishers: int | None = None) -> pa.Table:
    """Draws visits, spread over the publishers of the size, or over `publishers` of whom the first
    have bookings."""
    rng = np.random.default_rng(SEED)
    is_missing = rng.permuted(np.tile(np.arange(ATTRIBUTES) >= CARRIED, (count, 1)), axis=1)
    columns: dict[str, pa.Array] = {
        f"a{i}": pa.array(rng.integers(0, VALUES, count), mask=is_missing[:, i])
        for i in range(ATTRIBUTES)
    }
    sellers = rng.integers(0, publishers or size.publishers, count)
    names = pa.array([f"p{seller}" for seller in range(publishers or size.publishers)])
    columns["publisher.id"] = names.take(pa.array(sellers))
    return pa.table(columns)

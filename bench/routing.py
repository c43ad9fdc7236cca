"""What a routing policy costs a visit, and what changing an edge costs: `python -m bench routing`.

A third of an exchange's bookings under each policy, each third as an index of its own, then all of
them together; beside them the bookings of the first third as plain entries with their edges written
out, the form that needs no definitions. In microseconds of the processor. "Any" written out would
be one conjunction per path: the last line says how many there are on average. Other sizes may
follow `python -m bench.routing`; TREELINE_BENCH_FULL=1 gives every policy all the bookings.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.exchange_graph import HOPS, Booked, Booking, make_exchange
from bench.rounds import Contestant, per_call, show, time_in_rounds, timed
from matcher_ext import ATree, Snapshot

SIZES = ("r3k", "r1m")
CHANGED_BOOKINGS = 100_000
CHANGES = 200
COUNTED_PAIRS = 200

Write = Callable[[Booking], str]


@dataclass(frozen=True, slots=True)
class Built:
    snapshot: Snapshot
    seconds: float


class Composer:
    """Bookings as entries of the index, by policy. Follows what the snapshot builder does."""

    def __init__(self, booked: Booked, cheapest: Iterable[Booking] = ()) -> None:
        """`cheapest`: the bookings that take the cheapest path."""
        self.booked = booked
        self.cheapest = booked.cheapest(cheapest)

    def pinned(self, booking: Booking) -> str:
        return self._entry(booking, *(f"@edge.{edge_id}" for edge_id in booking.pinned))

    def cheapest_path(self, booking: Booking) -> str:
        path = self.cheapest[booking.publisher, booking.advertiser]
        return self._entry(booking, *(f"@edge.{edge_id}" for edge_id in path))

    def any_path(self, booking: Booking) -> str:
        return self._entry(booking, f"@reach.{booking.advertiser}.{HOPS}")

    def written_out(self, booking: Booking) -> str:
        edges = self.booked.exchange.edges
        return self._entry(booking, *(f"({edges[edge_id]})" for edge_id in booking.pinned))

    def _entry(self, booking: Booking, *edges: str) -> str:
        campaign = self.booked.campaigns[booking.campaign]
        return f"publisher.id = 'p{booking.publisher}' and {' and '.join(edges)} and ({campaign})"


def open_index(booked: Booked, *, has_edges: bool = True) -> ATree:
    exchange = booked.exchange
    index = ATree(booked.catalog)
    if has_edges:
        for edge_id, text in exchange.edges.items():
            index.define(f"edge.{edge_id}", text)
        names = {party: f"{party:06}" for party in exchange.parties}
        labels = {party: f"p{party}" for party in exchange.parties}
        index.set_routes(names, exchange.links, labels, range(exchange.size.publishers))
    return index


def build(booked: Booked, parts: Sequence[tuple[Write, Sequence[Booking]]]) -> Built:
    """`parts`: which bookings, written how."""
    has_edges = all(write.__name__ != "written_out" for write, _ in parts)
    index = open_index(booked, has_edges=has_edges)
    texts = []
    for write, bookings in parts:
        if write.__name__ == "any_path":
            for advertiser in {booking.advertiser for booking in bookings}:
                index.define_reach(advertiser, HOPS)
        texts += [write(booking) for booking in bookings]
    insert_seconds, _ = timed(lambda: index.insert_many(range(len(texts)), texts))
    index.learn_truth_rates(booked.visits[::2])
    freeze_seconds, snapshot = timed(index.freeze)
    print(f"built {len(texts)} entries", file=sys.stderr)
    return Built(snapshot, insert_seconds + freeze_seconds)


def measure_policies(booked: Booked) -> dict[str, dict[str, float]]:
    bookings = booked.bookings
    step = 1 if os.environ.get("TREELINE_BENCH_FULL") else 3
    thirds = [bookings[i % step :: step] for i in range(3)]
    composer = Composer(booked, thirds[1])
    forms: list[tuple[str, Write]] = [
        ("pinned", composer.pinned),
        ("cheapest", composer.cheapest_path),
        ("any", composer.any_path),
    ]
    built = {
        name: build(booked, [(write, third)])
        for (name, write), third in zip(forms, thirds, strict=True)
    }
    together = [(write, bookings[i::3]) for i, (_, write) in enumerate(forms)]
    built["all three"] = build(booked, together)
    built["pinned, written out"] = build(booked, [(composer.written_out, thirds[0])])
    check_same(built["pinned"], built["pinned, written out"], booked)
    visits = booked.visits[1::2]
    contestants: dict[str, Contestant] = {
        name: (one.snapshot.match_ids, visits) for name, one in built.items()
    }
    # The call itself and reading the visit, without anything to match.
    contestants[""] = (ATree(booked.catalog).freeze().match_ids, visits)
    times = time_in_rounds(contestants)
    return {
        name: describe(one, times[name], visits) | {"of it the call": statistics.median(times[""])}
        for name, one in built.items()
    }


def check_same(one: Built, other: Built, booked: Booked) -> None:
    for visit in booked.visits[:50]:
        assert one.snapshot.match(visit) == other.snapshot.match(visit)


def describe(
    built: Built, times: list[float], visits: Sequence[dict[str, Any]]
) -> dict[str, float]:
    return {
        "bookings": float(len(built.snapshot)),
        "matches": statistics.mean(len(built.snapshot.match_ids(visit)) for visit in visits),
        "match us": statistics.median(times),
        "p99 us": statistics.quantiles(times, n=100)[-1],
        "build s": built.seconds,
        "MB": built.snapshot.stats()["bytes"] / 1e6,
    }


def measure_change(booked: Booked) -> dict[str, float]:
    """One edge that all bookings take, given another rule again and again."""
    composer, count = Composer(booked), min(CHANGED_BOOKINGS, len(booked.bookings))
    index = open_index(booked)
    index.insert_many(
        range(count),
        [f"{composer.pinned(booking)} and @edge.1" for booking in booked.bookings[:count]],
    )
    index.freeze()
    nodes = index.stats()["nodes"]
    rules = list(booked.exchange.edges.values())
    redefine = per_call(
        index.define, [("edge.1", rules[i % len(rules)]) for i in range(1, CHANGES + 1)]
    )
    first_match, _ = timed(lambda: index.match_ids(booked.visits[0]))
    return {
        "bookings behind the edge": float(count),
        "redefine us": redefine,
        "first match after it ms": 1e3 * first_match,
        "nodes more than before": float(index.stats()["nodes"] - nodes),
    }


def count_paths(booked: Booked) -> float:
    """Paths of a booking within its hops, on average."""
    exchange = booked.exchange

    def count(party: int, target: int, hops: int) -> int:
        if party == target:
            return 1
        if hops == 0:
            return 0
        buyers = (exchange.links[edge_id - 1][2] for edge_id in exchange.out.get(party, ()))
        return sum(
            count(buyer, target, hops - 1)
            for buyer in buyers
            if buyer == target or buyer < exchange.first_advertiser
        )

    sample = booked.bookings[:COUNTED_PAIRS]
    return statistics.mean(count(b.publisher, b.advertiser, HOPS) for b in sample)


def main(names: Iterable[str]) -> int:
    for name in list(names) or SIZES:
        booked = make_exchange(name)
        exchange = booked.exchange
        print(
            f"{name}: {exchange.size.publishers:,} publishers, {sum(exchange.size.layers):,} "
            f"intermediaries, {exchange.size.advertisers:,} advertisers, "
            f"{len(exchange.links):,} edges, {len(booked.campaigns):,} campaigns\n"
        )
        show(measure_policies(booked))
        print(f"\nPaths of a booking within {HOPS} hops: {count_paths(booked):.0f} on average.\n")
        show({"one edge changed": measure_change(booked)})
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

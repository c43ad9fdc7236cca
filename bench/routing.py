"""Measures what each routing policy costs a visit, and a changed edge: `python -m bench routing`.

A third of an exchange's bookings is under each policy. Each third is an index of its own, then all
of them together; beside them stand the bookings of the first third as plain entries with their
edges written out, the form that needs no definitions. Times are microseconds of the processor.
"Any" written out would be one conjunction per path: a line says how many there are on average.
Other sizes may follow `python -m bench.routing`; TREELINE_BENCH_FULL=1 adds the million bookings,
also all of them under one policy. What is made is kept in the folder TREELINE_BENCH_FOLDER, if it
is given, so that a second run only measures.
"""

from __future__ import annotations

import os
import pickle
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from bench.exchange_graph import HOPS, Booked, Booking, Exchange, make_exchange
from bench.exchange_graph import Path as EdgePath
from bench.rounds import (
    REPEATED,
    Contestant,
    per_call,
    show,
    time_in_rounds,
    time_in_turn,
    timed,
)
from matcher_ext import ATree, LiveIndex, Snapshot

SIZES = ("r3k", "r100k")
LARGE = "r1m"
CHANGED_BOOKINGS = 100_000
CHANGES = 200
COUNTED_PAIRS = 200

Write = Callable[[Booking], str]


@dataclass(frozen=True, slots=True)
class Built:
    snapshot: Snapshot
    seconds: float


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps what takes long to make, if there is a folder."""

    folder: Path | None

    @classmethod
    def from_environment(cls) -> Keeper:
        folder = os.environ.get("TREELINE_BENCH_FOLDER")
        return cls(Path(folder) if folder else None)

    def exchange(self, name: str) -> Booked:
        if self.folder is None:
            return make_exchange(name)
        path = self.folder / f"{name}.pickle"
        if not path.exists():
            path.write_bytes(pickle.dumps(make_exchange(name)))
        booked: Booked = pickle.loads(path.read_bytes())  # noqa: S301  (ours)
        return booked

    def build(self, name: str, make: Callable[[], Built]) -> Built:
        if self.folder is None:
            return make()
        path = self.folder / f"{name.replace(' ', '-').replace(',', '')}.atree"
        seconds = path.with_suffix(".seconds")
        if path.exists():
            return Built(Snapshot.open(path), float(seconds.read_text()))
        built = make()
        seconds.write_text(str(built.seconds))
        built.snapshot.save(path)
        return built


class Composer:
    """Writes bookings as entries of the index, by policy, as the snapshot builder does."""

    def __init__(self, booked: Booked, cheapest: Iterable[Booking] = ()) -> None:
        """Takes the bookings that are on the `cheapest` path."""
        self.booked = booked
        self.takers = cheapest

    @cached_property
    def cheapest(self) -> dict[tuple[int, int], EdgePath]:
        """Finds the cheapest paths, by publisher and advertiser, when they are first needed: what
        needs them may be kept already."""
        return self.booked.cheapest(self.takers)

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
        routes = Routes.of(exchange)
        index.define(f"edge.{exchange.next_edge}", "false")
        index.set_routes(
            routes.names, routes.links, routes.labels, routes.publishers, spare=[exchange.next_edge]
        )
    return index


@dataclass(frozen=True, slots=True)
class Routes:
    """The graph as the index takes it."""

    names: dict[int, str]
    links: Sequence[tuple[int, int, int, int]]
    labels: dict[int, str]
    publishers: range

    @classmethod
    def of(cls, exchange: Exchange, *more: tuple[int, int, int, int]) -> Routes:
        names = {party: f"{party:06}" for party in exchange.parties}
        labels = {party: f"p{party}" for party in exchange.parties}
        return cls(names, [*exchange.links, *more], labels, range(exchange.size.publishers))


def build(booked: Booked, parts: Sequence[tuple[Write, Sequence[Booking]]]) -> Built:
    """Builds an index of `parts`: bookings, and how to write them."""
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


def measure_policies(name: str, booked: Booked, keeper: Keeper) -> dict[str, dict[str, float]]:
    bookings = booked.bookings
    thirds = [bookings[i::3] for i in range(3)]
    composer = Composer(booked, thirds[1])
    parts: dict[str, list[tuple[Write, Sequence[Booking]]]] = {
        "pinned": [(composer.pinned, thirds[0])],
        "cheapest": [(composer.cheapest_path, thirds[1])],
        "any": [(composer.any_path, thirds[2])],
    }
    parts["all three"] = [part for policy in list(parts.values()) for part in policy]
    parts["pinned, written out"] = [(composer.written_out, thirds[0])]
    if name == LARGE:
        parts["all of them pinned"] = [(composer.pinned, bookings)]
        parts["all of them any"] = [(composer.any_path, bookings)]
    built = {
        form: keeper.build(f"{name} {form}", partial(build, booked, of_form))
        for form, of_form in parts.items()
    }
    check_same(built["pinned"], built["pinned, written out"], booked)
    visits = booked.visits[1::2]
    contestants: dict[str, Contestant] = {
        form: (one.snapshot.match_ids, visits) for form, one in built.items()
    }
    # This is the call itself and reading the visit, without anything to match.
    contestants["call"] = (ATree(booked.catalog).freeze().match_ids, visits)
    # The clock is measured by itself. Repeating a match in a loop to keep the clock out would let
    # the processor learn the visit by heart.
    contestants["clock"] = (id, visits)
    times = time_in_rounds(contestants)
    shares = {f"of it the {part}": statistics.median(times[part]) for part in ("call", "clock")}
    return {form: describe(one, times[form], visits) | shares for form, one in built.items()}


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
        "in turn us": time_in_turn(built.snapshot.match_ids, visits),
        "build s": built.seconds,
        "MB": built.snapshot.stats()["bytes"] / 1e6,
    }


def measure_change(booked: Booked) -> dict[str, float]:
    """Gives one edge, which all bookings take, another rule again and again."""
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
    """Counts the paths of a booking within its hops, on average."""
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


def measure_new_edge(name: str, booked: Booked, keeper: Keeper) -> dict[str, float]:
    """Lays one more edge over the graph of a snapshot, for bookings on any path. It leads from a
    publisher to a seller of the last layer; visits of that publisher are measured before and after,
    and those of the others after."""
    composer = Composer(booked)
    parts = [(composer.any_path, booked.bookings[2::3])]
    snapshot = keeper.build(f"{name} any", partial(build, booked, parts)).snapshot
    live, exchange = LiveIndex(snapshot), booked.exchange
    edge_id, label = exchange.next_edge, booked.visits[1]["publisher.id"]
    link = edge_id, int(label[1:]), exchange.layer(2)[0], 9_900
    theirs = [visit for visit in booked.visits if visit["publisher.id"] == label]
    others = [visit for visit in booked.visits if visit["publisher.id"] != label][:100]
    before = time_in_rounds({"": (live.match_ids, theirs)})[""]
    routes, definition = Routes.of(exchange, link), (f"edge.{edge_id}", exchange.edges[1])
    change, _ = timed(lambda: live.apply(definitions=[definition], routes=routes))
    first_match, _ = timed(lambda: live.match_ids(booked.visits[1]))
    after = time_in_rounds({"": (live.match_ids, theirs), "others": (live.match_ids, others)})
    return {
        "laid over ms": 1e3 * change,
        "first match after it ms": 1e3 * first_match,
        "match us before": statistics.median(before),
        "match us after": statistics.median(after[""]),
        "at other publishers": statistics.median(after["others"]),
    }


def main(names: Iterable[str]) -> int:
    keeper = Keeper.from_environment()
    large = (LARGE,) if os.environ.get("TREELINE_BENCH_FULL") else ()
    print("A made-up exchange with bookings under all three policies; 200 different visits of 27")
    print(f"attributes, other ones than truth rates were learnt from. {REPEATED}")
    print('"In turn": once in each of eight rounds, after all others.\n')
    for name in list(names) or (*SIZES, *large):
        booked = keeper.exchange(name)
        exchange = booked.exchange
        print(
            f"{name}: {exchange.size.publishers:,} publishers, {sum(exchange.size.layers):,} "
            f"intermediaries, {exchange.size.advertisers:,} advertisers, "
            f"{len(exchange.links):,} edges, {len(booked.campaigns):,} campaigns\n"
        )
        show(measure_policies(name, booked, keeper))
        print(f"\nPaths of a booking within {HOPS} hops: {count_paths(booked):.0f} on average.\n")
        show({"one edge changed": measure_change(booked)})
        print()
        show({"one edge more, any path": measure_new_edge(name, booked, keeper)})
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Makes an exchange in layers, with bookings for every policy: the workload of `bench.routing`.

    publishers -> first -> second -> last intermediaries -> advertisers

Some edges skip a layer. Edges are true of about half of all visits, campaigns of about a third; a
campaign is booked with several publishers. The same numbers always give the same exchange.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from matcher_ext.routes import RouteGraph
from targeting import Catalog

ATTRIBUTES = 30
CARRIED = 26
VALUES = 1000
HOPS = 5
BOOKINGS_PER_CAMPAIGN = 10
PURCHASES = 2  # edges into each advertiser

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """Parties by layer, edges out of each, and bookings."""

    bookings: int
    publishers: int
    layers: tuple[int, int, int]
    advertisers: int
    publisher_sales: int
    sales: int = 8


SIZES = {
    "r3k": Size(3_000, 12, (15, 15, 10), 150, 9),
    "r100k": Size(100_000, 12, (15, 15, 10), 3_000, 9),
    "r1m": Size(1_000_000, 200, (700, 700, 600), 20_000, 30),
}


@dataclass(slots=True)
class Exchange:
    """Parties are numbers; an edge's id is its place in `links` plus one."""

    size: Size
    links: list[tuple[int, int, int, int]] = field(default_factory=list)
    edges: dict[int, str] = field(default_factory=dict)
    out: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    seen: set[tuple[int, int]] = field(default_factory=set)

    @property
    def first_advertiser(self) -> int:
        return self.size.publishers + sum(self.size.layers)

    @property
    def next_edge(self) -> int:
        """Gives the id that the next edge will have."""
        return len(self.links) + 1

    @property
    def parties(self) -> range:
        return range(self.first_advertiser + self.size.advertisers)

    def connect(self, chosen: random.Random, seller: int, buyer: int) -> None:
        if (seller, buyer) in self.seen:
            return
        self.seen.add((seller, buyer))
        edge_id = len(self.links) + 1
        self.links.append((edge_id, seller, buyer, 10_000 - 10 * chosen.randrange(300)))
        self.edges[edge_id] = write_edge(chosen)
        self.out[seller].append(edge_id)

    def layer(self, number: int) -> range:
        start = self.size.publishers + sum(self.size.layers[:number])
        return range(start, start + self.size.layers[number])


@dataclass(frozen=True, slots=True)
class Booking:
    campaign: int
    publisher: int
    advertiser: int
    pinned: Path


@dataclass(frozen=True, slots=True)
class Booked:
    """An exchange with its bookings, campaigns and visits."""

    exchange: Exchange
    catalog: Catalog
    campaigns: list[str]
    bookings: list[Booking]
    visits: list[dict[str, Any]]

    def cheapest(self, bookings: Iterable[Booking]) -> dict[tuple[int, int], Path]:
        """Finds the cheapest path for each publisher and advertiser of these bookings, whatever the
        expressions say."""
        links = self.exchange.links
        graph = RouteGraph({party: f"{party:06}" for party in self.exchange.parties}, links)
        truths = dict.fromkeys(self.exchange.edges, True)
        wanted: dict[int, set[int]] = defaultdict(set)
        for booking in bookings:
            wanted[booking.publisher].add(booking.advertiser)
        found: dict[tuple[int, int], Path] = {}
        for publisher, advertisers in wanted.items():
            paths, _ = graph.find_paths(publisher, truths, HOPS, advertisers)
            found |= {(publisher, advertiser): paths[advertiser][0] for advertiser in paths}
        return found


def make_exchange(name: str, visits: int = 400) -> Booked:
    size = SIZES[name]
    chosen = random.Random(5)
    exchange = connect_all(chosen, size)
    bookings = list(share_campaigns(draw_bookings(chosen, exchange)))
    campaigns = [write_campaign(chosen) for _ in range(bookings[-1].campaign + 1)]
    chosen.shuffle(bookings)
    types = {f"a{i}": "integer" for i in range(ATTRIBUTES)} | {"publisher.id": "string"}
    seen = [draw_visit(chosen, size) for _ in range(visits)]
    return Booked(exchange, Catalog.of(**types), campaigns, bookings, seen)


def share_campaigns(bookings: Iterable[Booking]) -> Iterator[Booking]:
    """Gives several bookings of one advertiser the same campaign."""
    number, count, advertiser = -1, 0, None
    for booking in sorted(bookings, key=lambda booking: booking.advertiser):
        if booking.advertiser != advertiser or count == BOOKINGS_PER_CAMPAIGN:
            number, count, advertiser = number + 1, 0, booking.advertiser
        count += 1
        yield replace(booking, campaign=number)


def connect_all(chosen: random.Random, size: Size) -> Exchange:
    exchange = Exchange(size)
    first, second, last = (exchange.layer(number) for number in range(3))
    for publisher in range(size.publishers):
        for _ in range(size.publisher_sales):
            exchange.connect(chosen, publisher, chosen.choice(first))
    for seller in first:
        for sale in range(size.sales):
            exchange.connect(chosen, seller, chosen.choice(second if sale < 6 else last))
    for seller in second:
        for _ in range(size.sales):
            exchange.connect(chosen, seller, chosen.choice(last))
    for advertiser in range(exchange.first_advertiser, len(exchange.parties)):
        for _ in range(PURCHASES):
            seller = chosen.choice(chosen.choice((first, second, last)))
            exchange.connect(chosen, seller, advertiser)
    return exchange


def draw_bookings(chosen: random.Random, exchange: Exchange) -> Iterator[Booking]:
    """Draws bookings along random walks from a publisher to an advertiser, of three to five
    hops."""
    for _ in range(exchange.size.bookings):
        while True:
            publisher = party = chosen.randrange(exchange.size.publishers)
            path: list[int] = []
            while party < exchange.first_advertiser and len(path) < HOPS and exchange.out[party]:
                path.append(chosen.choice(exchange.out[party]))
                party = exchange.links[path[-1] - 1][2]
            if party >= exchange.first_advertiser and len(path) >= 3:
                break
        yield Booking(0, publisher, party, tuple(path))


def draw_visit(chosen: random.Random, size: Size) -> dict[str, Any]:
    visit: dict[str, Any] = {
        f"a{i}": chosen.randrange(VALUES) for i in chosen.sample(range(ATTRIBUTES), CARRIED)
    }
    return visit | {"publisher.id": f"p{chosen.randrange(size.publishers)}"}


def write_wide(chosen: random.Random) -> str:
    """Writes a condition that is true of most visits."""
    name, half = f"a{chosen.randrange(ATTRIBUTES)}", VALUES // 2
    return chosen.choice(
        (
            f"{name} != {chosen.randrange(VALUES)}",
            f"{name} not in ({write_values(chosen, 4)})",
            f"{name} <= {half + chosen.randrange(half)}",
            f"{name} >= {chosen.randrange(half)}",
        )
    )


def write_narrow(chosen: random.Random) -> str:
    name, low = f"a{chosen.randrange(ATTRIBUTES)}", chosen.randrange(VALUES)
    return chosen.choice(
        (
            f"{name} = {low}",
            f"{name} = {low}",
            f"{name} in ({write_values(chosen, chosen.randint(2, 6))})",
            f"{name} in ({write_values(chosen, chosen.randint(2, 6))})",
            f"{name} between {low} and {low + chosen.randrange(200)}",
        )
    )


def write_values(chosen: random.Random, count: int) -> str:
    return ", ".join(str(chosen.randrange(VALUES)) for _ in range(count))


def write_groups(chosen: random.Random, count: int, widest: int, narrow: float) -> str:
    """Writes an AND of small ORs: `count` conditions, at most `widest` in each OR."""
    groups = []
    while count > 0:
        size = min(count, chosen.randint(1, widest))
        parts = [
            write_narrow(chosen) if chosen.random() < narrow else write_wide(chosen)
            for _ in range(size)
        ]
        groups.append(parts[0] if size == 1 else f"({' or '.join(parts)})")
        count -= size
    return " and ".join(groups)


def write_edge(chosen: random.Random) -> str:
    return write_groups(chosen, chosen.randint(2, 7), 3, 0.2)


def write_campaign(chosen: random.Random) -> str:
    return write_groups(chosen, chosen.randint(6, 14), 4, 0.3)

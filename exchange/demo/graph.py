"""Builds the demo's graph: publishers -> supply platforms -> exchanges, resellers -> DSPs ->
advertisers.

Routes take two to five hops. There are diamonds (several ways between two parties) and one cycle
among exchanges, as real supply chains have them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from exchange.demo.chance import Weighted, stream
from exchange.demo.names import name_brands, name_intermediaries, slug
from exchange.demo.publishers import PUBLISHERS, Publisher
from exchange.demo.rules import (
    ADVERTISER_RULES,
    MARKET_RULES,
    PUBLISHER_RULES,
    Rule,
    only_tv,
)
from exchange.demo.vocabulary import Sector

# One advertiser of so many has ended its contracts: its bookings have no path.
LEAVING_EVERY = 60


@dataclass(frozen=True, slots=True)
class GraphSize:
    """How many of each there are; the defaults are the demo's, benchmarks ask for more."""

    publishers: int = 12
    ssps: int = 12
    exchanges: int = 8
    resellers: int = 8
    dsps: int = 12
    advertisers: int = 150


@dataclass(frozen=True, slots=True)
class Party:
    """A generated party. `kind` is the database's; parties are referred to by their place in
    `Graph.parties`."""

    kind: str
    name: str
    seller_id: str
    domain: str


@dataclass(frozen=True, slots=True)
class Edge:
    seller: int
    buyer: int
    expression: str
    fee_percent: Decimal
    is_active: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """Parties in a fixed order, and who is what among them by index."""

    parties: tuple[Party, ...]
    edges: tuple[Edge, ...]
    publishers: dict[int, Publisher]
    advertisers: dict[int, Sector]


class _Builder:
    """Collects parties and edges; an edge that exists already is not added again."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.parties: list[Party] = []
        self.edges: dict[tuple[int, int], Edge] = {}

    def add_party(self, kind: str, name: str, seller_id: str, domain: str) -> int:
        self.parties.append(Party(kind, name, seller_id, domain))
        return len(self.parties) - 1

    def add_intermediaries(self, kind: str, count: int) -> list[int]:
        names = name_intermediaries(kind, count)
        return [self.add_party("intermediary", n, slug(n), f"{slug(n)}.example") for n in names]

    def sell(
        self, seller: int, buyers: Sequence[int], rules: Weighted[Rule], fee: tuple[int, int]
    ) -> None:
        for buyer in buyers:
            self.sell_under(seller, buyer, rules.draw(self.rng), fee)

    def sell_under(
        self,
        seller: int,
        buyer: int,
        rule: Rule,
        fee: tuple[int, int],
        *,
        is_active: bool | None = None,
    ) -> None:
        """Adds an edge; `fee` bounds are in quarter percents: so fees look like agreed ones."""
        if seller == buyer or (seller, buyer) in self.edges:
            return
        percent = Decimal(self.rng.randint(*fee)) / 4
        if is_active is None:
            is_active = self.rng.random() > 0.015
        self.edges[seller, buyer] = Edge(seller, buyer, rule(self.rng), percent, is_active)

    def some(self, among: Sequence[int], least: int, most: int) -> list[int]:
        return self.rng.sample(among, min(len(among), self.rng.randint(least, most)))


def build_graph(seed: int, size: GraphSize | None = None) -> Graph:
    size = size or GraphSize()
    builder = _Builder(stream(seed, "graph"))
    publishers = _add_publishers(builder, size.publishers)
    ssps = builder.add_intermediaries("ssp", size.ssps)
    exchanges = builder.add_intermediaries("exchange", size.exchanges)
    resellers = builder.add_intermediaries("reseller", size.resellers)
    dsps = builder.add_intermediaries("dsp", size.dsps)
    advertisers = {
        builder.add_party("advertiser", name, slug(name), f"{slug(name)}.example"): sector
        for name, sector in name_brands(size.advertisers, builder.rng)
    }
    _connect_supply(builder, publishers, ssps, dsps)
    _connect_market(builder, ssps, exchanges, resellers, dsps)
    _connect_demand(builder, dsps, list(advertisers))
    return Graph(tuple(builder.parties), tuple(builder.edges.values()), publishers, advertisers)


def _add_publishers(builder: _Builder, count: int) -> dict[int, Publisher]:
    """Adds the written publishers; beyond those, numbered editions of them."""
    added = {}
    for number in range(count):
        profile = PUBLISHERS[number % len(PUBLISHERS)]
        edition = number // len(PUBLISHERS)
        suffix = "" if edition == 0 else f" {edition + 1}"
        seller_id = profile.seller_id + suffix.replace(" ", "-")
        added[builder.add_party("publisher", profile.name + suffix, seller_id, profile.domain)] = (
            profile
        )
    return added


def _connect_supply(
    builder: _Builder, publishers: dict[int, Publisher], ssps: list[int], dsps: list[int]
) -> None:
    for number, publisher in enumerate(publishers):
        builder.sell(publisher, [ssps[number % len(ssps)]], PUBLISHER_RULES, (24, 60))
        builder.sell(publisher, builder.some(ssps, 3, 4), PUBLISHER_RULES, (32, 72))
        if number % 2 == 0:
            builder.sell(publisher, builder.some(dsps, 1, 2), PUBLISHER_RULES, (24, 60))


def _connect_market(
    builder: _Builder, ssps: list[int], exchanges: list[int], resellers: list[int], dsps: list[int]
) -> None:
    for ssp in ssps:
        builder.sell(ssp, builder.some(exchanges, 3, 4), MARKET_RULES, (16, 48))
        builder.sell(ssp, builder.some(resellers, 1, 2), MARKET_RULES, (6, 24))
        builder.sell(ssp, builder.some(dsps, 2, 3), MARKET_RULES, (24, 60))
    for reseller in resellers:
        builder.sell(reseller, builder.some(exchanges, 2, 3), MARKET_RULES, (6, 20))
    # The last two platforms buy from nobody but supply platforms: not every publisher reaches them.
    for exchange in exchanges:
        builder.sell(exchange, builder.some(dsps[:-2] or dsps, 5, 7), MARKET_RULES, (8, 40))
    # The cycle: each of three exchanges passes what it cannot sell to the next.
    for place in range(min(3, len(exchanges))):
        builder.sell(exchanges[place], [exchanges[(place + 1) % 3]], MARKET_RULES, (40, 72))
    if len(ssps) > 8 and len(dsps) > 5:
        builder.sell_under(ssps[8], dsps[5], only_tv, (24, 40))


def _connect_demand(builder: _Builder, dsps: list[int], advertisers: list[int]) -> None:
    """Connects advertisers: large ones buy through several platforms, small ones through one."""
    for number, advertiser in enumerate(advertisers):
        wanted = (1, 2) if number % 3 == 2 else (2, 4)
        has_left = number % LEAVING_EVERY == LEAVING_EVERY - 1
        for dsp in builder.some(dsps, *wanted):
            builder.sell_under(
                dsp,
                advertiser,
                ADVERTISER_RULES.draw(builder.rng),
                (16, 60),
                is_active=not has_left,
            )


def reachable_advertisers(graph: Graph) -> dict[int, frozenset[int]]:
    """Finds, for each publisher, whom its visits can reach over active edges."""
    buyers: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.is_active:
            buyers.setdefault(edge.seller, []).append(edge.buyer)
    reached = {}
    for publisher in graph.publishers:
        seen, open_ = {publisher}, [publisher]
        while open_:
            new = [buyer for buyer in buyers.get(open_.pop(), ()) if buyer not in seen]
            seen.update(new)
            open_ += new
        reached[publisher] = frozenset(seen & graph.advertisers.keys())
    return reached

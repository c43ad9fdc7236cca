"""Streams the demo's campaigns with their bookings; never holds more than one at a time.

The first N of a larger set are the same as a set of N: everything is drawn in one order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from exchange.demo.briefs import write_brief
from exchange.demo.chance import Weighted, stream, weigh, zipf
from exchange.demo.graph import Graph, reachable_advertisers
from exchange.demo.machines import write_by_machine
from exchange.demo.names import CampaignNames
from exchange.demo.pieces import Pieces, build_pieces
from exchange.demo.vocabulary import Sector
from exchange.demo.world import BY_CODE, REGIONS

MACHINE_SHARE = 0.12
STRAY_BOOKING_SHARE = 0.02
BOOKINGS: Weighted[int] = weigh({1: 25, 2: 30, 3: 22, 4: 14, 5: 9})
STATUSES: Weighted[str] = weigh({"live": 83, "paused": 9, "draft": 8})


@dataclass(frozen=True, slots=True)
class Campaign:
    """A generated campaign. `advertiser` and `publishers` are places in `Graph.parties`; the flight
    is half open."""

    advertiser: int
    name: str
    expression: str
    status: str
    starts_at: datetime
    ends_at: datetime | None
    bid_cpm: float
    publishers: tuple[int, ...]


def stream_campaigns(graph: Graph, seed: int, reference: date, count: int) -> Iterator[Campaign]:
    rng = stream(seed, "campaigns")
    writer = _Writer(graph, build_pieces(seed))
    names = CampaignNames()
    advertisers = zipf(list(graph.advertisers), 0.35)
    shelf = _Shelf(graph)
    regions = _regions_by_weight()
    for _ in range(count):
        advertiser = advertisers.draw(rng)
        sector = graph.advertisers[advertiser]
        region = regions.draw(rng)
        publishers = shelf.draw(advertiser, region, BOOKINGS.draw(rng), rng)
        starts_at, ends_at = _draw_flight(reference, rng)
        yield Campaign(
            advertiser=advertiser,
            name=names.next_for(
                graph.parties[advertiser].name, rng.choice(sector.products), region
            ),
            expression=writer.write(sector, region, publishers, rng),
            status=STATUSES.draw(rng),
            starts_at=starts_at,
            ends_at=ends_at,
            bid_cpm=_draw_bid(sector, rng),
            publishers=publishers,
        )


class _Writer:
    """Who writes a campaign's expression: mostly people, sometimes a program."""

    def __init__(self, graph: Graph, pieces: Pieces) -> None:
        self._profiles = graph.publishers
        self._pieces = pieces

    def write(
        self, sector: Sector, region: str, publishers: tuple[int, ...], rng: random.Random
    ) -> str:
        if rng.random() < MACHINE_SHARE:
            return write_by_machine(sector, region, self._pieces, rng)
        profiles = [self._profiles[publisher] for publisher in publishers]
        return write_brief(sector, region, profiles, self._pieces, rng)


def _regions_by_weight() -> Weighted[str]:
    """Weighs regions: large markets are wanted more often, but small ones have some campaigns."""
    weights = [sum(BY_CODE[code].weight for code in codes) ** 0.6 for codes in REGIONS.values()]
    return Weighted(list(REGIONS), weights)


def _draw_bid(sector: Sector, rng: random.Random) -> float:
    return round(rng.triangular(sector.cpm[0], sector.cpm[1], sector.cpm[0] * 1.6), 2)


def _draw_flight(reference: date, rng: random.Random) -> tuple[datetime, datetime | None]:
    """Draws a flight: most are under way; some are over, some have not begun, some have no end."""
    today = datetime.combine(reference, time.min, tzinfo=UTC)
    chance = rng.random()
    if chance < 0.07:
        return today + timedelta(days=rng.randint(1, 30)), today + timedelta(
            days=rng.randint(31, 120)
        )
    if chance < 0.15:
        return today - timedelta(days=rng.randint(20, 90)), today - timedelta(
            days=rng.randint(1, 13)
        )
    starts_at = today - timedelta(days=rng.randint(1, 75), hours=-8 * (rng.random() < 0.3))
    if chance < 0.3:
        return starts_at, None
    return starts_at, today + timedelta(days=rng.randint(2, 90))


class _Shelf:
    """The publishers that a campaign may be booked with: their visitors live in its region."""

    def __init__(self, graph: Graph) -> None:
        self._publishers = list(graph.publishers)
        self._reached = reachable_advertisers(graph)
        self._by_region = {region: self._weigh(graph, codes) for region, codes in REGIONS.items()}

    def _weigh(self, graph: Graph, codes: tuple[str, ...]) -> Weighted[int]:
        weights = []
        for profile in graph.publishers.values():
            shares = {c: BY_CODE[c].weight * profile.markets.get(c, 0.06) for c in BY_CODE}
            overlap = sum(shares[code] for code in codes) / sum(shares.values())
            weights.append(0.02 + overlap)
        return Weighted(self._publishers, weights)

    def draw(self, advertiser: int, region: str, count: int, rng: random.Random) -> tuple[int, ...]:
        chosen: dict[int, None] = {}
        is_stray = rng.random() < STRAY_BOOKING_SHARE
        for _ in range(4 * count):
            publisher = self._by_region[region].draw(rng)
            if is_stray or advertiser in self._reached[publisher]:
                chosen[publisher] = None
            if len(chosen) == count:
                break
        return tuple(chosen) or (rng.choice(self._publishers),)

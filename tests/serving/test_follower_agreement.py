"""A follower and the endpoint over markets by chance: the same bookings in the same order, with the
same words, for every visit and limit, after every change."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from exchange.serving.bookings import BookingRow, write_bookings
from exchange.serving.deltas import Delta, DeltaEntry, DeltaLogFolder, RouteRecord
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    Manifest,
    SnapshotDirectory,
    write_catalog,
)
from matcher_ext import ATree
from matcher_ext.following import Follower
from matcher_ext.match import path_key
from tests.serving.asking import Client
from tests.serving.conftest import EligibilityServer
from tests.serving.published import CATALOG, SNAPSHOT_KEY, row

HERALD, ADNET, MEDIA, GLOBEX = 1, 2, 3, 4
PARTIES = {HERALD: "herald", ADNET: "adnet", MEDIA: "media", GLOBEX: "globex"}
LINKS = [
    (1, HERALD, ADNET, 9_000),
    (2, ADNET, GLOBEX, 9_000),
    (3, HERALD, MEDIA, 9_500),
    (4, MEDIA, GLOBEX, 7_000),
    (5, HERALD, GLOBEX, 5_000),
]
CONDITIONS = [
    "true",
    "geo.country = 'USA'",
    "geo.country in ('FRA', 'DEU')",
    "user.age >= 18",
    "user.segments one of ('cars', 'ski')",
    "not user.segments one of ('cars')",
    "time >= '2020-01-01T00:00:00Z'",
]
HOPS = 5


class Market:
    """Draws bookings, a third of them on any path, and what happens to them."""

    def __init__(self, directory: SnapshotDirectory, chance: random.Random) -> None:
        self._directory = directory
        self._chance = chance
        self._log_id = secrets.token_hex(8)
        self.number = chance.randrange(100)
        self._next_id = 1
        self.ids: list[int] = []
        self.snapshot_id = ""

    def build(self, count: int) -> None:
        index = ATree(CATALOG)
        for edge_id, *_ in LINKS:
            index.define(f"edge.{edge_id}", self._chance.choice(CONDITIONS))
        index.set_routes(
            {party: name.title() for party, name in PARTIES.items()}, LINKS, PARTIES, [HERALD]
        )
        index.define_reach(GLOBEX, HOPS)
        entries = [self._draw() for _ in range(count)]
        for entry in entries:
            index.insert(entry.row.booking_id, entry.text)
        with self._directory.stage() as staged:
            index.freeze().save(staged / INDEX_FILE)
            write_bookings(staged / BOOKINGS_FILE, [entry.row for entry in entries])
            write_catalog(staged, CATALOG.to_json())
            self.snapshot_id = self._directory.adopt(staged)
        now = datetime.now(UTC)
        self._directory.publish(
            Manifest(
                snapshot_id=self.snapshot_id,
                read_at=now,
                activated_at=now,
                delta=self.number,
                log_id=self._log_id,
            )
        )

    def change(self) -> None:
        """Ends some, changes some, adds some; an edge opens or closes, or the graph is another."""
        chance = self._chance
        touched = chance.sample(self.ids, k=min(len(self.ids), chance.randrange(4)))
        kept = touched[: len(touched) // 2]
        self.ids = [each for each in self.ids if each not in touched or each in kept]
        entries = [self._draw(each) for each in kept]
        entries += [self._draw() for _ in range(chance.randrange(3))]
        edge = f"edge.{chance.choice(LINKS)[0]}"
        definitions = {edge: chance.choice(CONDITIONS)} if chance.random() < 0.5 else {}
        self.number += 1
        DeltaLogFolder(self._directory, self._log_id).write(
            Delta(
                log_id=self._log_id,
                number=self.number,
                position="",
                read_at=datetime.now(UTC),
                definitions=definitions,
                entries=tuple(entries),
                dead=tuple(touched),
                routes=self._reroute() if chance.random() < 0.4 else None,
            )
        )

    def _reroute(self) -> RouteRecord:
        """Makes other fees, perhaps without an edge."""
        chance = self._chance
        links = [(*link[:3], chance.randrange(5, 11) * 1_000) for link in LINKS]
        if chance.random() < 0.5:
            links.remove(chance.choice(links))
        names = {party: name.title() for party, name in PARTIES.items()}
        return RouteRecord(names, links, PARTIES, [HERALD])

    def _draw(self, booking_id: int | None = None) -> DeltaEntry:
        """Prices are few, so that many are equal; campaigns have several bookings."""
        chance = self._chance
        if booking_id is None:
            booking_id, self._next_id = self._next_id, self._next_id + chance.randrange(1, 4)
            self.ids.append(booking_id)
        price = chance.choice([1.0, 2.5, 4.05, 8.1, 9.0])
        made: BookingRow = replace(row(booking_id, net_cpm=price), campaign_id=chance.randrange(5))
        text = f"publisher.id = 'herald' and {chance.choice(CONDITIONS)}"
        if chance.random() < 0.34:
            made = replace(made, reach=path_key(GLOBEX, HOPS), bid_cpm=price * 2)
            text += f" and @reach.{GLOBEX}.{HOPS}"
        else:
            text += f" and @edge.{chance.choice(LINKS)[0]}"
        return DeltaEntry(made, text)


def draw_visit(chance: random.Random) -> dict[str, object]:
    visit: dict[str, object] = {}
    if chance.random() < 0.9:
        visit["geo.country"] = chance.choice(["USA", "FRA", "DEU"])
    if chance.random() < 0.8:
        visit["user.age"] = chance.choice([12, 30])
    if chance.random() < 0.8:
        visit["user.segments"] = chance.sample(["cars", "ski", "x"], k=chance.randrange(3))
    return visit


@pytest.fixture
def follower(eligibility_server: EligibilityServer, tmp_path: Path) -> Iterator[Follower]:
    follower = Follower(
        f"http://127.0.0.1:{eligibility_server.port}", SNAPSHOT_KEY, tmp_path / "followed"
    )
    yield follower
    follower.stop()


@pytest.mark.parametrize("seed", range(6))
def test_says_what_the_endpoint_says(
    eligibility_server: EligibilityServer, client: Client, follower: Follower, seed: int
) -> None:
    chance = random.Random(seed)
    market = Market(eligibility_server.directory, chance)
    market.build(chance.choice([0, 3, 40]))
    said = routed = 0
    for _ in range(8):
        eligibility_server.wait_for(market.snapshot_id, client, delta=market.number)
        follower.refresh()
        status = follower.status()
        assert (status.snapshot_id, status.delta) == (market.snapshot_id, market.number)
        for _ in range(12):
            visit = draw_visit(chance)
            limit = chance.choice([None, 1, 3, 100])
            expected = client.ask(visit, limit=limit).document()
            assert follower.eligible("herald", visit, limit) == expected["eligible"]
            said += len(expected["eligible"])
            routed += sum(len(each["path"]) == 2 for each in expected["eligible"])
        market.change()
        if chance.random() < 0.3:
            market.change()
    assert said
    assert routed or not market.ids, "no visit ever took a path of its own"

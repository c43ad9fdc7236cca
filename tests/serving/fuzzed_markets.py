"""States of an exchange by chance, for the two ways of answering: all path policies and hop limits,
flights that begin and end meanwhile, definitions that others use, changes over it, closed edges."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace as replace_field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from exchange.market.seed import seeded_catalog
from exchange.serving.bookings import BookingRow, write_bookings
from exchange.serving.deltas import Delta, DeltaEntry, RouteRecord
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    KeyEntry,
    SnapshotDirectory,
    hash_key,
    write_catalog,
)
from exchange.serving.eligibility import EligibilityService
from exchange.serving.live import LiveSnapshot
from matcher_ext import ATree, LiveIndex
from matcher_ext.match import path_key
from targeting import Attribute, AttributeType, Catalog
from tests.serving.published import BOTH_KEY, HERALD_KEY, LATER, SCOPES, row

PUBLISHERS = {1: "herald", 2: "tribune"}
PARTIES = {**PUBLISHERS, 3: 'ad"net', 4: "mediä", 5: "re\\sell", 6: "globex", 7: "initech"}
ADVERTISERS = (6, 7)
LINKS = [
    (1, 1, 3),
    (2, 1, 4),
    (3, 2, 3),
    (4, 3, 4),
    (5, 3, 5),
    (6, 4, 5),
    (7, 5, 6),
    (8, 4, 6),
    (9, 5, 7),
    (10, 3, 7),
    (11, 1, 6),
    (12, 2, 7),
]
HOPS = (1, 2, 3, 5)
TOLD = "told"
# Known by their names to the reader of bid requests, here of other types than usual; and paths that
# no catalogue of ours has.
ODD = {
    "publisher.id": ("string", "site.publisher.id"),
    "time": ("timestamp", ""),
    "imp.floor": ("integer", "imp.bidfloor"),
    "imp.sizes": ("string", "imp.banner.format"),
    "imp.media_types": ("integer set", "imp.banner"),
    "imp.position": ("string set", "imp.banner.pos, imp.video.pos"),
    "imp.playback": ("string", "imp.video.playbackmethod"),
    "imp.channel": ("boolean", "site"),
    "user.tcf_vendors": ("string set", "user.consent"),
    "user.tcf_purposes": ("integer set", "user.consent"),
    "user.age": ("float", "user.yob"),
    "user.consent": ("string", "user.consent"),
    "geo.country": ("string set", "device.geo.country"),
    "geo.location": ("string", "device.geo.lat"),
    "site.keywords": ("string", "site.keywords"),
    "site.page": ("ip", "site.page"),
    "x.keywords": ("string set", "app.keywords, site.keywords, user.keywords"),
    "x.ip": ("ip", "device.ext.ip, device.ip"),
    "x.when": ("timestamp", "user.when, user.yob"),
    "x.where": ("geo", "device.geo"),
    "x.is": ("boolean", "imp.secure, device.lmt"),
    "x.numbers": ("integer set", "imp.video.playbackmethod, regs.gpp_sid"),
    "x.whole": ("string", "imp"),
    "x.any": ("float", "imp.bidfloor, at"),
    "geo": ("string", "device.geo.city"),
}


def odd_catalog() -> Catalog:
    return Catalog(
        Attribute(name=name, type=AttributeType(kind), openrtb=path)
        for name, (kind, path) in ODD.items()
    )


class ChanceMarket:
    """Draws a snapshot and what happens to it; conditions ask for values that visits have."""

    def __init__(
        self,
        directory: SnapshotDirectory,
        seed: int,
        visits: Sequence[Mapping[str, Any]] = (),
        *,
        is_odd: bool = False,
        bookings: int = 150,
    ) -> None:
        self._chance = random.Random(seed)
        self._visits = visits
        self.catalog = odd_catalog() if is_odd else seeded_catalog()
        self.types = {each["name"]: each["type"] for each in self.catalog.to_json()["attributes"]}
        self._values = self._list_values()
        self._ids = list(range(1, bookings + 1))
        self._number = 0
        self.campaigns = [booking_id % 60 + 1 for booking_id in self._ids]
        self._build(directory)
        directory.write_keys(
            {
                hash_key(HERALD_KEY): KeyEntry(("herald",), LATER, SCOPES),
                hash_key(BOTH_KEY): KeyEntry(("herald", "tribune"), LATER, SCOPES),
            }
        )
        self.service = EligibilityService(directory.root)
        self._answer_told()

    def _list_values(self) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {}
        for visit in self._visits:
            for name, value in visit.items():
                values.setdefault(name, []).extend(value if isinstance(value, list) else [value])
        return values

    def _build(self, directory: SnapshotDirectory) -> None:
        index = ATree(self.catalog)
        for edge_id, *_ in LINKS:
            index.define(f"edge.{edge_id}", self._condition(0.6))
        for number in range(4):
            index.define(f"audience.{number}", f"{self._condition()} or {self._condition()}")
        index.answer_slots([TOLD], lambda ask: {TOLD: ask("audience.0")}, asks=["audience.0"])
        record = self._routes(without=0)
        index.set_routes(record.names, record.links, record.labels, record.publishers)
        for advertiser in ADVERTISERS:
            for hops in HOPS:
                index.define_reach(advertiser, hops)
        entries = [self._entry(booking_id) for booking_id in self._ids]
        for entry in entries:
            index.insert(entry.row.booking_id, entry.text)
        with directory.stage() as staged:
            index.freeze().save(staged / INDEX_FILE)
            write_bookings(staged / BOOKINGS_FILE, [entry.row for entry in entries])
            write_catalog(staged, self.catalog.to_json())
            snapshot_id = directory.adopt(staged)
        directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))

    def _answer_told(self) -> None:
        """Begins the state anew with code, which no file holds."""
        live = self.service.require_live()
        told = live.index.snapshot.answer_slots(
            [TOLD], lambda ask: {TOLD: ask("audience.0")}, asks=["audience.0"]
        )
        opened = replace_field(live.opened, changing=LiveIndex(told))
        self.live = LiveSnapshot.begin(live.manifest, opened)

    @property
    def live(self) -> LiveSnapshot:
        return self.service.require_live()

    @live.setter
    def live(self, live: LiveSnapshot) -> None:
        self.service._following.live = live

    def change(self) -> None:
        """Ends some, changes some, adds some; edges open and close; perhaps the graph is
        another."""
        chance = self._chance
        touched = chance.sample(self._ids, k=min(len(self._ids), chance.randrange(12)))
        kept = touched[: len(touched) // 2]
        self._ids = [each for each in self._ids if each not in touched or each in kept]
        new = [max(self._ids, default=0) + number for number in range(1, chance.randrange(1, 5))]
        self._ids += new
        self._number += 1
        names = [f"edge.{chance.choice(LINKS)[0]}", f"audience.{chance.randrange(1, 4)}"]
        delta = Delta(
            log_id="x",
            number=self._number,
            position="",
            read_at=datetime.now(UTC),
            definitions={
                name: chance.choice(("false", self._condition(0.5)))
                for name in names
                if chance.random() < 0.5
            },
            entries=tuple(self._entry(booking_id) for booking_id in (*kept, *new)),
            dead=tuple(touched),
            routes=self._routes(without=chance.randrange(4)) if chance.random() < 0.3 else None,
        )
        self.live = self.live.apply([delta])
        if chance.random() < 0.1:
            self.live = replace_field(self.live, stopped_after=1)

    def _routes(self, *, without: int) -> RouteRecord:
        chance = self._chance
        links = [(*link, chance.choice((10_000, 9_137, 8_755, 5_005, 1))) for link in LINKS]
        for _ in range(without):
            links.remove(chance.choice(links))
        names = {party: label.title() for party, label in PARTIES.items()}
        return RouteRecord(names, links, PARTIES, list(PUBLISHERS))

    def _entry(self, booking_id: int) -> DeltaEntry:
        """Prices are few, so that many are equal; campaigns have several bookings."""
        chance = self._chance
        publisher = chance.choice(list(PUBLISHERS.values()))
        price = chance.choice((0.0, 0.0004, 1.0, 2.5, 4.05, 8.1, 33.3333, 12_345.6789))
        made: BookingRow = replace(
            row(booking_id, publisher, round(price * 0.7, 4)),
            campaign_id=booking_id % 60 + 1,
            campaign=chance.choice(("Plain", 'Say "any"', "Größe \\ 😀", "net_cpm\x01")),
        )
        parts = [f"publisher.id = '{publisher}'", self._flight(), self._condition(0.4)]
        parts += [chance.choice((f"@audience.{chance.randrange(4)}", f"@{TOLD}", "true", "true"))]
        if chance.random() < 0.5:
            advertiser, hops = chance.choice(ADVERTISERS), chance.choice(HOPS)
            made = replace(made, reach=path_key(advertiser, hops), bid_cpm=price)
            parts.append(f"@reach.{advertiser}.{hops}")
        else:
            parts += [f"@edge.{chance.choice(LINKS)[0]}" for _ in range(chance.randrange(3))]
        return DeltaEntry(made, " and ".join(f"({part})" for part in parts))

    def _flight(self) -> str:
        chance = self._chance
        if chance.random() < 0.6:
            return "true"
        at = datetime.now(UTC) + timedelta(seconds=chance.uniform(-30, 300))
        return f"time {chance.choice(('>=', '<'))} '{at:%Y-%m-%dT%H:%M:%S}Z'"

    def _condition(self, always: float = 0.0) -> str:
        if self._chance.random() < always:
            return "true"
        name = self._chance.choice(sorted(self.types))
        made = self._make_condition(name, self.types[name])
        try:
            self.catalog_checks(made)
        except ValueError:
            return f"{name} is {self._chance.choice(('present', 'missing'))}"
        return made

    def catalog_checks(self, text: str) -> None:
        ATree(self.catalog).insert(1, text)

    def _make_condition(self, name: str, kind: str) -> str:
        chance = self._chance
        said = [each for each in self._values.get(name, ()) if isinstance(each, str | int | float)]
        if chance.random() < 0.2:
            return f"{name} is {chance.choice(('present', 'missing'))}"
        if kind == "boolean":
            return f"{name} = {chance.choice(('true', 'false'))}"
        if kind == "geo":
            return f"{name} within {chance.choice((50, 3_000, 9_000))} km of (48.8, 2.3)"
        if kind == "ip":
            return f"{name} in network ('10.0.0.0/8', '::/1', '128.0.0.0/1')"
        if kind.startswith("timestamp"):
            return f"{name} during 'Mon-Sat 06:00-23:30'"
        if kind in ("integer", "float"):
            return (
                f"{name} {chance.choice(('>', '<=', '!=', '='))} {chance.choice((0, 1, 18, 100))}"
            )
        values = chance.sample(said, k=min(len(said), 3)) if said else ["a", "USA"]
        if kind == "integer set":
            return f"{name} {chance.choice(('one of', 'none of', 'only of'))} (1, 2, 3, 4, 755)"
        quoted = ", ".join(
            "'" + str(each).replace("\\", "").replace("'", "") + "'" for each in values
        )
        if kind == "string set":
            words = ("one of", "none of", "all of", "only of")
            count = f"count({name}) >= {chance.randrange(4)}"
            return chance.choice((f"{name} {chance.choice(words)} ({quoted})", count))
        beginning = quoted.split(",")[0][1:3].strip("'")
        return chance.choice(
            (
                f"{name} in ({quoted})",
                f"{name} not in ({quoted})",
                f"{name} starts with '{beginning}'",
                f"{name} like '*{beginning}*'",
                f"{name} under ('example', 'com')",
            )
        )

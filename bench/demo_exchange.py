"""The demo exchange at any size as a snapshot directory, made without Postgres.

The same generator, composer and writers as a build's; kept in a folder per size, because a million
bookings take minutes. The same numbers always give the same exchange.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")
django.setup()

from exchange.market.demo.campaigns import Campaign, stream_campaigns  # noqa: E402
from exchange.market.demo.graph import Graph, GraphSize, build_graph  # noqa: E402
from exchange.market.demo.visit_table import make_day  # noqa: E402
from exchange.market.demo.visits import open_source  # noqa: E402
from exchange.market.seed import seeded_catalog  # noqa: E402
from exchange.routing import Link  # noqa: E402
from exchange.serving.bookings import BookingRow, write_bookings  # noqa: E402
from exchange.serving.callers import ELIGIBILITY_READ, SNAPSHOT_READ  # noqa: E402
from exchange.serving.directory import (  # noqa: E402
    BOOKINGS_FILE,
    INDEX_FILE,
    KeyEntry,
    SnapshotDirectory,
    hash_key,
    write_catalog,
)
from exchange.snapshots.composing import Composer  # noqa: E402
from exchange.snapshots.market import BookedPair, CampaignRow, Market, PartyRow  # noqa: E402
from matcher_ext import ATree  # noqa: E402

SEED = 1
KEY = "tl_of-the-benchmark"
LATER = datetime(2100, 1, 1, tzinfo=UTC)
DEMO_GRAPH = GraphSize()
LARGE_GRAPH = GraphSize(
    publishers=300, ssps=40, exchanges=16, resellers=24, dsps=40, advertisers=3_000
)
CHUNK_ENTRIES = 20_000
ASKED = (
    "publisher.id",
    "site.domain",
    "site.page",
    "site.cat",
    "site.page_cat",
    "app.bundle",
    "content.risk",
    "content.language",
    "imp.channel",
    "imp.media_types",
    "imp.sizes",
    "imp.position",
    "imp.floor",
    "imp.placement_id",
    "device.type",
    "device.os",
    "device.browser",
    "device.language",
    "device.connection_type",
    "device.ip",
    "geo.country",
    "geo.region",
    "geo.city",
    "geo.utc_offset",
    "user.segments",
    "user.consent",
    "user.id",
    "regs.gdpr",
    "regs.coppa",
)


@dataclass(frozen=True, slots=True)
class ExchangeSize:
    """Either so many campaigns, as the demo counts, or so many bookings."""

    name: str
    graph: GraphSize
    campaigns: int | None = None
    bookings: int | None = None


DEMO = ExchangeSize("demo", DEMO_GRAPH, campaigns=3_000)
BOOKINGS_100K = ExchangeSize("100,000 bookings", LARGE_GRAPH, bookings=100_000)
BOOKINGS_1M = ExchangeSize("1,000,000 bookings", LARGE_GRAPH, bookings=1_000_000)


def open_exchange(size: ExchangeSize, cache: Path) -> SnapshotDirectory:
    """The directory with this exchange live and one key for all its publishers."""
    today = datetime.now(UTC).date()
    graph = build_graph(SEED, size.graph)
    directory = SnapshotDirectory(cache / f"{size.name.replace(' ', '-')}-{today}")
    if directory.read_manifest() is None:
        snapshot_id = write_exchange(directory, make_market(graph, size, today))
        directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))
    write_keys(directory, graph)
    return directory


def write_keys(directory: SnapshotDirectory, graph: Graph) -> None:
    """One key for all publishers, and for the snapshot."""
    publishers = tuple(graph.parties[place].seller_id for place in graph.publishers)
    scopes = (ELIGIBILITY_READ, SNAPSHOT_READ)
    directory.write_keys({hash_key(KEY): KeyEntry(publishers, LATER, scopes)})


def make_market(graph: Graph, size: ExchangeSize, today: date) -> Market:
    campaigns: dict[int, CampaignRow] = {}
    bookings: list[BookedPair] = []
    count = size.campaigns or size.bookings or 0
    for number, campaign in enumerate(stream_campaigns(graph, SEED, today, count), 1):
        if size.bookings is not None and len(bookings) >= size.bookings:
            break
        if campaign.status == "live":
            campaigns[number] = as_row(campaign)
            for publisher in campaign.publishers:
                bookings.append(BookedPair(len(bookings) + 1, number, publisher))
    edges = {number: edge for number, edge in enumerate(graph.edges, 1) if edge.is_active}
    return Market(
        read_at=datetime.now(UTC),
        catalog=seeded_catalog(),
        parties={n: PartyRow(party.name, party.seller_id) for n, party in enumerate(graph.parties)},
        links=[Link(n, e.seller, e.buyer, e.fee_percent / 100) for n, e in edges.items()],
        edge_expressions={number: edge.expression for number, edge in edges.items()},
        campaigns=campaigns,
        bookings=bookings,
    )


def as_row(campaign: Campaign) -> CampaignRow:
    return CampaignRow(
        name=campaign.name,
        advertiser_id=campaign.advertiser,
        expression=campaign.expression,
        starts_at=campaign.starts_at,
        ends_at=campaign.ends_at,
        bid_cpm=Decimal(str(campaign.bid_cpm)),
    )


def write_exchange(directory: SnapshotDirectory, market: Market) -> str:
    composer = Composer(market)
    index = ATree(market.catalog)
    for name, expression in composer.definitions():
        index.define(name, expression)
    rows: list[BookingRow] = []
    entries = composer.entries()
    while chunk := list(islice(entries, CHUNK_ENTRIES)):
        index.insert_many([each.row.booking_id for each in chunk], [each.text for each in chunk])
        rows += [each.row for each in chunk]
    with directory.stage() as staged:
        index.freeze().save(staged / INDEX_FILE)
        write_bookings(staged / BOOKINGS_FILE, rows)
        write_catalog(staged, market.catalog.to_json())
        return directory.adopt(staged)


@dataclass(frozen=True, slots=True)
class Question:
    """What an ad server sends: the publisher, and a visit with so many attributes."""

    publisher: str
    visit: dict[str, Any]


def draw_questions(size: ExchangeSize, *, count: int, attributes: int) -> list[Question]:
    """Visits of yesterday that carry at least so many attributes, cut down to those that campaigns
    ask for most."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    graph = build_graph(SEED, size.graph)
    sellers = [graph.parties[place].seller_id for place in graph.publishers]
    rows = make_day(open_source(SEED, 4 * count), yesterday).to_pylist()
    chosen = random.Random(SEED)
    questions = []
    for visit in filter(None, (shorten(row, attributes) for row in rows)):
        editions = [each for each in sellers if each.startswith(visit["publisher.id"])]
        publisher = chosen.choice(editions)
        questions.append(Question(publisher, {**visit, "publisher.id": publisher}))
    return questions[:count]


def shorten(row: dict[str, Any], attributes: int) -> dict[str, Any] | None:
    known = {name: row[name] for name in ASKED if row[name] is not None and is_encodable(row[name])}
    if len(known) < attributes or not row["publisher.id"]:
        return None
    return dict(islice(known.items(), attributes))


def is_encodable(value: object) -> bool:
    """As JSON: the log's malformed rows carry values that are not."""
    return isinstance(value, str | int | float | list | dict)

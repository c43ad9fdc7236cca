"""Makes the demo exchange, at any size, as a snapshot directory without Postgres.

It uses the generator, the composer and the writers of a build, the demo's audiences, and bookings
in the demo's shares (a third pinned, a third on the cheapest path, a third on any). Each size is
kept in a folder, because a million bookings take minutes. The same day gives the same exchange.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import django

from bench.questions import Question, ask_rows

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "exchange.settings")
django.setup()

from exchange.demo.campaigns import Campaign, stream_campaigns  # noqa: E402
from exchange.demo.chance import stream  # noqa: E402
from exchange.demo.extras import (  # noqa: E402
    AUDIENCES,
    LISTS,
    Routing,
    draw_routing,
    join_audience,
)
from exchange.demo.graph import Graph, GraphSize, build_graph  # noqa: E402
from exchange.demo.syntax import texts  # noqa: E402
from exchange.demo.visit_table import make_day  # noqa: E402
from exchange.demo.visits import open_source  # noqa: E402
from exchange.market.saved_graph import WHOLE, SavedGraph  # noqa: E402
from exchange.market.seed import seeded_catalog  # noqa: E402
from exchange.routing import Link  # noqa: E402
from exchange.routing import Path as Route  # noqa: E402
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
from exchange.snapshots.building import set_routes  # noqa: E402
from exchange.snapshots.composing import Composer  # noqa: E402
from exchange.snapshots.market import (  # noqa: E402
    AudienceRow,
    BookedPair,
    CampaignRow,
    Market,
    PartyRow,
)
from exchange.snapshots.rates import SAMPLED_VISITS, as_logged  # noqa: E402
from exchange.snapshots.texts import open_catalog  # noqa: E402
from matcher_ext import ATree  # noqa: E402

SEED = 1
KEY = "tl_of-the-benchmark"
LATER = datetime(2100, 1, 1, tzinfo=UTC)
DEMO_GRAPH = GraphSize()
LARGE_GRAPH = GraphSize(
    publishers=300, ssps=40, exchanges=16, resellers=24, dsps=40, advertisers=3_000
)
CHUNK_ENTRIES = 20_000
OPERATOR = 1
FORM = 2  # of what is kept; raise it when that changes, so that it is made anew


@dataclass(frozen=True, slots=True)
class ExchangeSize:
    """How large an exchange is: by campaigns, as the demo counts, or by bookings."""

    name: str
    graph: GraphSize
    campaigns: int | None = None
    bookings: int | None = None


DEMO = ExchangeSize("demo", DEMO_GRAPH, campaigns=3_000)
BOOKINGS_100K = ExchangeSize("100,000 bookings", LARGE_GRAPH, bookings=100_000)
BOOKINGS_1M = ExchangeSize("1,000,000 bookings", LARGE_GRAPH, bookings=1_000_000)


def open_exchange(size: ExchangeSize, cache: Path) -> SnapshotDirectory:
    """Opens a directory with this exchange live and one key for all its publishers; makes it first
    if it is not kept."""
    today = datetime.now(UTC).date()
    graph = build_graph(SEED, size.graph)
    directory = SnapshotDirectory(cache / f"{size.name.replace(' ', '-')}-{FORM}-{today}")
    if directory.read_manifest() is None:
        market = make_market(graph, size, today)
        sampled = [as_indexed(row) for row in draw_rows(SAMPLED_VISITS)]
        snapshot_id = write_exchange(directory, market, sampled)
        directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))
    write_keys(directory, graph)
    return directory


def write_keys(directory: SnapshotDirectory, graph: Graph) -> None:
    """Writes one key, which may ask for all publishers and fetch the snapshot."""
    publishers = tuple(graph.parties[place].seller_id for place in graph.publishers)
    scopes = (ELIGIBILITY_READ, SNAPSHOT_READ)
    directory.write_keys({hash_key(KEY): KeyEntry(publishers, LATER, scopes)})


def make_market(graph: Graph, size: ExchangeSize, today: date) -> Market:
    campaigns: dict[int, CampaignRow] = {}
    bookings: list[BookedPair] = []
    edges = {number: edge for number, edge in enumerate(graph.edges, 1) if edge.is_active}
    links = [Link(n, e.seller, e.buyer, e.fee_percent / 100) for n, e in edges.items()]
    parties = {n: PartyRow(p.name, p.seller_id, OPERATOR) for n, p in enumerate(graph.parties)}
    router = Router(graph)
    rng = stream(SEED, "extras")
    count = size.campaigns or size.bookings or 0
    for number, campaign in enumerate(stream_campaigns(graph, SEED, today, count), 1):
        if size.bookings is not None and len(bookings) >= size.bookings:
            break
        if campaign.status == "live":
            campaigns[number] = as_row(campaign, join_audience(campaign.expression, rng))
            for publisher in campaign.publishers:
                path = router.find(publisher, campaign.advertiser)
                bookings.append(book(len(bookings) + 1, number, publisher, draw_routing(path, rng)))
    return Market(
        read_at=datetime.now(UTC),
        catalog=seeded_catalog(),
        parties=parties,
        links=links,
        edge_expressions={number: edge.expression for number, edge in edges.items()},
        campaigns=campaigns,
        bookings=bookings,
        audiences=[
            AudienceRow(number, OPERATOR, name, write_lists(expression))
            for number, (name, (_, expression)) in enumerate(AUDIENCES.items(), 1)
        ],
        operator_ids=frozenset({OPERATOR}),
    )


class Router:
    """The cheapest paths to all advertisers, found once for each publisher."""

    def __init__(self, graph: Graph) -> None:
        saved = SavedGraph(
            [
                (number, edge.seller, edge.buyer, WHOLE - int(edge.fee_percent * WHOLE / 100))
                for number, edge in enumerate(graph.edges, 1)
                if edge.is_active
            ],
            {number: party.name for number, party in enumerate(graph.parties)},
        )
        self._walk = cache(lambda publisher: saved.cheapest_paths(publisher, graph.advertisers))

    def find(self, publisher: int, advertiser: int) -> Route | None:
        return self._walk(publisher).get(advertiser)


def book(booking_id: int, campaign_id: int, publisher: int, routing: Routing) -> BookedPair:
    return BookedPair(
        booking_id, campaign_id, publisher, routing.policy, routing.pinned_edges, routing.hop_limit
    )


def write_lists(expression: str) -> str:
    """Writes lists' values in place of their names, because there is no database to keep them."""

    def write(found: re.Match[str]) -> str:
        return texts(sorted(LISTS[found[1]][1]))

    return re.sub(r"\$(\w+)", write, expression)


def as_row(campaign: Campaign, expression: str) -> CampaignRow:
    return CampaignRow(
        name=campaign.name,
        advertiser_id=campaign.advertiser,
        expression=write_lists(expression),
        starts_at=campaign.starts_at,
        ends_at=campaign.ends_at,
        bid_cpm=Decimal(str(campaign.bid_cpm)),
    )


def write_exchange(
    directory: SnapshotDirectory, market: Market, sampled: Sequence[dict[str, Any]] = ()
) -> str:
    """Writes the market as a snapshot, and returns its id. It learns truth rates from the `sampled`
    visits, as a build does before the first report."""
    composer = Composer(market)
    index = ATree(open_catalog(market.catalog))
    for name, expression in composer.definitions():
        index.define(name, expression)
    set_routes(index, composer)
    rows: list[BookingRow] = []
    entries = composer.entries()
    while chunk := list(islice(entries, CHUNK_ENTRIES)):
        index.insert_many([each.row.booking_id for each in chunk], [each.text for each in chunk])
        rows += [each.row for each in chunk]
    if sampled:
        index.learn_truth_rates(sampled)
    with directory.stage() as staged:
        index.freeze().save(staged / INDEX_FILE)
        write_bookings(staged / BOOKINGS_FILE, rows)
        write_catalog(staged, market.catalog.to_json())
        return directory.adopt(staged)


def draw_rows(count: int) -> list[dict[str, Any]]:
    """Draws at least so many visits of yesterday, in the order of their times."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    rows: list[dict[str, Any]] = make_day(
        open_source(SEED, count + count // 10), yesterday
    ).to_pylist()
    return rows


def as_indexed(row: dict[str, Any]) -> dict[str, Any]:
    return {name: as_logged(value) for name, value in row.items() if value is not None}


def draw_questions(size: ExchangeSize, *, count: int) -> list[Question]:
    """Draws whole visits of yesterday, at all publishers of the exchange."""
    graph = build_graph(SEED, size.graph)
    sellers = [graph.parties[place].seller_id for place in graph.publishers]
    return ask_rows(draw_rows(count), sellers)[:count]

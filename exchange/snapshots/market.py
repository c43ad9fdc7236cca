"""The market as a build sees it: one consistent read of Postgres, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from django.db import connection, transaction
from django.db.models import QuerySet

from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.routing import Link
from targeting import Catalog

CHUNK_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class PartyRow:
    name: str
    seller_id: str


@dataclass(frozen=True, slots=True)
class CampaignRow:
    name: str
    advertiser_id: int
    expression: str
    starts_at: datetime
    ends_at: datetime | None
    bid_cpm: Decimal


@dataclass(frozen=True, slots=True)
class BookedPair:
    booking_id: int
    campaign_id: int
    publisher_id: int


@dataclass(frozen=True, slots=True)
class Market:
    """Active edges, live campaigns and their active bookings in ascending order of id."""

    read_at: datetime
    catalog: Catalog
    parties: dict[int, PartyRow]
    links: list[Link]
    edge_expressions: dict[int, str]
    campaigns: dict[int, CampaignRow]
    bookings: list[BookedPair]


def read_market(*, begin: Callable[[int], None], advance: Callable[[int], None]) -> Market:
    """Reads everything as of one moment; edits that commit meanwhile belong to the next build."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        read_at = datetime.now(UTC)
        begin(live_bookings().count())
        links, edge_expressions = read_edges()
        return Market(
            read_at=read_at,
            catalog=load_catalog(),
            parties=read_parties(),
            links=links,
            edge_expressions=edge_expressions,
            campaigns=read_campaigns(),
            bookings=read_bookings(advance),
        )


def live_bookings() -> QuerySet[Booking]:
    return Booking.objects.filter(is_active=True, campaign__status=Campaign.Status.LIVE)


def read_parties() -> dict[int, PartyRow]:
    rows = Party.objects.values_list("id", "name", "seller_id")
    return {party_id: PartyRow(name, seller_id) for party_id, name, seller_id in rows}


def read_edges() -> tuple[list[Link], dict[int, str]]:
    links, expressions = [], {}
    columns = ("id", "seller_id", "buyer_id", "fee_percent", "expression")
    rows = Edge.objects.filter(is_active=True).order_by("id").values_list(*columns)
    for edge_id, seller_id, buyer_id, fee_percent, expression in rows:
        links.append(Link(edge_id, seller_id, buyer_id, fee_percent / 100))
        expressions[edge_id] = expression
    return links, expressions


def read_campaigns() -> dict[int, CampaignRow]:
    columns = ("id", "name", "advertiser_id", "expression", "starts_at", "ends_at", "bid_cpm")
    rows = Campaign.objects.filter(status=Campaign.Status.LIVE).values_list(*columns)
    return {row[0]: CampaignRow(*row[1:]) for row in rows.iterator(CHUNK_ROWS)}


def read_bookings(advance: Callable[[int], None]) -> list[BookedPair]:
    columns = ("id", "campaign_id", "publisher_id")
    rows = live_bookings().order_by("id").values_list(*columns).iterator(CHUNK_ROWS)
    pairs: list[BookedPair] = []
    for row in rows:
        pairs.append(BookedPair(*row))
        if len(pairs) % CHUNK_ROWS == 0:
            advance(CHUNK_ROWS)
    return pairs

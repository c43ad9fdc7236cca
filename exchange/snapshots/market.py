"""Reads the market as a build sees it: in one consistent read of Postgres, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from sys import intern
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import QuerySet

from exchange.accounts.models import Organisation
from exchange.market.catalog import load_catalog
from exchange.market.models import Audience, Booking, Campaign, Edge, Party, ValueList
from exchange.market.models.bookings import DEFAULT_HOPS
from exchange.routing import Link
from exchange.snapshots.copying import NULL, copy_rows, read_integers, read_moment, read_text
from targeting import Catalog

CHUNK_ROWS = 5_000
SPARE_EDGES = 200


@dataclass(frozen=True, slots=True)
class PartyRow:
    name: str
    seller_id: str
    organisation_id: int | None = None
    domain: str = ""


class CampaignRow(NamedTuple):
    name: str
    advertiser_id: int
    expression: str
    starts_at: datetime
    ends_at: datetime | None
    bid_cpm: Decimal


class BookedPair(NamedTuple):
    """A booking. A tuple, like a campaign's row: there are millions of them."""

    booking_id: int
    campaign_id: int
    publisher_id: int
    policy: str = Booking.Policy.CHEAPEST
    pinned_edges: Sequence[int] = ()
    hop_limit: int = DEFAULT_HOPS


@dataclass(frozen=True, slots=True)
class AudienceRow:
    id: int
    organisation_id: int
    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class ListRow:
    """A value list without its values: a version never changes, so they are read when needed."""

    id: int
    organisation_id: int
    name: str
    current_number: int
    type: str


@dataclass(frozen=True, slots=True)
class Market:
    """Active edges, live campaigns and their active bookings in ascending order of id; audiences
    and lists of everybody. Nothing of it is retired but parties, which answers may name."""

    read_at: datetime
    catalog: Catalog
    parties: dict[int, PartyRow]
    links: list[Link]
    edge_expressions: dict[int, str]
    campaigns: dict[int, CampaignRow]
    bookings: list[BookedPair]
    audiences: list[AudienceRow] = field(default_factory=list)
    value_lists: list[ListRow] = field(default_factory=list)
    operator_ids: frozenset[int] = frozenset()
    spare_edges: tuple[int, ...] = ()  # closed, or not yet there: they may come into the graph
    position: str = ""  # the database snapshot that was read
    counted: int | None = None  # live bookings as Postgres counts them

    def names(self) -> dict[int, str]:
        return {party_id: party.name for party_id, party in self.parties.items()}

    def organisation_of(self, party_id: int) -> int | None:
        return self.parties[party_id].organisation_id


@contextmanager
def one_moment() -> Iterator[str]:
    """Reads everything in the block as of one moment; gives its name, with which Postgres can tell
    later whether a transaction was seen."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_current_snapshot()::text")
        (position,) = cursor.fetchone()
        yield position


def read_market(*, begin: Callable[[int], None], advance: Callable[[int], None]) -> Market:
    """Reads everything as of one moment; edits that commit meanwhile belong to deltas."""
    with one_moment() as position:
        counted = live_bookings().count()
        begin(counted)
        market = replace(
            read_surroundings(position), counted=counted, spare_edges=read_spare_edges()
        )
        campaigns = read_campaigns()
        return replace(market, campaigns=campaigns, bookings=read_bookings(campaigns, advance))


def read_surroundings(position: str) -> Market:
    """Reads all but campaigns and bookings, of which there are many. Call it in a block of
    `one_moment`."""
    links, edge_expressions = read_edges()
    return Market(
        read_at=datetime.now(UTC),
        position=position,
        catalog=load_catalog(),
        parties=read_parties(),
        links=links,
        edge_expressions=edge_expressions,
        campaigns={},
        bookings=[],
        audiences=read_audiences(),
        value_lists=read_lists(),
        operator_ids=frozenset(
            Organisation.objects.filter(is_operator=True).values_list("pk", flat=True)
        ),
    )


def live_bookings() -> QuerySet[Booking]:
    return Booking.objects.active().filter(
        campaign__status=Campaign.Status.LIVE, campaign__retired_at=None
    )


def read_parties() -> dict[int, PartyRow]:
    rows = Party.objects.values_list("id", "name", "seller_id", "organisation_id", "domain")
    return {row[0]: PartyRow(*row[1:]) for row in rows}


def read_edges() -> tuple[list[Link], dict[int, str]]:
    links, expressions = [], {}
    columns = ("id", "seller_id", "buyer_id", "fee_percent", "expression")
    rows = Edge.objects.active().order_by("id").values_list(*columns)
    for edge_id, seller_id, buyer_id, fee_percent, expression in rows:
        links.append(Link(edge_id, seller_id, buyer_id, fee_percent / 100))
        expressions[edge_id] = expression
    return links, expressions


def read_spare_edges() -> tuple[int, ...]:
    """Lists closed edges, and the ids of the next ones, which the sequence gives in turn."""
    edges = Edge.objects.order_by("id").values_list("id", "is_active", "retired_at")
    closed = [pk for pk, is_active, retired_at in edges if not is_active and retired_at is None]
    last = max((pk for pk, _, _ in edges), default=0)
    return (*closed, *range(last + 1, last + 1 + SPARE_EDGES))


def read_campaigns(ids: Collection[int] | None = None) -> dict[int, CampaignRow]:
    columns = ("id", "name", "advertiser_id", "expression", "starts_at", "ends_at", "bid_cpm")
    rows = Campaign.objects.live().order_by().values_list(*columns)
    if ids is not None:
        # Passes one parameter: 20,000 would cost Django and Postgres more than to find the rows.
        rows = rows.extra(where=["id = ANY(%s)"], params=[sorted(ids)])
    found: dict[int, CampaignRow] = {}

    def take(row: list[str]) -> None:
        pk, name, advertiser_id, expression, starts_at, ends_at, bid_cpm = row
        found[int(pk)] = CampaignRow(
            read_text(name),
            int(advertiser_id),
            read_text(expression),
            read_moment(starts_at),
            None if ends_at == NULL else read_moment(ends_at),
            Decimal(bid_cpm),
        )

    copy_rows(rows, take)
    return found


BOOKING_COLUMNS = ("id", "campaign_id", "publisher_id", "policy", "pinned_edges", "hop_limit")


def read_bookings(campaigns: Collection[int], advance: Callable[[int], None]) -> list[BookedPair]:
    """Reads without a join, which costs Postgres more than the other bookings cost us; its own
    count, made with one, must agree in the end."""
    pairs: list[BookedPair] = []
    told = 0

    def take(row: list[str]) -> None:
        nonlocal told
        booking_id, campaign_id, publisher_id, policy, pinned_edges, hop_limit = row
        campaign = int(campaign_id)
        if campaign not in campaigns:
            return
        pairs.append(
            BookedPair(
                int(booking_id),
                campaign,
                int(publisher_id),
                intern(policy),
                read_integers(pinned_edges),
                int(hop_limit),
            )
        )
        if len(pairs) - told == CHUNK_ROWS:
            told = len(pairs)
            advance(CHUNK_ROWS)

    copy_rows(Booking.objects.active().order_by("id").values_list(*BOOKING_COLUMNS), take)
    advance(len(pairs) - told)
    return pairs


def read_audiences() -> list[AudienceRow]:
    columns = ("id", "organisation_id", "name", "expression")
    rows = Audience.objects.kept().order_by("id").values_list(*columns)
    return [AudienceRow(*row) for row in rows]


def read_lists() -> list[ListRow]:
    columns = ("id", "organisation_id", "name", "current_number", "type")
    rows = ValueList.objects.kept().order_by("id").values_list(*columns)
    return [ListRow(*row) for row in rows]

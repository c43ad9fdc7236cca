"""Puts the demo into the database: the graph by the ORM, campaigns and bookings by COPY.

One transaction: a run that is killed leaves nothing behind. Memory stays bounded by one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from io import StringIO
from itertools import islice

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from exchange.accounts.models import Organisation
from exchange.market import models
from exchange.market.demo import campaigns as generated
from exchange.market.demo.graph import Graph, build_graph
from exchange.market.demo.progress import Report
from exchange.market.demo.publishers import PUBLISHERS

OPERATOR = "Treeline Exchange"
BATCH = 5_000
RESERVE_CAMPAIGN_IDS = """
    SELECT nextval(pg_get_serial_sequence('market_campaign', 'id')) FROM generate_series(1, %s)
"""
COPY_CAMPAIGNS = """
    COPY market_campaign (id, advertiser_id, name, expression, status, starts_at, ends_at, bid_cpm,
                          created_at, updated_at) FROM STDIN
"""
COPY_BOOKINGS = """
    COPY market_booking (campaign_id, publisher_id, is_active, created_at, updated_at) FROM STDIN
"""


class ForeignMarketError(Exception):
    """The database holds a market that is not the demo's."""


@dataclass(frozen=True, slots=True)
class Market:
    """What was asked for; `reference` is the day that flights are arranged around."""

    seed: int
    campaigns: int
    reference: date


def is_market_loaded() -> bool:
    if models.Party.objects.filter(seller_id=PUBLISHERS[0].seller_id).exists():
        return True
    if models.Party.objects.exists():
        raise ForeignMarketError("The database already holds parties that are not the demo's.")
    return False


@transaction.atomic
def load_market(*, market: Market, report: Report) -> None:
    graph = build_graph(market.seed)
    party_ids = _load_graph(graph)
    now = datetime.combine(market.reference, time.min, tzinfo=UTC)
    campaigns = generated.stream_campaigns(graph, market.seed, market.reference, market.campaigns)
    with connection.cursor() as cursor:
        # Deferred foreign keys would queue an event per row until the end.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        done = 0
        while batch := list(islice(campaigns, BATCH)):
            _copy_batch(cursor, batch, party_ids, now)
            done += len(batch)
            report("campaigns", done, market.campaigns)
        cursor.execute("ANALYZE market_party, market_edge, market_campaign, market_booking")


def _load_graph(graph: Graph) -> list[int]:
    """The database's ids of the graph's parties, in the graph's order."""
    Organisation.objects.get_or_create(name=OPERATOR, defaults={"is_operator": True})
    organisations = Organisation.objects.bulk_create(
        [Organisation(name=party.name) for party in graph.parties]
    )
    parties = models.Party.objects.bulk_create(
        [
            models.Party(
                kind=party.kind,
                name=party.name,
                seller_id=party.seller_id,
                domain=party.domain,
                organisation=organisation,
            )
            for party, organisation in zip(graph.parties, organisations, strict=True)
        ]
    )
    models.Edge.objects.bulk_create(
        [
            models.Edge(
                seller=parties[edge.seller],
                buyer=parties[edge.buyer],
                expression=edge.expression,
                fee_percent=edge.fee_percent,
                is_active=edge.is_active,
            )
            for edge in graph.edges
        ],
        batch_size=BATCH,
    )
    return [party.pk for party in parties]


def _copy_batch(
    cursor: CursorWrapper, batch: list[generated.Campaign], party_ids: list[int], now: datetime
) -> None:
    ids = _reserve_ids(cursor, len(batch))
    numbered = list(zip(ids, batch, strict=True))
    _copy(cursor, COPY_CAMPAIGNS, (_campaign_row(id_, c, party_ids, now) for id_, c in numbered))
    _copy(
        cursor,
        COPY_BOOKINGS,
        (
            (id_, party_ids[publisher], "t", now, now)
            for id_, campaign in numbered
            for publisher in campaign.publishers
        ),
    )


def _campaign_row(
    id_: int, campaign: generated.Campaign, party_ids: list[int], now: datetime
) -> tuple[object, ...]:
    return (
        id_,
        party_ids[campaign.advertiser],
        campaign.name,
        campaign.expression,
        campaign.status,
        campaign.starts_at,
        campaign.ends_at,
        campaign.bid_cpm,
        min(campaign.starts_at, now),
        now,
    )


def _reserve_ids(cursor: CursorWrapper, count: int) -> list[int]:
    cursor.execute(RESERVE_CAMPAIGN_IDS, [count])
    return [row[0] for row in cursor.fetchall()]


def _copy(cursor: CursorWrapper, statement: str, rows: Iterator[tuple[object, ...]]) -> None:
    lines = StringIO()
    for row in rows:
        lines.write("\t".join(_copy_text(value) for value in row))
        lines.write("\n")
    lines.seek(0)
    cursor.copy_expert(statement, lines)


def _copy_text(value: object) -> str:
    """A value in COPY's text format."""
    if value is None:
        return r"\N"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("\t", "\\t")
        return escaped.replace("\n", "\\n").replace("\r", "\\r")
    return str(value)

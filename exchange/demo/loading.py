"""Puts the demo into the database: the graph by the ORM, campaigns and bookings by COPY.

One transaction: a run that is killed leaves nothing behind. Memory stays bounded by two batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import date
from io import StringIO
from typing import TypeVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from exchange.accounts.models import Organisation
from exchange.demo import campaigns as generated
from exchange.demo import extras
from exchange.demo.graph import Graph, GraphSize, build_graph
from exchange.demo.publishers import PUBLISHERS
from exchange.demo.rows import COPY_BOOKINGS, COPY_CAMPAIGNS, RowWriter
from exchange.market import models
from exchange.market.bulk import Report, build_indexes_last
from exchange.market.recording import Source, recording
from exchange.market.uses import refresh_uses, save_values

T = TypeVar("T")
Made = TypeVar("Made")

OPERATOR = "Treeline Exchange"
# Above the number of rows that are noted one by one as changes: a build follows in any case.
BATCH = 25_000
LARGE_LOAD = 20_000
RESERVE_CAMPAIGN_IDS = """
    SELECT nextval(pg_get_serial_sequence('market_campaign', 'id')) FROM generate_series(1, %s)
"""
# The tables that a large load fills, with the revisions that its triggers write.
FILLED = ["market_campaign", "market_booking", "market_campaignevent", "market_bookingevent"]


class ForeignMarketError(Exception):
    """Says that the database holds a market that is not the demo's."""


@dataclass(frozen=True, slots=True)
class Market:
    """What was asked for; `reference` is the day that flights are arranged around."""

    seed: int
    campaigns: int
    reference: date
    graph: GraphSize = field(default_factory=GraphSize)


def is_market_loaded() -> bool:
    if models.Party.objects.filter(seller_id=PUBLISHERS[0].seller_id).exists():
        return True
    if models.Party.objects.exists():
        raise ForeignMarketError("The database already holds parties that are not the demo's.")
    return False


@transaction.atomic
def load_market(*, market: Market, report: Report) -> None:
    """Loads the market. Triggers write the first revisions, once per batch: a million campaigns
    load in minutes."""
    with recording(by=None, source=Source.IMPORT):
        _load_market(market, report)


def _load_market(market: Market, report: Report) -> None:
    graph = build_graph(market.seed, market.graph)
    party_ids = _load_graph(graph)
    writer = RowWriter(market.seed, market.reference, party_ids)
    is_large = market.campaigns >= LARGE_LOAD
    with build_indexes_last(FILLED, report) if is_large else nullcontext():
        _copy_campaigns(graph, market, writer, report)
    save_values(writer.values)
    extras.create_test_visits(market.reference)
    refresh_uses()
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE market_party, market_edge, {', '.join(FILLED)}")


def _copy_campaigns(graph: Graph, market: Market, writer: RowWriter, report: Report) -> None:
    campaigns = generated.stream_campaigns(graph, market.seed, market.reference, market.campaigns)
    done = 0
    with connection.cursor() as cursor:
        ids = _reserve_ids(cursor, market.campaigns)
        for batch in one_ahead(lambda ids: writer.write(ids, campaigns), ids):
            cursor.copy_expert(COPY_CAMPAIGNS, StringIO(batch.campaigns))
            cursor.copy_expert(COPY_BOOKINGS, StringIO(batch.bookings))
            done += batch.count
            report("campaigns", done, market.campaigns)


def one_ahead(make: Callable[[T], Made], given: Iterable[T]) -> Iterator[Made]:
    """Yields what is made of each, in order. A thread makes the next one while the caller, here
    Postgres, works on the last one: a load takes as long as the slower of the two, not as both."""
    with ThreadPoolExecutor(1) as beside:
        coming: Future[Made] | None = None
        for each in given:
            ready, coming = coming, beside.submit(make, each)
            if ready is not None:
                yield ready.result()
        if coming is not None:
            yield coming.result()


def _reserve_ids(cursor: CursorWrapper, count: int) -> Iterator[list[int]]:
    """Reserves ids of campaigns, batch by batch."""
    for first in range(0, count, BATCH):
        cursor.execute(RESERVE_CAMPAIGN_IDS, [min(BATCH, count - first)])
        yield [row[0] for row in cursor.fetchall()]


def _load_graph(graph: Graph) -> list[int]:
    """Loads the graph; returns the database's ids of its parties, in the graph's order."""
    operator, _ = Organisation.objects.get_or_create(name=OPERATOR, defaults={"is_operator": True})
    extras.create_names(operator)
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

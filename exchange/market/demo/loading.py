"""Puts the demo into the database: the graph by the ORM, campaigns and bookings by COPY.

One transaction: a run that is killed leaves nothing behind. Memory stays bounded by one batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from io import StringIO
from itertools import islice

from django.contrib.postgres.indexes import GinIndex
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from exchange.accounts.models import Organisation
from exchange.market import models
from exchange.market.catalog import load_catalog
from exchange.market.demo import campaigns as generated
from exchange.market.demo import extras
from exchange.market.demo.chance import stream
from exchange.market.demo.graph import Graph, build_graph
from exchange.market.demo.progress import Report
from exchange.market.demo.publishers import PUBLISHERS
from exchange.market.recording import Source, recording
from exchange.market.uses import Reader, digest_of, refresh_uses, save_values
from exchange.routing import Path

OPERATOR = "Treeline Exchange"
BATCH = 5_000
LARGE_LOAD = 20_000
RESERVE_CAMPAIGN_IDS = """
    SELECT nextval(pg_get_serial_sequence('market_campaign', 'id')) FROM generate_series(1, %s)
"""
COPY_CAMPAIGNS = """
    COPY market_campaign (id, advertiser_id, name, expression, status, starts_at, ends_at, bid_cpm,
                          priority, labels, uses, uses_digest, created_at, updated_at) FROM STDIN
"""
COPY_BOOKINGS = """
    COPY market_booking (campaign_id, advertiser_id, publisher_id, is_active, policy, hop_limit,
                         pinned_edges, created_at, updated_at) FROM STDIN
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
    """Triggers write the first revisions, once per batch: a million campaigns load in minutes."""
    with recording(by=None, source=Source.IMPORT):
        _load_market(market, report)


def _load_market(market: Market, report: Report) -> None:
    graph = build_graph(market.seed)
    party_ids = _load_graph(graph)
    campaigns = generated.stream_campaigns(graph, market.seed, market.reference, market.campaigns)
    with build_indexes_last(market.campaigns), connection.cursor() as cursor:
        # Deferred foreign keys would queue an event per row until the end.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        batches = _Batches(market, party_ids)
        done = 0
        while batch := list(islice(campaigns, BATCH)):
            batches.copy(cursor, batch)
            done += len(batch)
            report("campaigns", done, market.campaigns)
        save_values(batches.values)
        extras.create_test_visits(market.reference)
        refresh_uses()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE market_party, market_edge, market_campaign, market_booking")


@contextmanager
def build_indexes_last(campaigns: int) -> Iterator[None]:
    """A large load builds the GIN indexes at its end, all at once: row by row they would take
    longer than everything else."""
    indexes = [
        (model, index)
        for model in (models.Campaign, models.Booking)
        for index in model._meta.indexes
        if isinstance(index, GinIndex) and campaigns >= LARGE_LOAD
    ]
    with connection.schema_editor() as editor:
        for model, index in indexes:
            editor.remove_index(model, index)
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")
    with connection.schema_editor() as editor:
        for model, index in indexes:
            editor.add_index(model, index)


def _load_graph(graph: Graph) -> list[int]:
    """The database's ids of the graph's parties, in the graph's order."""
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


class _Batches:
    """Turns generated campaigns into rows. `values` gathers what their expressions name."""

    def __init__(self, market: Market, party_ids: list[int]) -> None:
        self.values: set[tuple[str, str]] = set()
        self._party_ids = party_ids
        self._now = datetime.combine(market.reference, time.min, tzinfo=UTC)
        self._rng = stream(market.seed, "extras")
        self._reader = Reader(load_catalog())
        self._paths = extras.find_paths()
        self._owners = dict(models.Party.objects.values_list("id", "organisation_id"))

    def copy(self, cursor: CursorWrapper, batch: list[generated.Campaign]) -> None:
        ids = _reserve_ids(cursor, len(batch))
        numbered = list(zip(ids, batch, strict=True))
        _copy(cursor, COPY_CAMPAIGNS, (self._campaign_row(id_, c) for id_, c in numbered))
        _copy(
            cursor,
            COPY_BOOKINGS,
            (row for id_, campaign in numbered for row in self._booking_rows(id_, campaign)),
        )

    def _campaign_row(self, id_: int, campaign: generated.Campaign) -> tuple[object, ...]:
        advertiser_id = self._party_ids[campaign.advertiser]
        expression = extras.join_audience(campaign.expression, self._rng)
        uses = self._reader.read(expression, self._owners[advertiser_id])
        self.values |= uses.values
        return (
            id_,
            advertiser_id,
            campaign.name,
            expression,
            campaign.status,
            campaign.starts_at,
            campaign.ends_at,
            campaign.bid_cpm,
            extras.PRIORITIES.draw(self._rng),
            extras.as_copy_array(extras.draw_labels(self._rng)),
            extras.as_copy_array(sorted(uses.words)),
            digest_of(expression),
            min(campaign.starts_at, self._now),
            self._now,
        )

    def _booking_rows(self, id_: int, campaign: generated.Campaign) -> Iterator[tuple[object, ...]]:
        advertiser_id = self._party_ids[campaign.advertiser]
        for publisher in campaign.publishers:
            publisher_id = self._party_ids[publisher]
            path: Path | None = self._paths[publisher_id].get(advertiser_id)
            routing = extras.draw_routing(path, self._rng)
            yield (
                id_,
                advertiser_id,
                publisher_id,
                "t",
                routing.policy,
                routing.hop_limit,
                extras.as_copy_array(routing.pinned_edges),
                self._now,
                self._now,
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

"""Finds a visit of the log that has eligible campaigns, and writes its request as a curl line.

Asks the plain evaluator, because the line is printed before a snapshot need exist.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.db.models import Q

from exchange.demo.publishers import PUBLISHERS
from exchange.market.catalog import load_catalog
from exchange.market.expressions import read_expression
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.routing import Link, cheapest_paths
from targeting import Expression

ENOUGH_ELIGIBLE = 5
BOOKINGS_TRIED = 1_000
VISITS_TRIED = 60
# The attributes that the line shows: enough to be eligible, few enough to be read.
SHOWN = (
    "site.domain",
    "site.page",
    "site.cat",
    "site.page_cat",
    "content.risk",
    "content.sensitive_topics",
    "imp.channel",
    "imp.media_types",
    "imp.sizes",
    "imp.floor",
    "device.type",
    "device.os",
    "device.browser",
    "device.language",
    "device.ip",
    "geo.country",
    "geo.region",
    "geo.city",
    "geo.utc_offset",
    "user.segments",
    "user.consent",
    "regs.gdpr",
    "regs.coppa",
)


class NoVisitError(Exception):
    """Says that the log has no visit to show, or nothing is eligible for any that was tried."""


@dataclass(frozen=True, slots=True)
class Request:
    publisher: str
    visit: dict[str, Any]


def write_curl(request: Request, *, port: int, key: str) -> str:
    body = json.dumps(
        {"publisher": request.publisher, "visit": request.visit}, separators=(",", ":")
    )
    return " ".join(
        [
            f"curl -s http://127.0.0.1:{port}/api/v1/eligibility",
            f"-H {shlex.quote(f'Authorization: Api-Key {key}')}",
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(body)}",
        ]
    )


def choose_request(*, folder: Path, now: datetime) -> Request:
    """Chooses the first visit with enough eligible campaigns, or the best of those tried."""
    publisher = Party.objects.filter(seller_id=PUBLISHERS[0].seller_id).first()
    files = sorted(folder.glob("dt=*/part-*.parquet"))
    if publisher is None or not files:
        raise NoVisitError("There is no demo to take a visit from. Run manage.py load_demo first.")
    offers = load_offers(publisher=publisher, at=now, limit=BOOKINGS_TRIED)
    best, best_count = None, 0
    for visit in _visits_of(files[-1], publisher.seller_id):
        asked = {**visit, "time": now.isoformat(), "local_time": now.isoformat()}
        count = count_eligible(offers, {**asked, "publisher.id": publisher.seller_id})
        if count > best_count:
            best, best_count = visit, count
        if count >= ENOUGH_ELIGIBLE:
            break
    if best is None:
        raise NoVisitError("No visit that was tried has an eligible campaign.")
    return Request(publisher.seller_id, best)


@dataclass(frozen=True, slots=True)
class Offer:
    """A live booking with what a visit must satisfy: its campaign, and the edges of its path."""

    campaign: Expression
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Offers:
    bookings: list[Offer]
    edges: dict[int, Expression]


def load_offers(*, publisher: Party, at: datetime, limit: int) -> Offers:
    catalog = load_catalog()
    edges = {edge.pk: edge for edge in Edge.objects.active().with_parties()}
    links = [
        Link(e.pk, e.seller_id, e.buyer_id, e.fee_percent / Decimal(100)) for e in edges.values()
    ]
    paths = cheapest_paths(links, publisher.pk)
    bookings = (
        Booking.objects.filter(
            publisher=publisher, is_active=True, campaign__status=Campaign.Status.LIVE
        )
        .filter(campaign__starts_at__lte=at)
        .filter(Q(campaign__ends_at=None) | Q(campaign__ends_at__gt=at))
        .select_related("campaign__advertiser")
        .order_by("id")[:limit]
    )
    offers = [
        Offer(
            read_expression(
                text=b.campaign.expression,
                catalog=catalog,
                organisation_id=b.campaign.advertiser.organisation_id,
            ),
            paths[b.campaign.advertiser_id].edge_ids,
        )
        for b in bookings
        if b.campaign.advertiser_id in paths
    ]
    used = {edge for offer in offers for edge in offer.edges}
    rules = {
        edge: read_expression(
            text=edges[edge].expression,
            catalog=catalog,
            organisation_id=edges[edge].seller.organisation_id,
        )
        for edge in used
    }
    return Offers(offers, rules)


def count_eligible(offers: Offers, visit: Mapping[str, Any]) -> int:
    passed = {
        edge for edge, expression in offers.edges.items() if expression.evaluate(visit) is True
    }
    return sum(
        passed.issuperset(offer.edges) and offer.campaign.evaluate(visit) is True
        for offer in offers.bookings
    )


def _visits_of(file: Path, seller_id: str) -> Iterator[dict[str, Any]]:
    """Yields visits that a reader understands: known people in a known place, harmless pages."""
    is_telling = (
        (pc.field("publisher.id") == seller_id)
        & (pc.field("content.risk") == "low")
        & pc.field("geo.city").is_valid()
        & pc.field("user.segments").is_valid()
        & pc.field("user.consent").is_valid()
    )
    table = pq.read_table(file, columns=list(SHOWN), filters=is_telling).slice(0, VISITS_TRIED)
    for row in table.to_pylist():
        yield {name: value for name, value in row.items() if value is not None}

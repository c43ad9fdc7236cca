"""Finds which attributes a campaign and the paths of its bookings ask for, and a visit that passes.

Rules that the viewer may not read are left out: neither the attributes that they ask for nor a
visit that passes them may tell what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from exchange.accounts.models import User
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Booking, Campaign, Edge
from exchange.market.saved_graph import load_graph
from exchange.market.traffic import sample_traffic
from exchange.market.visibility import sight
from exchange.reading.paths import find_paths
from exchange.serving.visits import PUBLISHER, STAMPED_TIMES
from targeting import Catalog, Expression, ExpressionError
from targeting.catalog import UTC_OFFSET, Attribute, AttributeType
from targeting.matching_visits import find_matching_visit

LIKELY = 20  # values of an attribute that are tried before others
CLOCK = frozenset({*STAMPED_TIMES, UTC_OFFSET})


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression that visits must satisfy; `edge_id` is None for the campaign's own."""

    title: str
    expression: Expression
    edge_id: int | None = None
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """An attribute, and who asks for it; `is_own` if the campaign itself does."""

    attribute: Attribute
    by: tuple[str, ...]
    is_own: bool


def read_targeting(campaign: Campaign, catalog: Catalog) -> Rule:
    """Raises `ExpressionError` if it no longer compiles."""
    reader = ExpressionReader(catalog)
    expression = reader.read(campaign.expression, campaign.advertiser.organisation_id)
    return Rule("The campaign's targeting", expression)


def read_edge_rules(edges: Iterable[Edge], viewer: User, catalog: Catalog) -> list[Rule]:
    """Leaves out what no longer compiles: it lets nothing by, whatever a visit says."""
    reader = ExpressionReader(catalog)
    rules = []
    for edge in edges:
        try:
            read = reader.read(edge.expression, edge.seller.organisation_id)
        except ExpressionError:
            continue
        is_readable = sight(viewer, edge).reads_conditions
        rules.append(Rule(str(edge), read, edge.pk, is_readable))
    return rules


def list_edges(booking: Booking, viewer: User) -> list[Edge]:
    """Lists the edges that the booking's path takes, or may take."""
    if booking.policy == Booking.Policy.ANY:
        ends = booking.publisher_id, booking.campaign.advertiser_id
        between = load_graph().between(*ends, max_hops=booking.hop_limit).links
        found = Edge.objects.with_parties().in_bulk(list(between))
        return [found[pk] for pk in sorted(found)]
    return [hop.edge for hop in find_paths([booking], viewer)[0].hops]


def list_asked(rules: Sequence[Rule], catalog: Catalog) -> list[Asked]:
    """Lists them in the order of the rules, but for the publisher and the clock, which every visit
    has."""
    asked: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.is_readable:
            for name in sorted(all_attributes(rule.expression)):
                asked.setdefault(name, []).append(rule)
    return [
        Asked(catalog[name], tuple(rule.title for rule in by), by[0].edge_id is None)
        for name, by in asked.items()
        if name in catalog and name != PUBLISHER and name not in CLOCK
    ]


def all_attributes(expression: Expression) -> set[str]:
    """Lists the attributes that an expression asks for, also through its audiences."""
    names: set[str] = set()
    waiting, seen = [expression], set[str]()
    while waiting:
        read = waiting.pop()
        names |= read.attributes
        fresh = read.references - seen
        seen |= fresh
        waiting += [read.definitions[name] for name in fresh]
    return names


def suggest_visit(
    rules: Sequence[Rule], publisher: str | None, catalog: Catalog, at: datetime
) -> dict[str, Any] | None:
    """Finds a visit that the readable rules let by, with values that visits often have. None: there
    may be none."""
    sampled = sample_traffic(catalog)
    likely = {
        attribute.name: list(islice(sampled.nameable(attribute), LIKELY)) for attribute in catalog
    }
    given = {PUBLISHER: publisher} if publisher else {}
    found = find_matching_visit(
        [rule.expression for rule in rules if rule.is_readable],
        given=given,
        likely=likely,
        from_ms=int(at.timestamp() * 1000),
    )
    if found is not None:
        found.pop(PUBLISHER, None)
    return found


def is_about_time(rules: Sequence[Rule], catalog: Catalog) -> bool:
    """Decides whether the moment of a visit makes a difference to a readable rule."""
    times = (AttributeType.TIMESTAMP, AttributeType.TIMESTAMP_LOCAL)
    return any(
        name in catalog and catalog[name].type in times
        for rule in rules
        if rule.is_readable
        for name in all_attributes(rule.expression)
    )

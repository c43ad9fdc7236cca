"""Finds a party of a large graph and two hops around it, those with most visits first; where visits
are not counted yet, in the order of names. How many are left out is said for each side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.contrib.postgres.aggregates import ArrayAgg

from exchange.accounts.models import User
from exchange.market.models import Party
from exchange.market.querysets import EdgeQuerySet
from exchange.reading.graph import Node, Sale, read_nodes, read_seen_counts
from exchange.reports.edge_counts import EdgeCounts

NEAR = 8
FAR = 12
# Where a party, or its neighbours together, have more edges, the first by name are looked at.
LOOKED_AT = 2_000
HERE = 2  # the column of the party itself


@dataclass(frozen=True, slots=True)
class Around:
    """A party's surroundings. `ranks` say in which column each party stands; `more`, by column, how
    many others would. `folds` are edges to advertisers by their seller, who stands in one of the
    columns."""

    party: Party
    sales: tuple[Sale, ...]
    ranks: Mapping[int, int]
    folds: Mapping[int, tuple[int, ...]]
    nodes: Mapping[int, Node]
    more: Mapping[int, int]
    counts: EdgeCounts


@dataclass(slots=True)
class Side:
    """What is chosen on one side of the party: before it, or behind it."""

    sales: list[Sale] = field(default_factory=list)
    hops: dict[int, int] = field(default_factory=dict)
    more: dict[int, int] = field(default_factory=dict)


def look_around(person: User, party: Party, edges: EdgeQuerySet) -> Around:
    """Looks around a party, over the edges that the person sees."""
    counts = read_seen_counts(person)
    trunk = edges.exclude(buyer__kind=Party.Kind.ADVERTISER)
    # Edges to advertisers are not in the trunk, but they are what leads to this one.
    into = edges if party.kind == Party.Kind.ADVERTISER else trunk
    before = choose_side(counts, party, [into, trunk], "seller")
    behind = choose_side(counts, party, [trunk, trunk], "buyer", taken=before.hops)
    ranks = {party.pk: HERE}
    ranks |= {pk: HERE - hop for pk, hop in before.hops.items()}
    ranks |= {pk: HERE + hop for pk, hop in behind.hops.items()}
    sales = tuple(before.sales + behind.sales)
    more = {HERE - hop: count for hop, count in before.more.items()}
    more |= {HERE + hop: count for hop, count in behind.more.items()}
    folds = read_folds(edges, [pk for pk, rank in ranks.items() if HERE <= rank <= HERE + 1])
    return Around(party, sales, ranks, folds, read_nodes(ranks), more, counts)


def choose_side(
    counts: EdgeCounts,
    party: Party,
    edges: Sequence[EdgeQuerySet],
    end: str,
    taken: Collection[int] = (),
) -> Side:
    """Chooses who is shown on one side. `end` is the party that an edge leads to when one walks
    away: `seller` before it, `buyer` behind it. Whoever stands on the other side already is not
    shown twice."""
    side, start = Side(), "buyer" if end == "seller" else "seller"
    for hop, (rows, most) in enumerate(zip(edges, (NEAR, FAR), strict=True), 1):
        nearer = [pk for pk, at in side.hops.items() if at == hop - 1] if hop > 1 else [party.pk]
        found = rows.filter(**{f"{start}__in": nearer}).order_by(f"{end}__name", "pk")
        candidates = [
            Sale(*row) for row in found.values_list("pk", "seller_id", "buyer_id")[:LOOKED_AT]
        ]
        known = {party.pk, *side.hops, *taken}
        new = [sale for sale in by_visits(counts, candidates) if far_end(end)(sale) not in known]
        keep_first(side, new, hop, most, far_end(end))
    return side


def far_end(end: str) -> Callable[[Sale], int]:
    return lambda sale: sale.seller_id if end == "seller" else sale.buyer_id


def by_visits(counts: EdgeCounts, sales: Sequence[Sale]) -> list[Sale]:
    def passed(sale: Sale) -> int:
        count = counts.of(sale.edge_id)
        return count.passed if count else 0

    return sorted(sales, key=passed, reverse=True)  # stable: by name where nothing is counted


def keep_first(
    side: Side, sales: Sequence[Sale], hop: int, most: int, end: Callable[[Sale], int]
) -> None:
    parties = list(dict.fromkeys(map(end, sales)))
    kept = dict.fromkeys(parties[:most], hop)
    side.hops |= kept
    side.sales += [sale for sale in sales if end(sale) in kept]
    if len(parties) > most:
        side.more[hop] = len(parties) - most


def read_folds(edges: EdgeQuerySet, sellers: Collection[int]) -> dict[int, tuple[int, ...]]:
    bought = edges.filter(seller__in=sellers, buyer__kind=Party.Kind.ADVERTISER)
    grouped = bought.order_by("seller_id").values_list("seller_id")
    return {pk: tuple(ids) for pk, ids in grouped.annotate(ids=ArrayAgg("pk", order_by="pk"))}

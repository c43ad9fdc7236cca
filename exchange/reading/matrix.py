"""Sums up sellers by buyers, each group the parties of one organisation: what is left to see of a
graph with too many parties to draw. Those that trade most with each other are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.contrib.postgres.aggregates import ArrayAgg

from exchange.accounts.models import Organisation, User
from exchange.market.models import Party
from exchange.reading.graph import read_seen_counts, seen_edges
from exchange.reports.edge_counts import EdgeCount

GROUPS_SHOWN = 24
ROUNDS = 3

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    edge_count: int
    count: EdgeCount | None


@dataclass(frozen=True, slots=True)
class Matrix:
    """Organisations by id and name, those with most edges first; `cells` by seller and buyer.
    `pair_count` are all pairs of groups that trade, also those that are not shown."""

    sellers: list[tuple[int, str]]
    buyers: list[tuple[int, str]]
    cells: Mapping[Pair, Cell]
    edge_count: int
    pair_count: int
    is_counted: bool


def read_matrix(person: User) -> Matrix:
    trunk = seen_edges(person).exclude(buyer__kind=Party.Kind.ADVERTISER).order_by()
    pairs = trunk.values_list("seller__organisation_id", "buyer__organisation_id")
    found: dict[Pair, list[int]] = {
        (seller, buyer): ids for seller, buyer, ids in pairs.annotate(ids=ArrayAgg("pk"))
    }
    sizes = {pair: len(ids) for pair, ids in found.items()}
    sellers, buyers = choose_groups(sizes)
    shown = {pair: found[pair] for pair in found if pair[0] in sellers and pair[1] in buyers}
    counts = read_seen_counts(person)
    names = Organisation.objects.in_bulk([*sellers, *buyers])
    return Matrix(
        sellers=[(pk, names[pk].name) for pk in sellers],
        buyers=[(pk, names[pk].name) for pk in buyers],
        cells={pair: Cell(len(ids), counts.sum(ids)) for pair, ids in shown.items()},
        edge_count=sum(sizes.values()),
        pair_count=len(found),
        is_counted=counts.day is not None,
    )


def choose_groups(sizes: Mapping[Pair, int]) -> tuple[list[int], list[int]]:
    """Chooses the largest sellers, the largest buyers from them, the largest sellers to those, and
    so on: groups that do not meet would leave the matrix empty."""
    sellers = most_edges(sizes, 0, {seller for seller, _ in sizes}, {buyer for _, buyer in sizes})
    buyers = most_edges(sizes, 1, sellers, {buyer for _, buyer in sizes})
    for _ in range(ROUNDS):
        sellers = most_edges(sizes, 0, {seller for seller, _ in sizes}, buyers)
        buyers = most_edges(sizes, 1, sellers, {buyer for _, buyer in sizes})
    return sellers, buyers


def most_edges(
    sizes: Mapping[Pair, int], side: int, sellers: Collection[int], buyers: Collection[int]
) -> list[int]:
    sellers, buyers = frozenset(sellers), frozenset(buyers)
    totals: Counter[int] = Counter()
    for pair, size in sizes.items():
        if pair[0] in sellers and pair[1] in buyers:
            totals[pair[side]] += size
    return first_of(totals)


def first_of(totals: Mapping[int, int]) -> list[int]:
    """Lists the largest first, equal ones by id, so that every view shows the same."""
    in_order: Iterable[int] = sorted(totals, key=lambda pk: (-totals[pk], pk))
    return list(in_order)[:GROUPS_SHOWN]

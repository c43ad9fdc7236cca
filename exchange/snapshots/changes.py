"""Finds what changed in the market between two moments, from the table that triggers write.

A moment is a database snapshot as Postgres names it. A change belongs to the difference if the
later moment sees its transaction and the earlier one does not: whatever the order in which
transactions began and committed, each change is in exactly one difference of a chain of moments.
A transaction that stays open for long holds nobody else's changes back.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.db import connection

from exchange.routing import MAX_HOPS, Graph, Link
from exchange.snapshots.market import Market
from exchange.snapshots.models import ChangeKind

# The first comparison is for the index: what an earlier moment has not seen began later than the
# oldest transaction that was still running then.
SELECT_SINCE = """
    SELECT kind, object_id, former FROM snapshots_change
    WHERE xid >= pg_snapshot_xmin(%(position)s::pg_snapshot)
        AND NOT pg_visible_in_snapshot(xid, %(position)s::pg_snapshot)
    ORDER BY id
"""
COUNT_SINCE = f"SELECT count(*) FROM ({SELECT_SINCE}) AS since"  # noqa: S608  (ours)
FORGET = "DELETE FROM snapshots_change WHERE xid < pg_snapshot_xmin(%s::pg_snapshot)"


@dataclass(slots=True)
class Changes:
    """What changed: ids by kind; `many` are kinds with too many to name. `former` holds the rows of
    edges and parties as they were; None: it was not there."""

    ids: dict[ChangeKind, set[int]] = field(default_factory=lambda: defaultdict(set))
    many: set[ChangeKind] = field(default_factory=set)
    former: dict[tuple[ChangeKind, int], Mapping[str, Any] | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.ids or self.many)

    def add(
        self, kind: ChangeKind, object_id: int | None, former: Mapping[str, Any] | None
    ) -> None:
        if object_id is None:
            self.many.add(kind)
            return
        self.ids[kind].add(object_id)
        # Changes of one row wait for each other, so the table has them in their order.
        self.former.setdefault((kind, object_id), former)


def read_changes(since: str) -> Changes:
    """Reads the changes since that moment, up to the moment that the caller reads in."""
    found = Changes()
    with connection.cursor() as cursor:
        cursor.execute(SELECT_SINCE, {"position": since})
        for kind, object_id, former in cursor.fetchall():
            # The cursor gives JSON as text or as a value, depending on what Django registered.
            row = json.loads(former) if isinstance(former, str) else former
            found.add(ChangeKind(kind), object_id, row)
    return found


def count_changes(since: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(COUNT_SINCE, {"position": since})
        (count,) = cursor.fetchone()
    return int(count)


def forget_changes(before: str) -> int:
    """Removes what every moment from this one on has seen."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [before])
        return int(cursor.rowcount)


@dataclass(frozen=True, slots=True)
class GraphChange:
    """The graph before, the edges that came, went or cost something else, and parties renamed."""

    before: Graph
    changed_edges: frozenset[int]
    renamed_parties: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.changed_edges or self.renamed_parties)


def find_graph_change(changes: Changes, market: Market) -> GraphChange:
    links = {link.edge_id: link for link in market.links}
    names = market.names()
    changed, renamed = set(), set()
    after = dict(links)
    for (kind, object_id), row in changes.former.items():
        if kind is ChangeKind.EDGE and (former := as_link(row)) != after.get(object_id):
            changed.add(object_id)
            links.pop(object_id, None)
            if former is not None:
                links[object_id] = former
        if kind is ChangeKind.PARTY and row is not None:
            party = market.parties[object_id]
            if (row["name"], row["seller_id"]) != (party.name, party.seller_id):
                renamed.add(object_id)
                names[object_id] = row["name"]
    return GraphChange(Graph(links.values(), names), frozenset(changed), frozenset(renamed))


def as_link(row: Mapping[str, Any] | None) -> Link | None:
    """Makes a link of an edge's row; None for an edge that no path can take."""
    if row is None or row["retired_at"] is not None or not row["is_active"]:
        return None
    fee = Fraction(Decimal(str(row["fee_percent"]))) / 100
    return Link(row["id"], row["seller_id"], row["buyer_id"], fee)


Pairs = set[tuple[int, int]]


def find_affected(change: GraphChange, after: Graph) -> set[int]:
    """Finds parties whose paths, to whomsoever, may be others now."""
    starts = set(change.renamed_parties)
    for graph in (change.before, after):
        links = (graph.links.get(edge_id) for edge_id in change.changed_edges)
        starts |= {link.seller_id for link in links if link is not None}
    return find_upstream([change.before, after], starts)


def find_moved_pairs(change: GraphChange, after: Graph, sources: Iterable[int]) -> Pairs:
    """Finds pairs of a source and whomever it reaches, whose cheapest path within some limit of
    hops is another one now, or costs something else, or passes a party that has another name."""
    moved = set()
    for source in sources:
        old, new = change.before.cheapest_by_hops(source), after.cheapest_by_hops(source)
        for target in old.keys() | new.keys():
            paths = new.get(target, ())
            if paths != old.get(target, ()) or any(
                not change.renamed_parties.isdisjoint(path.party_ids) for path in paths
            ):
                moved.add((source, target))
    return moved


def find_nearer_pairs(change: GraphChange, after: Graph, sources: Iterable[int]) -> Pairs:
    """Finds pairs that fewer hops are between than before, or that no path led between at all."""
    nearer = set()
    for source in sources:
        old = change.before.downstream(source)
        nearer |= {
            (source, target)
            for target, hops in after.downstream(source).items()
            if hops < old.get(target, MAX_HOPS + 1)
        }
    return nearer


def find_upstream(graphs: list[Graph], starts: set[int]) -> set[int]:
    """Finds the parties themselves and all that sell to them, over however many others."""
    sellers: dict[int, set[int]] = defaultdict(set)
    for graph in graphs:
        for link in graph.links.values():
            sellers[link.buyer_id].add(link.seller_id)
    found, waiting = set(starts), list(starts)
    while waiting:
        for seller_id in sellers[waiting.pop()] - found:
            found.add(seller_id)
            waiting.append(seller_id)
    return found

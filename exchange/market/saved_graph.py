"""Reads the exchange graph as it is saved, once for each version, and keeps it in the process.

The version is counted by triggers (migration 0007), so whoever changes an edge or a party's name,
by whatever hand and in whatever process, makes the next question read the graph anew. Paths are
found by the compiled walk, which agrees with `exchange.routing` to the last unit.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from threading import Lock
from typing import NamedTuple

from django.db import connection

from exchange.routing import MAX_HOPS, Graph, Link, Path
from matcher_ext.routes import RouteGraph

WHOLE = 10_000  # fees have two decimals of a percent
READ_TRIES = 3
# An assigned id means that this transaction has changed something that others may never see.
SELECT_VERSION = """
    SELECT coalesce(sum(changes), 0), max(changed_at), pg_current_xact_id_if_assigned() IS NULL
    FROM market_graphversion
"""
SELECT_LINKS = f"""
    SELECT id, seller_id, buyer_id, ({WHOLE} - {WHOLE // 100} * fee_percent)::integer
    FROM market_edge WHERE is_active AND retired_at IS NULL
"""  # noqa: S608  (ours)
SELECT_NAMES = "SELECT id, name FROM market_party"

Row = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Version:
    """A state of the graph. The time parts what is counted alike by chance: a restored backup."""

    changes: int
    changed_at: datetime | None


class Links(Mapping[int, Link]):
    """The active edges by id, each made when it is asked for: a page needs few of many."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {row[0]: row for row in rows}

    def __getitem__(self, edge_id: int) -> Link:
        _, seller_id, buyer_id, numerator = self._rows[edge_id]
        return Link(edge_id, seller_id, buyer_id, 1 - Fraction(numerator, WHOLE))

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def buyer_of(self, edge_id: int) -> int:
        return self._rows[edge_id][2]

    def rows(self) -> dict[int, Row]:
        return dict(self._rows)


class Passing(NamedTuple):
    """Says that the cheapest path from source to target passes an edge, if it may have that many
    hops."""

    source: int
    target: int
    fewest_hops: int
    most_hops: int


class SavedGraph:
    """Active edges and the names of all parties at one version. Immutable, safe for threads."""

    def __init__(self, rows: Iterable[Row], names: Mapping[int, str]) -> None:
        rows = list(rows)
        self.links = Links(rows)
        self.names = names
        self._routes = RouteGraph(names, rows)

    def cheapest_paths(
        self, source: int, targets: Iterable[int], *, max_hops: int = MAX_HOPS
    ) -> dict[int, Path]:
        """Finds paths to those of the targets that can be reached; one walk, whatever their
        number."""
        found = self._routes.find_cheapest(source, targets, max_hops)
        return {
            target: self._spell_out(source, edge_ids, share)
            for target, (edge_ids, share) in found.items()
        }

    def _spell_out(self, source: int, edge_ids: tuple[int, ...], share: int) -> Path:
        buyers = map(self.links.buyer_of, edge_ids)
        return Path(edge_ids, (source, *buyers), Fraction(share, WHOLE ** len(edge_ids)))

    def find_passing(self, edge_id: int, among: Container[int] | None = None) -> Iterator[Passing]:
        """Finds pairs whose cheapest path passes the edge, with the limits of hops for which it
        does, from parties that nobody sells to: all of them, or those `among` some, each of which
        is a walk over the graph."""
        if edge_id not in self.links:
            return
        for source in self._routes.find_sources(self.links[edge_id].seller_id):
            if among is not None and source not in among:
                continue
            for target, fewest, most in self._routes.find_passing(source, edge_id):
                yield Passing(source, target, fewest, most)

    def with_edge(self, edge_id: int, row: Row | None) -> SavedGraph:
        """Makes the same graph with one edge as it might become: another, a new one, or none."""
        rows = self.links.rows()
        if rows.get(edge_id) == row:
            return self
        rows.pop(edge_id, None)
        return SavedGraph([*rows.values(), *([row] if row else [])], self.names)

    def between(self, source: int, target: int, *, max_hops: int = MAX_HOPS) -> Graph:
        """Cuts out the part of the graph that paths between the two can be in."""
        edge_ids = sorted(self._routes.find_between(source, target, max_hops))
        return Graph([self.links[edge_id] for edge_id in edge_ids], self.names)


_lock = Lock()
_kept: tuple[Version, SavedGraph] | None = None


def load_graph() -> SavedGraph:
    """Loads the graph as this transaction sees it; one small query unless it has changed."""
    version, _ = read_version()
    found = find_kept(version)
    if found is not None:
        return found
    with _lock:  # a second thread waits for the first, instead of reading the same
        return find_kept(version) or read_graph()


def find_kept(version: Version) -> SavedGraph | None:
    kept = _kept
    return kept[1] if kept is not None and kept[0] == version else None


def read_graph() -> SavedGraph:
    """Reads the graph; keeps it if nothing changed meanwhile, and if others see the same."""
    global _kept
    for _ in range(READ_TRIES):
        before, _ = read_version()
        with connection.cursor() as cursor:
            cursor.execute(SELECT_LINKS)
            rows = sorted(cursor.fetchall())  # sorting in Postgres takes twice as long
            # Read after the edges, so that each of them finds the names of its parties.
            cursor.execute(SELECT_NAMES)
            names = dict(cursor.fetchall())
        after, is_everybodys = read_version()
        if before == after:
            break
    graph = SavedGraph(rows, names)
    if before == after and is_everybodys:
        _kept = after, graph
    return graph


def read_version() -> tuple[Version, bool]:
    """Reads the version, and whether everybody sees the same: this transaction has changed nothing
    so far."""
    with connection.cursor() as cursor:
        cursor.execute(SELECT_VERSION)
        changes, changed_at, is_everybodys = cursor.fetchone()
    return Version(int(changes), changed_at), is_everybodys

"""Chooses a booking's path, and says what is wrong with one that was pinned.

Cheapest paths are `Graph.cheapest_paths`; "any" is the same question with the edges that a visit
satisfies, which the compiled walk answers for every visit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

from exchange.routing.graph import MAX_HOPS, Link, Path


class Policy(StrEnum):
    PINNED = "pinned"
    CHEAPEST = "cheapest"
    ANY = "any"


class Break(StrEnum):
    """Why a pinned path does not lead from its publisher to its advertiser."""

    EMPTY = "empty"
    TOO_LONG = "too long"
    INACTIVE = "inactive"
    DISCONNECTED = "disconnected"
    CIRCULAR = "circular"


class BrokenPathError(Exception):
    """Says what is wrong with a path. `edge_id` is the first edge at fault; None where it is the
    path as a whole, or its end."""

    def __init__(self, kind: Break, edge_id: int | None) -> None:
        super().__init__(kind.value if edge_id is None else f"edge {edge_id}: {kind.value}")
        self.kind = kind
        self.edge_id = edge_id


class WithLinks(Protocol):
    """Whatever has the active edges by id."""

    @property
    def links(self) -> Mapping[int, Link]: ...


def pin_path(
    graph: WithLinks,
    edge_ids: Sequence[int],
    source: int,
    target: int,
    *,
    max_hops: int = MAX_HOPS,
) -> Path:
    """Makes the path over exactly these edges, or raises BrokenPathError."""
    if not edge_ids:
        raise BrokenPathError(Break.EMPTY, None)
    if len(edge_ids) > max_hops:
        raise BrokenPathError(Break.TOO_LONG, None)
    parties, share = [source], Fraction(1)
    for edge_id in edge_ids:
        link = graph.links.get(edge_id)
        if link is None:
            raise BrokenPathError(Break.INACTIVE, edge_id)
        if link.seller_id != parties[-1]:
            raise BrokenPathError(Break.DISCONNECTED, edge_id)
        if link.buyer_id in parties:
            raise BrokenPathError(Break.CIRCULAR, edge_id)
        parties.append(link.buyer_id)
        share *= 1 - Fraction(link.fee)
    if parties[-1] != target:
        raise BrokenPathError(Break.DISCONNECTED, None)
    return Path(tuple(edge_ids), tuple(parties), share)

"""Finds what keeps the visits at one publisher from its bookings, in bits of a table.

Owns which condition is to blame alone, which is missing, and how far visits come along edges, each
of the publisher's rows that carry what is required.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pipelines.prepared import PublisherRows, Words, count_bits


class Failing(NamedTuple):
    """Rows that a condition is false of and unknown of, whatever else; and those that nothing but
    this condition keeps from being eligible."""

    false: int
    unknown: int
    alone: Words


class EdgeRows(NamedTuple):
    """Rows that come to an edge, each once, by whatever path; and what becomes of them."""

    reached: int
    passed: int
    lost_to_false: int
    lost_to_unknown: int


def find_failing(at: PublisherRows, conditions: Sequence[str]) -> Iterator[tuple[str, Failing]]:
    """Tells how each of a booking's conditions fails; nothing if one of them cannot be read."""
    if not all(each in at.truths for each in conditions):
        return
    failed_once, failed_twice = np.zeros_like(at.bits), np.zeros_like(at.bits)
    for condition in conditions:
        failed = at.bits & ~at.truths[condition].true
        failed_twice |= failed_once & failed
        failed_once |= failed
    failed_once &= ~failed_twice
    for condition in conditions:
        true, false = at.truths[condition]
        unknown = count_bits(at.bits) - count_bits(true) - count_bits(false)
        yield condition, Failing(count_bits(false), unknown, failed_once & ~true)


def follow_paths(at: PublisherRows, paths: Iterable[Sequence[str]]) -> dict[str, EdgeRows]:
    """Follows the rows along paths of edges: they come as far as every edge before is true."""
    reached: dict[str, Words] = {}
    for path in paths:
        coming = at.bits
        for edge in path:
            reached[edge] = reached.get(edge, np.zeros_like(coming)) | coming
            coming = coming & at.truths[edge].true
    return {edge: meet(at, edge, rows) for edge, rows in reached.items()}


def meet(at: PublisherRows, edge: str, rows: Words) -> EdgeRows:
    true, false = at.truths[edge]
    came, passed, lost = count_bits(rows), count_bits(rows & true), count_bits(rows & false)
    return EdgeRows(came, passed, lost, came - passed - lost)

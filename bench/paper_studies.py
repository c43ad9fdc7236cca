"""Declares what a study of a paper is: a figure or a table, as cells of one engine on one workload
each.

The studies themselves are in bench/paper_figures.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Spec = dict[str, Any]  # a maker's name under "make", and its numbers
Order = tuple[tuple[str, str], ...]
MATCH, MEMORY, BUILD = "match us", "MB", "build s"
UNLIMITED = 10**9


@dataclass(frozen=True, slots=True)
class Contestant:
    """An engine with its switches, and what a table calls it. `most`: of so many expressions; what
    is larger is not asked of it."""

    name: str
    engine: str
    options: Mapping[str, Any] = field(default_factory=dict)
    most: int = UNLIMITED

    def takes(self, spec: Spec) -> bool:
        return size_of(spec) <= self.most


@dataclass(frozen=True, slots=True)
class Sweep:
    """What grows, and the workload at each of its values."""

    grows: str
    points: dict[str, Spec]


@dataclass(frozen=True, slots=True)
class Study:
    """`order`: pairs of names; the paper says that the first of each has less of the metric. `why`
    says what is behind an order that does not hold here."""

    key: str
    paper: str
    title: str
    metric: str
    sweep: Sweep
    contestants: tuple[Contestant, ...]
    order: Order = ()
    why: str = ""

    @property
    def points(self) -> dict[str, Spec]:
        return self.sweep.points


def size_of(spec: Spec) -> int:
    size: int = spec.get("expressions") or spec.get("subscriptions") or 0
    return size


def named(*engines: str, most: Mapping[str, int] | None = None) -> tuple[Contestant, ...]:
    limits = most or {}
    return tuple(Contestant(name, name, most=limits.get(name, UNLIMITED)) for name in engines)


def sweep(grows: str, make: str, parameter: str, values: tuple[Any, ...], **fixed: Any) -> Sweep:
    return Sweep(
        grows, {f"{value:,}": {"make": make, **fixed, parameter: value} for value in values}
    )

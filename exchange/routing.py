"""Cheapest paths over the exchange graph, in exact arithmetic and within a limit of hops.

Knows nothing of Django or expressions: callers give the active edges as links. What the fees of a
path leave over (they multiply) decides; expressions never influence which path is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm

MAX_HOPS = 8


@dataclass(frozen=True, slots=True)
class Link:
    """An active edge; `fee` is the part that the seller keeps, exact: 0 <= fee < 1."""

    edge_id: int
    seller_id: int
    buyer_id: int
    fee: Fraction | Decimal

    def __post_init__(self) -> None:
        if not 0 <= self.fee < 1:
            raise ValueError(f"edge {self.edge_id}: fee must be from 0 to below 1, not {self.fee}")


@dataclass(frozen=True, slots=True)
class Path:
    """`party_ids` starts with the source and has one more element than `edge_ids`."""

    edge_ids: tuple[int, ...]
    party_ids: tuple[int, ...]
    net_share: Fraction


@dataclass(frozen=True, slots=True)
class _Way:
    """A walk of as many hops as it has edges. `rank` orders walks of equal length and share."""

    share: int
    names: tuple[str | int, ...]
    edge_ids: tuple[int, ...]
    party_ids: tuple[int, ...]

    @property
    def rank(self) -> tuple[int, tuple[str | int, ...], tuple[int, ...]]:
        return (-self.share, self.names, self.edge_ids)


class Graph:
    """The links, prepared once for questions from many sources. Immutable after construction.

    `names` breaks ties between paths of equal cost and length; without it the ids do.
    """

    def __init__(self, links: Iterable[Link], names: Mapping[int, str] | None = None) -> None:
        kept = [(link, 1 - Fraction(link.fee)) for link in links]
        # Shares are integers in units of 1 / denominator ** MAX_HOPS: every hop multiplies by its
        # numerator and divides by the denominator without a remainder, so comparing them is exact.
        self._denominator = lcm(*(share.denominator for _, share in kept))
        self._names = names
        self._sales: dict[int, list[tuple[Link, int]]] = {}
        for link, share in kept:
            numerator = share.numerator * (self._denominator // share.denominator)
            self._sales.setdefault(link.seller_id, []).append((link, numerator))

    def cheapest_paths(self, source: int, *, max_hops: int = MAX_HOPS) -> dict[int, Path]:
        """The best path to every party that can be reached, the source itself left out.

        Synchronous rounds, one per hop. A way to a party goes on only if it leaves strictly more
        than every shorter way there: with fees of 0 or more, anything else (a cycle above all) can
        only lose. Dijkstra would not do: the cheapest way may use up hops that the rest needs.
        """
        if not 0 <= max_hops <= MAX_HOPS:
            raise ValueError(f"max_hops must be from 0 to {MAX_HOPS}, not {max_hops}")
        whole = self._denominator**MAX_HOPS
        frontier = {source: _Way(whole, (self._name(source),), (), (source,))}
        best = dict(frontier)
        for _ in range(max_hops):
            frontier = self._next_round(frontier, best)
            best.update(frontier)
        del best[source]
        return {
            party_id: Path(way.edge_ids, way.party_ids, Fraction(way.share, whole))
            for party_id, way in best.items()
        }

    def _next_round(
        self, frontier: Mapping[int, _Way], best: Mapping[int, _Way]
    ) -> dict[int, _Way]:
        reached: dict[int, _Way] = {}
        for way in frontier.values():
            for link, numerator in self._sales.get(way.party_ids[-1], ()):
                share = way.share * numerator // self._denominator
                shorter = best.get(link.buyer_id)
                if shorter is not None and shorter.share >= share:
                    continue
                rival = reached.get(link.buyer_id)
                if rival is not None and rival.share > share:
                    continue
                longer = self._extend(way, link, share)
                if rival is None or longer.rank < rival.rank:
                    reached[link.buyer_id] = longer
        return reached

    def _extend(self, way: _Way, link: Link, share: int) -> _Way:
        return _Way(
            share,
            (*way.names, self._name(link.buyer_id)),
            (*way.edge_ids, link.edge_id),
            (*way.party_ids, link.buyer_id),
        )

    def _name(self, party_id: int) -> str | int:
        return party_id if self._names is None else self._names[party_id]


def cheapest_paths(
    links: Iterable[Link], source: int, *, names: Mapping[int, str] | None = None
) -> dict[int, Path]:
    """For one source; build a `Graph` to ask about many."""
    return Graph(links, names).cheapest_paths(source)

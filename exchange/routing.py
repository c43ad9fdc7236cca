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
from typing import NamedTuple

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


class _Way(NamedTuple):
    """A walk as its last hop and the way before it; spelled out only for ties and for answers."""

    share: int
    party_id: int
    edge_id: int
    before: _Way | None

    def hops(self) -> list[_Way]:
        """From the source, which has no edge, to the end."""
        way, backwards = self.before, [self]
        while way is not None:
            backwards.append(way)
            way = way.before
        return backwards[::-1]


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
        self._sales: dict[int, list[tuple[int, int, int]]] = {}
        for link, share in kept:
            numerator = share.numerator * (self._denominator // share.denominator)
            sale = (link.buyer_id, link.edge_id, numerator)
            self._sales.setdefault(link.seller_id, []).append(sale)

    def cheapest_paths(self, source: int, *, max_hops: int = MAX_HOPS) -> dict[int, Path]:
        """The best path to every party that can be reached, the source itself left out.

        Synchronous rounds, one per hop. A way to a party goes on only if it leaves strictly more
        than every shorter way there: with fees of 0 or more, anything else (a cycle above all) can
        only lose. Dijkstra would not do: the cheapest way may use up hops that the rest needs.
        """
        if not 0 <= max_hops <= MAX_HOPS:
            raise ValueError(f"max_hops must be from 0 to {MAX_HOPS}, not {max_hops}")
        whole = self._denominator**MAX_HOPS
        frontier = {source: _Way(whole, source, 0, None)}
        best = dict(frontier)
        for _ in range(max_hops):
            frontier = self._next_round(frontier, best)
            best.update(frontier)
        del best[source]
        return {party_id: _spell_out(way, whole) for party_id, way in best.items()}

    def _next_round(
        self, frontier: Mapping[int, _Way], best: Mapping[int, _Way]
    ) -> dict[int, _Way]:
        denominator = self._denominator
        reached: dict[int, _Way] = {}
        for seller_id, way in frontier.items():
            for buyer_id, edge_id, numerator in self._sales.get(seller_id, ()):
                share = way.share * numerator // denominator
                shorter = best.get(buyer_id)
                if shorter is not None and shorter.share >= share:
                    continue
                rival = reached.get(buyer_id)
                if rival is not None and rival.share > share:
                    continue
                longer = _Way(share, buyer_id, edge_id, way)
                if rival is None or rival.share < share or self._is_before(longer, rival):
                    reached[buyer_id] = longer
        return reached

    def _is_before(self, way: _Way, rival: _Way) -> bool:
        """Between ways of the same share and length."""
        return self._rank(way) < self._rank(rival)

    def _rank(self, way: _Way) -> tuple[list[str] | list[int], list[int]]:
        hops = way.hops()
        ids = [hop.party_id for hop in hops]
        names = ids if self._names is None else [self._names[party_id] for party_id in ids]
        return names, [hop.edge_id for hop in hops]


def _spell_out(way: _Way, whole: int) -> Path:
    hops = way.hops()
    return Path(
        edge_ids=tuple(hop.edge_id for hop in hops[1:]),
        party_ids=tuple(hop.party_id for hop in hops),
        net_share=Fraction(way.share, whole),
    )


def cheapest_paths(
    links: Iterable[Link], source: int, *, names: Mapping[int, str] | None = None
) -> dict[int, Path]:
    """For one source; build a `Graph` to ask about many."""
    return Graph(links, names).cheapest_paths(source)

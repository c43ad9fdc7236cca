"""Finds cheapest paths over the exchange graph, in exact arithmetic and within a limit of hops.

Callers give the active edges as links. What the fees of a path leave over (they multiply) decides;
an edge is left out only where the caller's `allows` says so, asked once and only when its seller
is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
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
    """A path; `party_ids` starts with the source and has one more element than `edge_ids`."""

    edge_ids: tuple[int, ...]
    party_ids: tuple[int, ...]
    net_share: Fraction


class _Way(NamedTuple):
    """A walk as its last hop and the way before it; spelled out only for ties and for answers.

    `worth` is what is compared: the share, less one whole for each closed edge on the way.
    """

    worth: int
    share: int
    party_id: int
    edge_id: int
    before: _Way | None

    def hops(self) -> list[_Way]:
        """Lists the ways from the source, which has no edge, to the end."""
        way, backwards = self.before, [self]
        while way is not None:
            backwards.append(way)
            way = way.before
        return backwards[::-1]


class _Sale(NamedTuple):
    buyer_id: int
    edge_id: int
    numerator: int


# Says what a way through an edge loses in worth, or None if there is no way through it.
_Toll = Callable[[int], int | None]


class Graph:
    """The links, prepared once for questions from many sources. Immutable after construction.

    `names` breaks ties between paths of equal cost and length, ids where names are the same, and
    edge ids between parallel edges. Without `names` the ids do.
    """

    def __init__(self, links: Iterable[Link], names: Mapping[int, str] | None = None) -> None:
        self.links = {link.edge_id: link for link in links}
        kept = [(link, 1 - Fraction(link.fee)) for link in self.links.values()]
        # Shares are integers in units of 1 / denominator ** MAX_HOPS: every hop multiplies by its
        # numerator and divides by the denominator without a remainder, so comparing them is exact.
        self._denominator = lcm(*(share.denominator for _, share in kept))
        self._whole = self._denominator**MAX_HOPS
        self._names = names
        self._sales: dict[int, list[_Sale]] = {}
        for link, share in kept:
            numerator = share.numerator * (self._denominator // share.denominator)
            sale = _Sale(link.buyer_id, link.edge_id, numerator)
            self._sales.setdefault(link.seller_id, []).append(sale)

    def cheapest_paths(
        self,
        source: int,
        *,
        max_hops: int = MAX_HOPS,
        allows: Callable[[int], bool] | None = None,
    ) -> dict[int, Path]:
        """Finds the best path to every party that can be reached, the source itself left out."""
        if allows is None:
            return self._find(source, max_hops, lambda _: 0)
        return self._find(source, max_hops, lambda edge_id: 0 if allows(edge_id) else None)

    def cheapest_by_hops(self, source: int) -> dict[int, tuple[Path, ...]]:
        """Finds for every party the paths that are the best within some limit of hops, the shortest
        and dearest first: one walk for all limits."""
        found: dict[int, list[Path]] = {}
        for reached in self._walk(source, MAX_HOPS, lambda _: 0):
            for party_id, way in reached.items():
                found.setdefault(party_id, []).append(_spell_out(way, self._whole))
        return {party_id: tuple(paths) for party_id, paths in found.items()}

    def nearest_paths(
        self, source: int, *, max_hops: int = MAX_HOPS, allows: Callable[[int], bool]
    ) -> dict[int, Path]:
        """Finds the path with the fewest closed edges to every party, the cheapest of those."""
        return self._find(source, max_hops, lambda edge_id: 0 if allows(edge_id) else self._whole)

    def downstream(self, party_id: int, *, max_hops: int = MAX_HOPS) -> dict[int, int]:
        """Counts the fewest hops to every party that can be reached; to the party itself: 0."""
        return _count_hops(self._buyers, party_id, max_hops)

    @cached_property
    def _buyers(self) -> dict[int, list[int]]:
        """Lists the buyers of each seller."""
        return {
            seller_id: [sale.buyer_id for sale in sales] for seller_id, sales in self._sales.items()
        }

    def openers(
        self,
        source: int,
        target: int,
        *,
        max_hops: int = MAX_HOPS,
        allows: Callable[[int], bool],
    ) -> list[int]:
        """Finds the closed edges of which each one alone, were it open, would open a path."""
        is_open = {edge_id: allows(edge_id) for edge_id in self.links}
        forwards: dict[int, list[int]] = {}
        backwards: dict[int, list[int]] = {}
        for link in self.links.values():
            if is_open[link.edge_id]:
                forwards.setdefault(link.seller_id, []).append(link.buyer_id)
                backwards.setdefault(link.buyer_id, []).append(link.seller_id)
        before = _count_hops(forwards, source, max_hops)
        behind = _count_hops(backwards, target, max_hops)
        if target in before:
            return []
        return [
            link.edge_id
            for link in self.links.values()
            if not is_open[link.edge_id]
            and before.get(link.seller_id, max_hops) + 1 + behind.get(link.buyer_id, max_hops)
            <= max_hops
        ]

    def _find(self, source: int, max_hops: int, toll: _Toll) -> dict[int, Path]:
        best: dict[int, _Way] = {}
        for reached in self._walk(source, max_hops, toll):
            best.update(reached)
        return {party_id: _spell_out(way, self._whole) for party_id, way in best.items()}

    def _walk(self, source: int, max_hops: int, toll: _Toll) -> Iterator[dict[int, _Way]]:
        """Walks in synchronous rounds, one per hop, and yields what each one reaches better than
        all before it. A way to a party goes on only if it is worth strictly more than every shorter
        way there: with fees of 0 or more, anything else (a cycle above all) can only lose. Dijkstra
        would not do: the cheapest way may use up hops that the rest needs.
        """
        if not 0 <= max_hops <= MAX_HOPS:
            raise ValueError(f"max_hops must be from 0 to {MAX_HOPS}, not {max_hops}")
        frontier = {source: _Way(self._whole, self._whole, source, 0, None)}
        best = dict(frontier)
        tolls: dict[int, int | None] = {}
        for _ in range(max_hops):
            frontier = self._next_round(frontier, best, toll, tolls)
            best.update(frontier)
            yield frontier

    def _next_round(
        self,
        frontier: Mapping[int, _Way],
        best: Mapping[int, _Way],
        toll: _Toll,
        tolls: dict[int, int | None],
    ) -> dict[int, _Way]:
        reached: dict[int, _Way] = {}
        for seller_id, way in frontier.items():
            for sale in self._sales.get(seller_id, ()):
                if sale.edge_id not in tolls:
                    tolls[sale.edge_id] = toll(sale.edge_id)
                due = tolls[sale.edge_id]
                if due is None:
                    continue
                longer = self._go_on(way, sale, due)
                shorter = best.get(sale.buyer_id)
                if shorter is not None and shorter.worth >= longer.worth:
                    continue
                rival = reached.get(sale.buyer_id)
                if rival is None or self._is_before(longer, rival):
                    reached[sale.buyer_id] = longer
        return reached

    def _go_on(self, way: _Way, sale: _Sale, due: int) -> _Way:
        share = way.share * sale.numerator // self._denominator
        worth = share - (way.share - way.worth) - due
        return _Way(worth, share, sale.buyer_id, sale.edge_id, way)

    def _is_before(self, way: _Way, rival: _Way) -> bool:
        """Compares ways of the same length."""
        if way.worth != rival.worth:
            return way.worth > rival.worth
        return self._rank(way) < self._rank(rival)

    def _rank(self, way: _Way) -> tuple[list[tuple[str, int]], list[int]]:
        hops = way.hops()
        names = self._names or {}
        places = [(names.get(hop.party_id, ""), hop.party_id) for hop in hops]
        return places, [hop.edge_id for hop in hops]


def _count_hops(nearby: Mapping[int, list[int]], source: int, max_hops: int) -> dict[int, int]:
    hops, frontier = {source: 0}, [source]
    for hop in range(1, max_hops + 1):
        found = (other for party_id in frontier for other in nearby.get(party_id, ()))
        frontier = [party_id for party_id in dict.fromkeys(found) if party_id not in hops]
        hops.update(dict.fromkeys(frontier, hop))
    return hops


def _spell_out(way: _Way, whole: int) -> Path:
    hops = way.hops()
    return Path(
        edge_ids=tuple(hop.edge_id for hop in hops[1:]),
        party_ids=tuple(hop.party_id for hop in hops),
        net_share=Fraction(way.share, whole),
    )


def within(paths: Sequence[Path], hops: int) -> Path | None:
    """Takes, of what `cheapest_by_hops` found for a party, the path to use with so many hops at
    most."""
    return next((path for path in reversed(paths) if len(path.edge_ids) <= hops), None)


def cheapest_paths(
    links: Iterable[Link], source: int, *, names: Mapping[int, str] | None = None
) -> dict[int, Path]:
    """Finds paths from one source; build a `Graph` to ask about many."""
    return Graph(links, names).cheapest_paths(source)

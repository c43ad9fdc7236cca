"""Finds what is wrong with a booking: no path, a broken one, a cycle, a contradiction on the way,
an expression that no longer compiles.

Works on the market as it is saved now, read once for many bookings. A contradiction is proven by
`targeting.analysis`; what cannot be decided within its budget is not reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from exchange.findings.models import BookingFinding
from exchange.market.catalog import load_catalog
from exchange.market.expressions import ExpressionReader
from exchange.market.models import Booking, Edge, Party
from exchange.routing import BrokenPathError, Graph, Path, pin_path, within
from exchange.routing.cycles import Cycle, find_cycles
from exchange.routing.policies import Break
from exchange.snapshots.models import ChangeKind, Quarantined
from targeting import Expression, ExpressionError
from targeting.analysis import analyse_path

Kind = BookingFinding.Kind
BUDGET = 20_000  # nodes that one analysis may look at: about 50 ms
EDGES_LOOKED_AT = 200  # of a booking that may take any path, and that lead to its advertiser
CONFLICTS_KEPT = 200_000  # of a campaign with an edge, for its bookings at other publishers
CAMPAIGNS_KEPT = 1_000  # bookings of a campaign mostly follow one another


@dataclass(frozen=True, slots=True)
class Found:
    """A finding before it is saved."""

    kind: BookingFinding.Kind
    edge_ids: tuple[int, ...] = ()
    party_ids: tuple[int, ...] = ()
    conditions: tuple[tuple[int | None, str], ...] = ()


class Checker:
    """Reads the graph once; compiles each rule when it is first met. Not thread-safe."""

    def __init__(self) -> None:
        names = dict(Party.objects.values_list("id", "name"))
        kept = list(Edge.objects.kept().as_links())
        active = set(Edge.objects.active().order_by().values_list("pk", flat=True))
        self.graph = Graph((link for link in kept if link.edge_id in active), names)
        self.whole_graph = Graph(kept, names)
        self._quarantined = find_quarantined()
        self._expressions = ExpressionReader(load_catalog())
        self._reached = cache(self.graph.cheapest_by_hops)
        self._reached_if_active = cache(self.whole_graph.cheapest_by_hops)
        self._downstream = cache(self.graph.downstream)
        self._behind = cache(self._upstream_graph.downstream)
        self._rule = cache(self._read_rule)
        self._read = lru_cache(CAMPAIGNS_KEPT)(self._read_expression)
        self._conflict_with = lru_cache(CONFLICTS_KEPT)(self._find_conflict_with)

    @cached_property
    def cycles(self) -> list[Cycle]:
        return find_cycles(self.graph.links.values())

    @cached_property
    def _upstream_graph(self) -> Graph:
        """Turns every edge the other way round."""
        return Graph(
            [
                type(link)(link.edge_id, link.buyer_id, link.seller_id, link.fee)
                for link in self.graph.links.values()
            ]
        )

    def check(self, booking: Booking) -> Iterator[Found]:
        """Yields what is wrong with a booking, which comes with its campaign and its advertiser."""
        has_good_form = self._quarantined.get((ChangeKind.CAMPAIGN, booking.campaign_id))
        if has_good_form is False:
            yield Found(Kind.QUARANTINED)
            return
        if has_good_form:
            yield Found(Kind.OLDER_FORM)
        if booking.policy == Booking.Policy.PINNED:
            yield from self._check_pinned(booking)
        else:
            yield from self._check_chosen(booking)

    def _check_pinned(self, booking: Booking) -> Iterator[Found]:
        source, target = booking.publisher_id, booking.advertiser_id
        try:
            path = pin_path(
                self.graph, booking.pinned_edges, source, target, max_hops=booking.hop_limit
            )
        except BrokenPathError as broken:
            if broken.kind is Break.INACTIVE:
                closed = [pk for pk in booking.pinned_edges if pk not in self.graph.links]
                yield Found(Kind.BROKEN_PATH, tuple(closed))
            else:
                yield Found(Kind.NO_PATH, tuple(booking.pinned_edges))
            return
        yield from self._check_path(booking, path)

    def _check_chosen(self, booking: Booking) -> Iterator[Found]:
        hops = booking.hop_limit
        paths = self._reached(booking.publisher_id).get(booking.advertiser_id, ())
        path = within(paths, hops)
        if path is None:
            yield self._explain_no_path(booking, hops)
        elif booking.policy == Booking.Policy.ANY:
            yield from self._check_cycles(booking, hops)
            yield from self._check_any_path(booking, path, hops)
        else:
            yield from self._check_path(booking, path)

    def _explain_no_path(self, booking: Booking, hops: int) -> Found:
        """Finds whether edges that are switched off would connect the two."""
        paths = self._reached_if_active(booking.publisher_id).get(booking.advertiser_id, ())
        path = within(paths, hops)
        if path is None:
            return Found(Kind.NO_PATH)
        closed = tuple(pk for pk in path.edge_ids if pk not in self.graph.links)
        return Found(Kind.BROKEN_PATH, closed)

    def _check_path(self, booking: Booking, path: Path) -> Iterator[Found]:
        closed = self._find_closed(path)
        if closed:
            yield Found(Kind.QUARANTINED, closed)
            return
        conflict = self._find_conflict(booking, path.edge_ids)
        if conflict:
            yield conflict

    def _find_closed(self, path: Path) -> tuple[int, ...]:
        """Finds edges whose rule no longer compiles and never did in a form that could go on."""
        quarantined = self._quarantined
        return tuple(pk for pk in path.edge_ids if quarantined.get((ChangeKind.EDGE, pk)) is False)

    def _find_conflict(self, booking: Booking, edge_ids: Iterable[int]) -> Found | None:
        campaign = booking.campaign
        return self._find_conflict_in(
            campaign.expression, campaign.advertiser.organisation_id, edge_ids
        )

    def _find_conflict_with(
        self, text: str, organisation_id: int | None, edge_id: int
    ) -> Found | None:
        return self._find_conflict_in(text, organisation_id, [edge_id])

    def _find_conflict_in(
        self, text: str, organisation_id: int | None, edge_ids: Iterable[int]
    ) -> Found | None:
        campaign = self._read(text, organisation_id)
        rules = {pk: rule for pk in edge_ids if (rule := self._rule(pk)) is not None}
        return None if campaign is None else find_contradiction(campaign, rules)

    def _check_any_path(self, booking: Booking, path: Path, hops: int) -> Iterator[Found]:
        """Yields a contradiction if every path passes an edge that excludes the campaign by itself.
        Edges that do not lead to the advertiser are none of its paths."""
        campaign = booking.campaign
        organisation_id = campaign.advertiser.organisation_id
        if not any(
            self._conflict_with(campaign.expression, organisation_id, pk) for pk in path.edge_ids
        ):
            return  # as with nearly all: one path is open, so the others need no look
        looked_at = 0
        excluded: dict[int, Found] = {}
        behind = self._behind(booking.advertiser_id, max_hops=hops)

        def allows(edge_id: int) -> bool:
            nonlocal looked_at
            if self.graph.links[edge_id].buyer_id not in behind:
                return True
            looked_at += 1
            if looked_at > EDGES_LOOKED_AT:
                return True
            found = self._conflict_with(campaign.expression, organisation_id, edge_id)
            if found:
                excluded[edge_id] = found
            return found is None

        reached = self.graph.cheapest_paths(booking.publisher_id, max_hops=hops, allows=allows)
        if booking.advertiser_id in reached or not excluded:
            return
        on_path = [edge_id for edge_id in path.edge_ids if edge_id in excluded]
        yield excluded[(on_path or sorted(excluded))[0]]

    def _check_cycles(self, booking: Booking, hops: int) -> Iterator[Found]:
        """Yields the first cycle that paths of this booking may pass."""
        before = self._downstream(booking.publisher_id)
        behind = self._behind(booking.advertiser_id, max_hops=hops)
        for cycle in self.cycles:
            if any(
                before.get(party, hops) + behind.get(party, hops) <= hops for party in cycle.knot
            ):
                yield Found(Kind.CYCLE, cycle.edge_ids, cycle.party_ids)
                return

    def _read_rule(self, edge_id: int) -> Expression | None:
        edge = Edge.objects.select_related("seller").get(pk=edge_id)
        return self._read(edge.expression, edge.seller.organisation_id)

    def _read_expression(self, text: str, organisation_id: int | None) -> Expression | None:
        """Reads an expression; None where it no longer compiles: that is told elsewhere."""
        try:
            return self._expressions.read(text, organisation_id)
        except ExpressionError:
            return None


def find_contradiction(
    campaign: Expression, rules: Mapping[int, Expression], *, budget: int = BUDGET
) -> Found | None:
    """Finds what keeps every visit off a path of these edges, each with its rule, in path order."""
    if not rules:
        return None
    named = [(str(pk), rule) for pk, rule in rules.items()]
    for finding in analyse_path(campaign, named, budget=budget).findings:
        owners = [None if owner is None else int(owner) for owner in finding.owners]
        return Found(
            Kind.CONTRADICTION,
            edge_ids=tuple(dict.fromkeys(pk for pk in owners if pk is not None)),
            conditions=tuple(zip(owners, finding.conditions, strict=True)),
        )
    return None


def find_quarantined() -> dict[tuple[str, int], bool]:
    """Finds what is quarantined, by kind and id; True where its last good form is served."""
    rows = Quarantined.objects.order_by()
    return {
        (kind, object_id): has_good_form
        for kind, object_id, has_good_form in rows.values_list("kind", "object_id", "has_good_form")
    }

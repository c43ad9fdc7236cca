"""Drafts a delta from what changed: which bookings are inserted again, which die, what is
redefined.

Bookings are composed anew from the market as it is now, never patched, so a delta is right whatever
the order of the edits in it. What would insert more than a delta may hold waits for a build: the
smallest causes go first, the others are named.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db.models import Q
from msgspec.structs import replace

from exchange.market.models import Booking, Edge, Party
from exchange.serving.deltas import Delta, DeltaEntry, RouteRecord
from exchange.snapshots.changes import (
    Changes,
    GraphChange,
    find_affected,
    find_graph_change,
    find_moved_pairs,
    find_nearer_pairs,
    read_changes,
)
from exchange.snapshots.collection import no_collection
from exchange.snapshots.composing import (
    CLOSED,
    Composer,
    Entry,
    SkipError,
    edge_name,
    reach_name,
)
from exchange.snapshots.market import (
    BookedPair,
    Market,
    read_campaigns,
    read_surroundings,
)
from exchange.snapshots.models import ChangeKind, Quarantined
from exchange.snapshots.quarantine import Quarantine, read_former_texts
from exchange.snapshots.texts import Compiled, open_catalog
from exchange.snapshots.touched import (
    Touched,
    is_served,
    look,
    look_at_active,
    look_between,
)
from exchange.snapshots.vocabulary import audience_name
from matcher_ext.language import check_text
from matcher_ext.values import CompiledCatalog
from targeting import ExpressionError

MAX_REINSERTED = 20_000
NAMED_IN_EXPRESSIONS = {ChangeKind.ATTRIBUTE, ChangeKind.AUDIENCE, ChangeKind.VALUE_LIST}
MAX_LENT = 10_000  # characters; a long list is quicker found in the snapshot


@dataclass(frozen=True, slots=True)
class Served:
    """What servers have: the catalogue of the snapshot, the names that are defined, and those of
    them that its graph has a place for."""

    catalog: CompiledCatalog
    names: frozenset[str]
    built: frozenset[str]


@dataclass(slots=True)
class Draft:
    """A delta before it has a number; `deferred` are reasons with counts of bookings."""

    definitions: dict[str, str] = field(default_factory=dict)
    entries: list[DeltaEntry] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)
    routes: RouteRecord | None = None
    lent: dict[str, str] = field(default_factory=dict)
    deferred: list[tuple[str, int]] = field(default_factory=list)
    quarantine: Quarantine = field(default_factory=Quarantine)

    @property
    def is_empty(self) -> bool:
        changes = self.definitions or self.entries or self.dead or self.routes
        return not (changes or self.deferred)

    @property
    def deferred_count(self) -> int:
        return sum(count for _, count in self.deferred)

    def numbered(self, market: Market, log_id: str, number: int) -> Delta:
        return Delta(
            log_id=log_id,
            number=number,
            position=market.position,
            read_at=market.read_at,
            definitions=self.definitions,
            entries=tuple(self.entries),
            dead=tuple(self.dead),
            routes=self.routes,
            lent=self.lent,
            deferred=self.deferred_count,
        )


def draft_delta(
    *, since: str, position: str, served: Served, limit: int = MAX_REINSERTED
) -> tuple[Draft, Market] | None:
    """Drafts a delta; None if nothing changed. Call it in a block of `one_moment`, whose name is
    `position`."""
    changes = read_changes(since)
    if not changes:
        return None
    with no_collection():
        market = read_surroundings(position)
        drafter = Drafter(with_quarantined(changes), market, served, limit)
        return drafter.draft(), drafter.market


def with_quarantined(changes: Changes) -> Changes:
    """Adds what is quarantined where a name changed: an expression may have waited for it."""
    if changes.ids.keys().isdisjoint(NAMED_IN_EXPRESSIONS):
        return changes
    ids = defaultdict(set, {kind: set(found) for kind, found in changes.ids.items()})
    for row in Quarantined.objects.all():
        ids[ChangeKind(row.kind)].add(row.object_id)
    return Changes(ids, changes.many, changes.former)


class Drafter:
    """Makes one draft. Not thread-safe."""

    def __init__(self, changes: Changes, market: Market, served: Served, limit: int) -> None:
        self.market = market
        self._changes = changes
        self._served = served
        self._limit = limit
        self._has_same_catalog = is_same(served.catalog, open_catalog(market.catalog))
        self._draft = Draft(quarantine=Quarantine(read_former_texts))
        self._composer = Composer(market, self._draft.quarantine)
        self._prepared_campaigns: set[int] = set()
        self._prepared_paths: set[tuple[int, ...]] = set()
        self._graph_change = find_graph_change(changes, market)

    def draft(self) -> Draft:
        self._defer_what_is_whole()
        self._reroute()
        chosen = self._choose_bookings()
        self._redefine()
        self._compose(chosen)
        return self._draft

    def _defer_what_is_whole(self) -> None:
        self._draft.deferred += [
            (f"Very many rows ({kind.label}) were changed at once.", 0)
            for kind in sorted(self._changes.many)
        ]
        if self._changes.ids.get(ChangeKind.ATTRIBUTE) and not self._has_same_catalog:
            self._draft.deferred.append(("The attribute catalogue changed.", 0))
        if self._changes.ids.get(ChangeKind.ORGANISATION):
            self._draft.deferred.append(("Another organisation operates the exchange.", 0))

    def _choose_bookings(self) -> dict[int, BookedPair]:
        """Chooses live bookings to insert again, the smallest causes first."""
        chosen: dict[int, BookedPair] = {}
        dead: set[int] = set()
        for touched in sorted(self._look_at_causes(), key=lambda touched: touched.count):
            dead |= touched.dead
            known = touched.served.keys() & chosen.keys()
            count = touched.count - len(known)
            if count > self._limit - len(chosen):
                self._draft.deferred.append((touched.why, count))
            else:
                chosen |= touched.served
        self._draft.dead += sorted(dead)
        return chosen

    def _look_at_causes(self) -> Iterable[Touched]:
        ids = self._changes.ids
        if booking_ids := ids.get(ChangeKind.BOOKING):
            yield look("Bookings changed.", Booking.objects.filter(pk__in=booking_ids))
        yield from self._look_at_campaigns(sorted(ids.get(ChangeKind.CAMPAIGN, ())))
        if self._graph_change:
            yield from self._look_at_paths(self._graph_change)

    def _look_at_campaigns(self, campaign_ids: list[int]) -> Iterable[Touched]:
        """Looks at campaigns one by one where they are too many together: each is a query."""
        if len(campaign_ids) > 1:
            bookings = Booking.objects.filter(campaign_id__in=campaign_ids)
            together = look(f"{len(campaign_ids):,} campaigns changed.", bookings)
            if together.count <= self._limit:
                yield together
                return
        for campaign_id in campaign_ids:
            bookings = Booking.objects.filter(campaign_id=campaign_id)
            yield look(f"Campaign {campaign_id} changed.", bookings)

    def _look_at_paths(self, change: GraphChange) -> Iterable[Touched]:
        after, limit = self._composer.graph, self._limit
        publishers = Party.objects.filter(
            pk__in=find_affected(change, after), kind=Party.Kind.PUBLISHER
        )
        sources = list(publishers.values_list("pk", flat=True))
        if moved := find_moved_pairs(change, after, sources):
            yield look_between("Cheapest paths moved.", Booking.Policy.CHEAPEST, moved, limit)
        if nearer := find_nearer_pairs(change, after, sources):
            yield look_between("Advertisers came nearer.", Booking.Policy.ANY, nearer, limit)
        if renamed := change.renamed_parties:
            ends = Q(publisher_id__in=renamed) | Q(advertiser_id__in=renamed)
            yield look_at_active("Parties were renamed.", Booking.objects.filter(ends), limit)
        if touched := change.changed_edges | edges_of(change.renamed_parties):
            pinned = Booking.objects.filter(
                policy=Booking.Policy.PINNED, pinned_edges__overlap=sorted(touched)
            )
            yield look_at_active("Pinned paths changed.", pinned, limit)

    def _reroute(self) -> None:
        """Adds the whole graph, which bookings on any path see. The snapshot has places in it for
        some edges that come later; more of them wait for a build."""
        if not self._graph_change:
            return
        routes = self._composer.routes()
        known = [link for link in routes.links if edge_name(link[0]) in self._served.built]
        if len(known) < len(routes.links):
            free = Booking.objects.filter(is_served(), policy=Booking.Policy.ANY)
            why = "More edges were added than the live snapshot has places for."
            self._draft.deferred.append((why, free.order_by().count()))
        self._draft.routes = replace(routes, links=known)

    def _redefine(self) -> None:
        ids = self._changes.ids
        for list_id in sorted(ids.get(ChangeKind.VALUE_LIST, ())):
            for name in sorted(self._served.names):
                if name.startswith(f"list.{list_id}."):
                    self._define(name, self._composer.vocabulary.define_slot(name))
        for audience_id in sorted(ids.get(ChangeKind.AUDIENCE, ())):
            name = audience_name(audience_id)
            self._define(name, self._composer.vocabulary.audiences.get(name))
        for edge_id in sorted(ids.get(ChangeKind.EDGE, ())):
            if edge_id in self.market.edge_expressions:
                self._define_edge(edge_id)
            elif edge_name(edge_id) in self._served.names:
                self._draft.definitions[edge_name(edge_id)] = CLOSED

    def _define(self, name: str, compiled: Compiled | None) -> None:
        """Defines a name, together with what it refers to and servers do not know yet."""
        if compiled is None or isinstance(compiled, ExpressionError):
            return
        if name in self._draft.definitions:
            return
        self._define_references(compiled)
        if self._knows(compiled) and self._is_readable(compiled.text):
            self._draft.definitions[name] = compiled.text
        else:
            self._draft.deferred.append((f"@{name} uses attributes that are new.", 0))

    def _define_references(self, expression: Compiled) -> None:
        if isinstance(expression, ExpressionError):
            return
        for name in sorted(expression.references - self._served.names):
            self._define(name, expression.definitions.get(name))

    def _compose(self, chosen: dict[int, BookedPair]) -> None:
        campaigns = read_campaigns({pair.campaign_id for pair in chosen.values()})
        self.market.campaigns.update(campaigns)
        waiting: Counter[str] = Counter()
        for booking_id, pair in sorted(chosen.items()):
            if pair.campaign_id not in campaigns:
                continue  # it is not served, and was not: only its path moved
            try:
                entry = self._composer.compose(pair)
            except SkipError:
                self._draft.dead.append(booking_id)
                continue
            if why := self._why_not_yet(entry):
                waiting[why] += 1
            else:
                self._draft.entries.append(DeltaEntry(entry.row, entry.text))
        self._draft.deferred += waiting.items()

    def _why_not_yet(self, entry: Entry) -> str:
        """Says what servers lack that only a build brings; the rest comes with the record."""
        campaign_id = entry.row.campaign_id
        campaign = self._composer.campaigns[campaign_id]
        if campaign_id not in self._prepared_campaigns:
            self._prepared_campaigns.add(campaign_id)
            self._prepare_campaign(campaign)
        if entry.edge_ids not in self._prepared_paths:
            self._prepared_paths.add(entry.edge_ids)
            self._define_edges(entry.edge_ids)
            self._lend(edge_name(edge_id) for edge_id in entry.edge_ids)
        if entry.reach and reach_name(*entry.reach) not in self._served.names:
            return "Bookings may take any path to an advertiser that the snapshot knows none to."
        if not self._knows(campaign) or not self._is_readable(entry.text):
            return "Campaigns use attributes that are new."
        return ""

    def _prepare_campaign(self, campaign: Compiled) -> None:
        if not isinstance(campaign, ExpressionError) and campaign.references:
            self._define_references(campaign)
            self._lend(sorted(campaign.references))

    def _define_edge(self, edge_id: int) -> None:
        """Defines an edge; one that servers cannot read lets nothing by until they can."""
        name = edge_name(edge_id)
        self._define(name, self._composer.edges[edge_id])
        if name not in self._served.names:
            self._draft.definitions.setdefault(name, CLOSED)

    def _define_edges(self, edge_ids: Iterable[int]) -> None:
        for edge_id in edge_ids:
            if edge_name(edge_id) not in self._served.names:
                self._define_edge(edge_id)

    def _lend(self, names: Iterable[str]) -> None:
        """Lends what entries refer to, as servers have it already: they need not read their
        snapshot's whole graph to find it. Each comes after what it refers to itself."""
        if ChangeKind.EDGE in self._changes.many or ChangeKind.AUDIENCE in self._changes.many:
            return
        for name in names:
            if name in self._draft.lent or name in self._draft.definitions:
                continue
            if name not in self._served.names:
                continue
            compiled = self._find_definition(name)
            if compiled is None or isinstance(compiled, ExpressionError):
                continue
            self._lend(sorted(compiled.references))
            if len(compiled.text) > MAX_LENT:
                continue
            if self._knows(compiled) and self._is_readable(compiled.text):
                self._draft.lent[name] = compiled.text

    def _find_definition(self, name: str) -> Compiled | None:
        kind, _, rest = name.partition(".")
        if kind == "edge":
            return self._composer.edges[int(rest)]
        words = self._composer.vocabulary
        return words.audiences.get(name) or words.slots.get(name)

    def _knows(self, compiled: Compiled) -> bool:
        """Tells whether servers know every name in it, this record included: they refuse a text
        with another one."""
        return not isinstance(compiled, ExpressionError) and all(
            name in self._served.names or name in self._draft.definitions
            for name in compiled.references
        )

    def _is_readable(self, text: str) -> bool:
        """Tells whether servers can read the text with their snapshot's catalogue."""
        if self._has_same_catalog:
            return True
        try:
            check_text(self._served.catalog, text, composed=True)
        except ExpressionError:
            return False
        return True


def is_same(one: CompiledCatalog, other: CompiledCatalog) -> bool:
    """Compares catalogues; one that was read from a file has lists where others have tuples."""
    return json.dumps(one.rows) == json.dumps(other.rows)


def edges_of(party_ids: Collection[int]) -> set[int]:
    ends = Q(seller_id__in=party_ids) | Q(buyer_id__in=party_ids)
    return set(Edge.objects.filter(ends).values_list("pk", flat=True)) if party_ids else set()

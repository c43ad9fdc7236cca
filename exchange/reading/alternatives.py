"""Compares the ways between a publisher and a campaign's advertiser: what each costs, what it lets
by, and which of its edges refuse a visit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from exchange.accounts.models import User
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking
from exchange.market.saved_graph import load_graph
from exchange.reading.explaining import Step, check_edge
from exchange.reading.offers import Judge, Offer, make_offer
from exchange.reading.paths import (
    BookingPath,
    choose_path,
    describe_path,
    find_cheapest,
    load_edges,
)
from exchange.reading.reach import Reach, ReachCounter
from exchange.routing.alternatives import alternative_paths
from exchange.serving.visits import flatten, stamp

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way. `use` says what the booking makes of it; `steps` are the verdicts of its edges on a
    visit, none without one."""

    offer: Offer
    use: str
    is_chosen: bool
    steps: tuple[Step, ...] = ()

    @property
    def path(self) -> BookingPath:
        return self.offer.path

    @property
    def reach(self) -> Reach | None:
        return self.offer.reach

    @property
    def refusing(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.truth is not True)


def compare_paths(
    booking: Booking,
    viewer: User,
    visit: Mapping[str, object] | None = None,
    at: datetime | None = None,
) -> list[Alternative]:
    """Lists the cheapest ones first, with the one that the booking takes always among them. The
    booking need not be saved; it comes with its publisher, campaign and advertiser."""
    graph = load_graph()
    source, target = booking.publisher_id, booking.campaign.advertiser_id
    links = graph.between(source, target).links.values()
    paths = alternative_paths(links, source, target, limit=SHOWN)
    chosen = choose_path(booking, graph, find_cheapest([booking], graph))
    if chosen is not None and chosen not in paths:
        paths.append(chosen)
    edges = load_edges(paths)
    judge, counter = Judge(booking.campaign, viewer), ReachCounter.open(booking.campaign)
    flat = flatten_at(booking, visit, at) if visit is not None else None
    compared = []
    for path in paths:
        shown = describe_path(booking, path, edges, viewer)
        offer = make_offer(shown, judge, counter)
        use = tell_use(booking, len(path.edge_ids), is_chosen=path == chosen)
        compared.append(Alternative(offer, use, path == chosen, check_hops(shown, flat)))
    return compared


def tell_use(booking: Booking, hops: int, *, is_chosen: bool) -> str:
    if booking.policy == Booking.Policy.ANY:
        if hops > booking.hop_limit:
            return f"too long: at most {booking.most_hops}"
        return "first choice" if is_chosen else "if cheaper ones are closed"
    if is_chosen:
        return "taken: pinned" if booking.policy == Booking.Policy.PINNED else "taken: the cheapest"
    return "not taken" if hops <= booking.hop_limit else f"too long: at most {booking.most_hops}"


def flatten_at(
    booking: Booking, visit: Mapping[str, object], at: datetime | None
) -> dict[str, Any]:
    flat = flatten(visit, {attribute.name for attribute in load_catalog()})
    stamp(flat, booking.publisher.seller_id, at or datetime.now(UTC))
    return flat


def check_hops(path: BookingPath, flat: dict[str, Any] | None) -> tuple[Step, ...]:
    if flat is None:
        return ()
    catalog = load_catalog()
    return tuple(check_edge(hop, flat, catalog) for hop in path.hops)

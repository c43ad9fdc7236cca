"""Checks a snapshot before it may go live: reopened from disk, it agrees with the plain evaluator.

Sampled bookings are asked about made-up visits, once through the index and once through the plain
evaluator; a single difference refuses the snapshot.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from exchange.serving.bookings import Bookings
from exchange.serving.directory import BOOKINGS_FILE, INDEX_FILE
from exchange.serving.visits import PUBLISHER, stamp
from exchange.snapshots.building import Built
from exchange.snapshots.composing import Composer, Entry
from exchange.snapshots.sampling import VisitMaker
from exchange.snapshots.texts import read_tree
from matcher_ext import Snapshot
from targeting import Expression, ExpressionError

SAMPLED_BOOKINGS = 150
SAMPLED_VISITS = 100
MILLISECOND = timedelta(milliseconds=1)


class SnapshotWrongError(Exception):
    """Says what differs in a snapshot that must not go live."""


def check_snapshot(
    *, built: Built, folder: Path, advance: Callable[[int], None] = lambda _: None
) -> None:
    index = Snapshot.open(folder / INDEX_FILE, recheck=True)
    bookings = Bookings(folder / BOOKINGS_FILE)
    if not len(index) == len(bookings) == len(built.entries):
        raise SnapshotWrongError(
            f"{len(built.entries)} bookings were built, but the index holds {len(index)} and the "
            f"bookings file {len(bookings)}."
        )
    counted = built.composer.market.counted
    if counted is not None and counted != len(built.entries) + built.composer.skipped.count:
        raise SnapshotWrongError(
            f"Postgres counts {counted} live bookings, but {len(built.entries)} were built and "
            f"{built.composer.skipped.count} left out."
        )
    if built.entries:
        check_sample(index, built, advance)


def check_sample(index: Snapshot, built: Built, advance: Callable[[int], None]) -> None:
    # Seeded, and not for secrets: the same build must draw the same sample.
    chance = random.Random(len(built.entries))  # noqa: S311
    sample = chance.sample(built.entries, min(SAMPLED_BOOKINGS, len(built.entries)))
    parts = {entry.row.booking_id: expressions_of(built.composer, entry) for entry in sample}
    maker = VisitMaker(built.composer.market.catalog, parts.values(), chance)
    for _ in range(SAMPLED_VISITS):
        aimed_at = chance.choice(sample)
        visit = maker.make(parts[aimed_at.row.booking_id])
        stamp(visit, aimed_at.row.publisher, moment_near(built.composer, aimed_at, chance))
        compare(index, built.composer, sample, parts, visit)
        advance(1)


def expressions_of(composer: Composer, entry: Entry) -> list[Expression]:
    compiled = [composer.campaigns[entry.row.campaign_id]]
    compiled += [composer.edges[edge_id] for edge_id in edges_of(composer, entry)]
    return [read_tree(part) for part in compiled if not isinstance(part, ExpressionError)]


def edges_of(composer: Composer, entry: Entry) -> Sequence[int]:
    """Returns the edges to aim visits at: those of the cheapest path for a booking that takes
    any."""
    if entry.reach is None:
        return entry.edge_ids
    advertiser_id, hops = entry.reach
    source = composer.party_ids[entry.row.publisher]
    return composer.graph.cheapest_paths(source, max_hops=hops)[advertiser_id].edge_ids


def moment_near(composer: Composer, entry: Entry, chance: random.Random) -> datetime:
    """Draws a moment within the flight, or on its very edges and just outside."""
    campaign = composer.market.campaigns[entry.row.campaign_id]
    starts_at = campaign.starts_at
    ends_at = campaign.ends_at or starts_at + timedelta(days=400)
    inside = starts_at + (ends_at - starts_at) * chance.random()
    edges = [starts_at - MILLISECOND, starts_at, ends_at - MILLISECOND, ends_at]
    return chance.choice([inside] * 4 + edges)


def compare(
    index: Snapshot,
    composer: Composer,
    sample: list[Entry],
    parts: dict[int, list[Expression]],
    visit: dict[str, object],
) -> None:
    found = set(index.match(visit))
    for entry in sample:
        booking_id = entry.row.booking_id
        needed = parts[booking_id][:1] if entry.reach else parts[booking_id]
        expected = is_eligible(composer, entry, needed, visit)
        if entry.reach:
            expected = expected and walk_finds(composer, entry.reach, visit)
        elif has_broken_edge(composer, entry):
            expected = False
        if (booking_id in found) != expected:
            raise SnapshotWrongError(
                f"The index says {booking_id in found} and the plain evaluator {expected} of "
                f"booking {booking_id}: {entry.text}"
            )


def is_eligible(
    composer: Composer, entry: Entry, parts: list[Expression], visit: dict[str, object]
) -> bool:
    """Tells whether the visit is eligible, by the definition and without the index."""
    return (
        visit[PUBLISHER] == entry.row.publisher
        and is_in_flight(composer, entry, visit)
        and all(part.evaluate(visit) is True for part in parts)
    )


def has_broken_edge(composer: Composer, entry: Entry) -> bool:
    return any(isinstance(composer.edges[edge_id], ExpressionError) for edge_id in entry.edge_ids)


def walk_finds(composer: Composer, reach: tuple[int, int], visit: dict[str, object]) -> bool:
    """Tells whether some path is open, by the plain rounds and the plain evaluator."""

    def allows(edge_id: int) -> bool:
        edge = composer.edges[edge_id]
        return not isinstance(edge, ExpressionError) and read_tree(edge).evaluate(visit) is True

    advertiser_id, hops = reach
    source = composer.party_ids[str(visit[PUBLISHER])]
    return advertiser_id in composer.graph.cheapest_paths(source, max_hops=hops, allows=allows)


def is_in_flight(composer: Composer, entry: Entry, visit: dict[str, object]) -> bool:
    campaign = composer.market.campaigns[entry.row.campaign_id]
    at = datetime.fromtimestamp(0, UTC) + MILLISECOND * int(str(visit["time"]))
    is_over = campaign.ends_at is not None and at >= floor(campaign.ends_at)
    return at >= floor(campaign.starts_at) and not is_over


def floor(moment: datetime) -> datetime:
    """Cuts a moment to milliseconds, as the index has them; the database has finer ones."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

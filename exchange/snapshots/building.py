"""Writes a snapshot of the market into a staged folder: index, bookings and facts."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from exchange.serving.bookings import write_bookings
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    SnapshotInfo,
    write_catalog,
)
from exchange.snapshots.composing import CLOSED, Composer, Entry, edge_name
from exchange.snapshots.contents import write_campaigns
from exchange.snapshots.graph_file import write_graph
from exchange.snapshots.models import Phase
from exchange.snapshots.progress import Progress
from exchange.snapshots.rates import learn_rates
from exchange.snapshots.texts import open_catalog
from matcher_ext import ATree

CHUNK_ENTRIES = 2_000


@dataclass(frozen=True, slots=True)
class Built:
    """What was written, as needed to check it and to tell people about it."""

    composer: Composer
    entries: list[Entry]
    sharing: dict[str, int]
    size_bytes: int


def write_snapshot(*, composer: Composer, folder: Path, progress: Progress) -> Built:
    progress.begin(Phase.INDEXING, len(composer.market.bookings))
    index = ATree(open_catalog(composer.market.catalog))
    for name, text in composer.definitions():
        index.define(name, text)
    set_routes(index, composer)
    entries = insert_entries(index, composer, progress)
    progress.begin(Phase.FREEZING)
    with ThreadPoolExecutor(max_workers=1) as writer:
        # Runs beside the freezing, which needs no GIL.
        written = writer.submit(write_answers, folder, composer, entries)
        learn_rates(index)
        frozen = index.freeze()
        progress.begin(Phase.WRITING)
        frozen.save(folder / INDEX_FILE)
        written.result()
    return Built(composer, entries, index.stats(), sum(sizes_of(folder).values()))


def write_answers(folder: Path, composer: Composer, entries: list[Entry]) -> None:
    """Writes all files but the index."""
    write_bookings(folder / BOOKINGS_FILE, [entry.row for entry in entries])
    write_catalog(folder, composer.market.catalog.to_json())
    write_campaigns(folder, composer, entries)
    write_graph(folder, composer.market)


def set_routes(index: ATree, composer: Composer) -> None:
    routes, spare = composer.routes(), composer.market.spare_edges
    for edge_id in spare:
        index.define(edge_name(edge_id), CLOSED)
    index.set_routes(routes.names, routes.links, routes.labels, routes.publishers, spare=spare)
    for advertiser_id, hops in sorted(composer.reaches()):
        index.define_reach(advertiser_id, hops)


def insert_entries(index: ATree, composer: Composer, progress: Progress) -> list[Entry]:
    """Inserts one chunk into the index, which needs no GIL, while the next one is composed. A
    former text of a broken campaign may be the first to use a list: such a condition comes with
    it."""
    entries: list[Entry] = []
    slots = composer.vocabulary.slots
    defined = len(slots)
    with ThreadPoolExecutor(max_workers=1) as inserter:
        before: Future[None] | None = None
        for chunk in chunks(composer.entries()):
            ids = [entry.row.booking_id for entry in chunk]
            texts = [entry.text for entry in chunk]
            if before is not None:
                before.result()
            for name, condition in islice(slots.items(), defined, None):
                index.define(name, condition.text)
            defined = len(slots)
            before = inserter.submit(index.insert_many, ids, texts)
            entries += chunk
            progress.advance(len(chunk))
        if before is not None:
            before.result()
    return entries


def chunks(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while chunk := list(islice(entries, CHUNK_ENTRIES)):
        yield chunk


def describe(built: Built, folder: Path, seconds: dict[str, float]) -> SnapshotInfo:
    entries = built.entries
    return SnapshotInfo(
        built_at=datetime.now(UTC),
        booking_count=len(entries),
        campaign_count=len({entry.row.campaign_id for entry in entries}),
        publisher_count=len({entry.row.publisher for entry in entries}),
        edge_count=len({edge_id for entry in entries for edge_id in entry.edge_ids}),
        skipped_count=built.composer.skipped.count,
        file_bytes=sizes_of(folder),
        sharing=built.sharing,
        seconds=seconds,
    )


def sizes_of(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_size for name in (INDEX_FILE, BOOKINGS_FILE)}

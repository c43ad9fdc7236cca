"""Writes which campaigns a snapshot holds, for people who compare two of them.

    campaigns.arrow    campaign_id (ascending), name, digest of all that its answers depend on

Nothing in this file changes an answer, so it is no part of the snapshot's name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from exchange.serving.bookings import as_bytes, as_integers
from exchange.serving.directory import DirectoryError, SnapshotDirectory, SnapshotInfo
from exchange.snapshots.composing import Composer, Entry

CAMPAIGNS_FILE = "campaigns.arrow"
MAX_SHOWN = 100
SCHEMA = pa.schema(
    [
        pa.field("campaign_id", pa.int64(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("digest", pa.large_binary(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Campaigns that one snapshot has and the other has not, or has otherwise: how many, and the
    first ones as (id, name)."""

    count: int
    first: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    before: SnapshotInfo
    after: SnapshotInfo
    added: Difference
    removed: Difference
    changed: Difference


def write_campaigns(folder: Path, composer: Composer, entries: Iterable[Entry]) -> None:
    ids = sorted({entry.row.campaign_id for entry in entries})
    rows = [composer.market.campaigns[campaign_id] for campaign_id in ids]
    digests = [digest_campaign(composer, campaign_id) for campaign_id in ids]
    columns = [
        as_integers(ids, pa.int64()),
        as_bytes([row.name.encode() for row in rows], pa.string()),
        as_bytes(digests, pa.large_binary()),
    ]
    batch = pa.record_batch(columns, schema=SCHEMA)
    with (
        pa.OSFile(str(folder / CAMPAIGNS_FILE), "wb") as sink,
        pa.ipc.new_file(sink, SCHEMA) as out,
    ):
        out.write_batch(batch)


def digest_campaign(composer: Composer, campaign_id: int) -> bytes:
    """Hashes what a campaign's answers depend on. It must have an entry, and so an offer."""
    row, offer = composer.market.campaigns[campaign_id], composer.offers[campaign_id]
    numbers = (row.advertiser_id, *offer.bid, len(offer.name))
    text = f"{numbers} {offer.name} {offer.conditions}"
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def compare_snapshots(directory: SnapshotDirectory, before: str, after: str) -> Comparison:
    """Compares campaigns; raises DirectoryError where a snapshot is gone or has no such file."""
    old, new = read_campaigns(directory, before), read_campaigns(directory, after)
    return Comparison(
        before=directory.read_info(before),
        after=directory.read_info(after),
        added=differ(new, new.keys() - old.keys()),
        removed=differ(old, old.keys() - new.keys()),
        changed=differ(new, {key for key in new.keys() & old.keys() if new[key][1] != old[key][1]}),
    )


def read_campaigns(directory: SnapshotDirectory, snapshot_id: str) -> dict[int, tuple[str, bytes]]:
    path = directory.folder(snapshot_id) / CAMPAIGNS_FILE
    try:
        with pa.memory_map(str(path)) as source:
            columns = pa.ipc.open_file(source).read_all().to_pydict()
    except (OSError, pa.ArrowException) as error:
        raise DirectoryError(f"{path} cannot be read: {error}") from error
    named = zip(columns["name"], columns["digest"], strict=True)
    return dict(zip(columns["campaign_id"], named, strict=True))


def differ(campaigns: dict[int, tuple[str, bytes]], ids: set[int]) -> Difference:
    first = [(key, campaigns[key][0]) for key in sorted(ids)[:MAX_SHOWN]]
    return Difference(len(ids), tuple(first))

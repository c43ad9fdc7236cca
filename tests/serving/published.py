"""Publishes small snapshots for the tests of serving, with the real index and the real files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from exchange.serving.bookings import BookingRow, write_bookings
from exchange.serving.directory import (
    BOOKINGS_FILE,
    INDEX_FILE,
    KeyEntry,
    SnapshotDirectory,
    hash_key,
    write_catalog,
)
from matcher_ext import ATree
from targeting import Catalog

HERALD_KEY = "tl_of-the-herald"
BOTH_KEY = "tl_of-herald-and-tribune"
EXPIRED_KEY = "tl_expired"
REPORTS_KEY = "tl_of-an-analyst"
SNAPSHOT_KEY = "tl_of-the-exchange"

LATER = datetime(2100, 1, 1, tzinfo=UTC)
SCOPES = ("eligibility:read",)

CATALOG = Catalog.of(
    **{
        "publisher.id": "string",
        "time": "timestamp",
        "geo.country": "string",
        "geo.location": "geo",
        "user.age": "integer",
        "user.segments": "string set",
    }
)


def row(booking_id: int, publisher: str = "herald", net_cpm: float = 1.0) -> BookingRow:
    return BookingRow(
        booking_id=booking_id,
        campaign_id=booking_id * 10,
        campaign=f"Campaign {booking_id}",
        advertiser="Globex",
        publisher=publisher,
        path=(publisher, "adnet", "globex"),
        fee_percent=12.5,
        net_cpm=net_cpm,
    )


def publish(
    directory: SnapshotDirectory,
    expressions: Mapping[int, str],
    *,
    catalog: Catalog = CATALOG,
    prices: Mapping[int, float] | None = None,
) -> str:
    """Makes a snapshot of one booking per expression live; the texts are used as they are."""
    snapshot_id = store(directory, expressions, catalog=catalog, prices=prices)
    directory.write_manifest(snapshot_id=snapshot_id, read_at=datetime.now(UTC))
    return snapshot_id


def store(
    directory: SnapshotDirectory,
    expressions: Mapping[int, str],
    *,
    catalog: Catalog = CATALOG,
    prices: Mapping[int, float] | None = None,
) -> str:
    """Stores a snapshot that is not live yet."""
    index = ATree(catalog)
    for booking_id, text in expressions.items():
        index.insert(booking_id, text)
    rows = [row(key, net_cpm=(prices or {}).get(key, 1.0)) for key in sorted(expressions)]
    with directory.stage() as staged:
        index.freeze().save(staged / INDEX_FILE)
        write_bookings(staged / BOOKINGS_FILE, rows)
        write_catalog(staged, catalog.to_json())
        return directory.adopt(staged)


def publish_keys(directory: SnapshotDirectory) -> None:
    directory.write_keys(
        {
            hash_key(HERALD_KEY): KeyEntry(("herald",), LATER, SCOPES),
            hash_key(BOTH_KEY): KeyEntry(("herald", "tribune"), LATER, SCOPES),
            hash_key(EXPIRED_KEY): KeyEntry(("herald",), datetime(2020, 1, 1, tzinfo=UTC), SCOPES),
            hash_key(REPORTS_KEY): KeyEntry((), LATER, ("reports:read",)),
            hash_key(SNAPSHOT_KEY): KeyEntry((), LATER, ("snapshot:read",)),
        }
    )

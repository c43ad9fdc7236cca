"""Notes what is stopped, before whatever stops it is published (see `exchange.serving.stops`).

All of it only for the one writer of the directory. What was lost is begun anew from the live log
and from the changes since; snapshots older than the live one are then no longer gone back to.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from exchange.market.models import Booking
from exchange.serving.bookings import read_booking_ids
from exchange.serving.deltas import Delta, DeltaLogFolder
from exchange.serving.directory import BOOKINGS_FILE, DirectoryError, Manifest, SnapshotDirectory
from exchange.serving.recovery import find_named, find_stops
from exchange.serving.stops import CLOSED, KeptSnapshot, Stops, stops_of, write_stops
from exchange.snapshots.changes import Changes, read_changes
from exchange.snapshots.composing import edge_name
from exchange.snapshots.market import one_moment
from exchange.snapshots.models import Change, ChangeKind
from matcher_ext.serving import Integers


def note_record(directory: SnapshotDirectory, delta: Delta) -> None:
    """Notes what a record stops, before it is written."""
    manifest = directory.read_manifest()
    if manifest is None:
        raise DirectoryError("a record without a manifest")
    stops = find_stops(directory) or begin_stops(directory, manifest)
    write_stops(directory, replace(add_record(stops, delta), manifest=manifest))


def note_manifest(
    directory: SnapshotDirectory, manifest: Manifest, record: Delta | None, *, is_new: bool
) -> None:
    """Notes what a manifest stops, before it is published. `is_new`: its snapshot was built just
    now, so whoever is in an older one and not in this one has ended, also where nobody could name
    all that changed."""
    base = manifest.delta
    stops = find_stops(directory) or Stops(
        number=base, position=manifest.position, manifest=manifest
    )
    if is_new:
        stops = add_gone(directory, add_untold(stops, manifest), manifest)
    if is_new or (stops.floor_of(manifest.snapshot_id) is None and not manifest.is_held):
        stops = with_snapshot(stops, KeptSnapshot(manifest.snapshot_id, manifest.read_at, base))
    stops = replace(stops, number=base, manifest=manifest)
    write_stops(directory, stops if record is None else add_record(stops, record))


def note_changes(directory: SnapshotDirectory) -> bool:
    """Notes what was stopped while no record may or can be written; says whether anything was. An
    edge that changed counts as closed: what it lets by is for records to say."""
    manifest = find_named(directory)
    if manifest is None:
        return False
    before = find_stops(directory)
    stops = add_changes(before or begin_stops(directory, manifest))
    if stops != before:
        write_stops(directory, replace(stops, manifest=manifest))
    return stops != before


def prune_stops(directory: SnapshotDirectory) -> None:
    """Forgets what only removed snapshots needed."""
    stops = find_stops(directory)
    if stops is not None and (pruned := stops.keeping(directory.snapshot_ids())) != stops:
        write_stops(directory, pruned)


def begin_stops(directory: SnapshotDirectory, manifest: Manifest) -> Stops:
    """Begins with as much of the log as can be read; what came later is found in the changes
    since."""
    stops = Stops(
        number=manifest.delta,
        position=manifest.position,
        manifest=manifest,
        snapshots=(KeptSnapshot(manifest.snapshot_id, manifest.read_at, manifest.delta),),
    )
    log = DeltaLogFolder.of(directory, manifest)
    if log is None:
        return stops
    try:
        for delta in log.read_after(manifest.delta):
            stops = add_record(stops, delta)
    except (DirectoryError, OSError):
        return add_changes(replace(stops, number=max(log.last_number(), stops.number)))
    return stops


def add_record(stops: Stops, delta: Delta) -> Stops:
    added = stops.with_touched(delta.number, stops_of(delta), delta.definitions)
    return replace(added, number=delta.number, position=delta.position)


def add_changes(stops: Stops) -> Stops:
    """Adds what was saved since and is in no record, under a number above that of any state."""
    with one_moment() as position:
        changes = read_changes(stops.position)
        touched = find_touched(changes)
    if not changes:
        return stops
    added = stops.with_touched(stops.number + 1, touched, close_edges(changes))
    kept = () if ChangeKind.EDGE in changes.many else added.snapshots
    return replace(added, position=position, snapshots=kept)


def add_untold(stops: Stops, manifest: Manifest) -> Stops:
    """Adds what the new snapshot has and no record told: the older ones do not know of it. Called
    in the transaction that makes it live, so a little more may be found, which the next record
    tells."""
    changes = read_changes(stops.position)
    added = stops.with_touched(manifest.delta, find_touched(changes), close_edges(changes))
    return replace(added, position=manifest.position)


def close_edges(changes: Changes) -> dict[str, str]:
    return {edge_name(edge_id): CLOSED for edge_id in changes.ids.get(ChangeKind.EDGE, ())}


def with_snapshot(stops: Stops, kept: KeptSnapshot) -> Stops:
    others = (each for each in stops.snapshots if each.snapshot_id != kept.snapshot_id)
    return replace(stops, snapshots=(*others, kept))


def add_gone(directory: SnapshotDirectory, stops: Stops, manifest: Manifest) -> Stops:
    """Adds the bookings of older snapshots that this one lacks. If too many edges changed to be
    named, nobody can say which are closed, and nothing before is gone back to."""
    if Change.objects.filter(kind=ChangeKind.EDGE, object_id=None).exists():
        stops = replace(stops, snapshots=())
    new = read_booking_ids(directory.folder(manifest.snapshot_id) / BOOKINGS_FILE)
    gone: list[Integers] = []
    kept: list[KeptSnapshot] = []
    for each in stops.snapshots:
        try:
            old = read_booking_ids(directory.folder(each.snapshot_id) / BOOKINGS_FILE)
        except (DirectoryError, OSError):
            continue
        kept.append(each)
        gone.append(old[~np.isin(old, new, assume_unique=True)])
    stops = replace(stops, snapshots=tuple(kept))
    return stops.with_touched(manifest.delta, np.concatenate([*gone, new[:0]]), {})


def find_touched(changes: Changes) -> Iterable[int]:
    """Finds bookings that changed or whose campaigns did, however they are now."""
    ids = changes.ids
    campaign_ids = ids.get(ChangeKind.CAMPAIGN, set())
    booked = Booking.objects.filter(campaign_id__in=campaign_ids).order_by()
    return {*ids.get(ChangeKind.BOOKING, ()), *booked.values_list("pk", flat=True)}

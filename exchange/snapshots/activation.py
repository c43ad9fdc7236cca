"""Makes a checked snapshot live, and goes back to an older one.

The manifest is renamed inside the transaction that changes the tables, as its last step: should the
commit fail, the next writer of deltas finds in the directory what happened and completes it.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from exchange.serving.deltas import Delta, DeltaLogFolder, remove_old_logs
from exchange.serving.directory import Manifest
from exchange.snapshots.changes import forget_changes
from exchange.snapshots.deltas import (
    DamagedLogError,
    ask_for_build,
    find_served_in,
    new_log_id,
    note_written,
    only_writer,
    push_to_store,
    replace_log,
    settle,
    snapshot_directory,
)
from exchange.snapshots.drafting import Draft, draft_delta
from exchange.snapshots.market import Market, one_moment
from exchange.snapshots.models import DeltaLog, SnapshotBuild
from exchange.snapshots.progress import BuildLostError
from exchange.snapshots.stopping import note_manifest, prune_stops

Status = SnapshotBuild.Status

KEPT_SNAPSHOTS = 5


class CannotActivateError(Exception):
    """Says why this snapshot cannot be made live, for people."""


def activate(*, build: SnapshotBuild) -> Manifest:
    """Makes the build live with everything that was saved since it was read: servers never go back
    in time."""
    check_files(build)
    with only_writer():
        base = next_number()
        log_id = new_log_id()
        drafted = draft_since(build)
        record = None
        if drafted is not None and not drafted[0].is_empty:
            record = drafted[0].numbered(drafted[1], log_id, base + 1)
            DeltaLogFolder(snapshot_directory(), log_id).write(record)
        manifest = switch(build, base=base, log_id=log_id, drafted=drafted, record=record)
        clean_up(manifest)
        push_to_store()
    ask_for_build()
    return manifest


def roll_back(*, build: SnapshotBuild) -> Manifest:
    """Goes back to the snapshot as it was built. What was saved since is held back until the next
    one is activated: the fault that somebody flees from may be in it."""
    check_files(build)
    with only_writer():
        base = next_number()
        manifest = switch(build, base=base, log_id=new_log_id(), is_held=True)
        push_to_store()
        return manifest


def next_number() -> int:
    """Finds a number above all that was ever answered with: the same snapshot may be live twice,
    with different changes beside it. A log that is damaged ends here, so its last number is
    enough."""
    try:
        log = settle()
    except DamagedLogError:
        log = DeltaLog.objects.get()
    log = log or DeltaLog.objects.first()  # the log of a manifest that was lost
    if log is None:
        return 0
    folder = DeltaLogFolder(snapshot_directory(), log.log_id)
    return max(log.number, folder.last_number()) + 1


def draft_since(build: SnapshotBuild) -> tuple[Draft, Market] | None:
    with one_moment() as position:
        return draft_delta(
            since=build.position, position=position, served=find_served_in(build.snapshot_id)
        )


@transaction.atomic
def switch(
    build: SnapshotBuild,
    *,
    base: int,
    log_id: str,
    drafted: tuple[Draft, Market] | None = None,
    record: Delta | None = None,
    is_held: bool = False,
) -> Manifest:
    read_at = lock_checked(build)
    SnapshotBuild.objects.filter(status=Status.LIVE).update(status=Status.REPLACED)
    SnapshotBuild.objects.filter(pk=build.pk).update(
        status=Status.LIVE, finished_at=build.finished_at or timezone.now()
    )
    manifest = Manifest(
        snapshot_id=build.snapshot_id,
        read_at=read_at,
        activated_at=timezone.now(),
        delta=base,
        log_id=log_id,
        position=build.position,
        is_held=is_held,
    )
    log = replace_log(manifest)
    if drafted is not None:
        draft, market = drafted
        log.number += not draft.is_empty
        note_written(log, draft, market)
    is_new = not is_held and build.status in {Status.BUILDING, Status.READY}
    note_manifest(snapshot_directory(), manifest, record, is_new=is_new)
    snapshot_directory().publish(manifest)
    return manifest


def check_files(build: SnapshotBuild) -> None:
    if not build.snapshot_id or not build.position:
        raise CannotActivateError(f"Build {build.pk} has no snapshot.")
    if not snapshot_directory().is_whole(build.snapshot_id):
        raise CannotActivateError(
            f"The snapshot of build {build.pk} was removed or is damaged. Build a new one."
        )


def lock_checked(build: SnapshotBuild) -> datetime:
    """Gives the moment that was read; keeps the row as it is until the transaction ends."""
    row = SnapshotBuild.objects.select_for_update().get(pk=build.pk)
    if row.status in {Status.FAILED, Status.QUEUED} or row.read_at is None:
        raise BuildLostError(f"Build {build.pk} failed or was given up; it never goes live.")
    return row.read_at


def clean_up(manifest: Manifest) -> None:
    """Keeps the newest snapshots, what is live, and the changes that each of them has not seen."""
    directory = snapshot_directory()
    directory.remove_old(keep=KEPT_SNAPSHOTS)
    remove_old_logs(directory, keep=manifest.log_id)
    prune_stops(directory)
    builds = SnapshotBuild.objects.exclude(position="")
    if builds.filter(status=Status.BUILDING).exclude(snapshot_id=manifest.snapshot_id).exists():
        return
    kept = builds.filter(snapshot_id__in=directory.snapshot_ids()).exclude(status=Status.FAILED)
    oldest = min((build.position for build in kept), key=oldest_running, default=None)
    if oldest is not None:
        forget_changes(oldest)


def oldest_running(position: str) -> int:
    return int(position.partition(":")[0])

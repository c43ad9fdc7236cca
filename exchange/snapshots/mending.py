"""Notices that what is live can no longer be loaded, and asks for the build that replaces it.

Servers that could not load it say so by a file, since they have no database; what is missing or has
another size or other bytes is seen here, before any server starts anew. Asked every few seconds, so
it reads a snapshot's bytes only if they were touched (`matcher_ext.plan.checked_marks`).
"""

from __future__ import annotations

from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import DirectoryError, Manifest, SnapshotDirectory
from exchange.serving.recovery import find_stops, forget_build_request, read_build_request
from exchange.snapshots.deltas import (
    ask_for_build,
    note_unwritten,
    only_writer,
    snapshot_directory,
)
from exchange.snapshots.models import DeltaLog, SnapshotBuild

Status = SnapshotBuild.Status


def mend() -> None:
    """Writes lost stops anew, and asks for a build where something is damaged. While somebody has
    gone back to a snapshot it mends the stops alone: what follows is theirs to say."""
    log = DeltaLog.objects.first()
    if log is None:
        return
    directory = snapshot_directory()
    if find_stops(directory) is None:
        with only_writer():
            note_unwritten()
    on_the_way = SnapshotBuild.objects.filter(status__in=[Status.QUEUED, Status.BUILDING])
    if not log.is_held and not on_the_way.exists() and (why := find_damage(directory, log)):
        ask_for_build(why)


def find_damage(directory: SnapshotDirectory, log: DeltaLog) -> str:
    """Says in words what is damaged; empty if everything is there."""
    try:
        manifest = directory.read_manifest()
    except DirectoryError as error:
        return f"The manifest is damaged: {error}"
    if manifest is None:
        return "The manifest is missing."
    if request := read_build_request(directory):
        if (request.snapshot_id, request.log_id) == (manifest.snapshot_id, manifest.log_id):
            return f"A server could not load what is live: {request.reason}"
        forget_build_request(directory)
    if not directory.is_known_whole(manifest.snapshot_id):
        return "The live snapshot is missing or damaged."
    if manifest.log_id == log.log_id and lacks_records(directory, manifest, log.number):
        return "Changes since the live snapshot are missing."
    return ""


def lacks_records(directory: SnapshotDirectory, manifest: Manifest, last: int) -> bool:
    folder = DeltaLogFolder(directory, manifest.log_id).folder
    there = {int(path.stem) for path in folder.glob("[0-9]*.json")}
    return not there.issuperset(range(manifest.delta + 1, last + 1))

"""Writes what changed as numbered deltas beside the live snapshot: in order, exactly once.

One writer at a time, by a lock of the database session. A record is in the directory before the
table says so: a writer that dies in between is made good by the next, which takes the record over
and never writes that number again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from exchange.serving.deltas import Delta, DeltaLogFolder
from exchange.serving.directory import INDEX_FILE, DirectoryError, Manifest, SnapshotDirectory
from exchange.serving.store import SnapshotStore
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.drafting import MAX_REINSERTED, Draft, Served, draft_delta
from exchange.snapshots.market import Market, one_moment
from exchange.snapshots.models import DeltaLog, SnapshotBuild
from exchange.snapshots.quarantine import record_quarantine
from exchange.snapshots.stopping import note_changes, note_record
from matcher_ext import Snapshot, SnapshotError
from matcher_ext.values import CompiledCatalog

Status = SnapshotBuild.Status

# The key of the lock: any number that nothing else in this database locks.
WRITER_LOCK = 7_301_002
MAX_REASONS_KEPT = 5
MAX_REASON_LENGTH = 200
# A build that fails at once must not be asked for every second.
PAUSE_AFTER_FAILURE = timedelta(seconds=60)


class DamagedLogError(Exception):
    """Says that what is live cannot be read: no record can follow it, a build begins a new log."""


def snapshot_directory() -> SnapshotDirectory:
    return SnapshotDirectory(settings.SNAPSHOT_DIR)


def push_to_store() -> None:
    """Lets machines without this directory follow, if there is a store. Only the writer calls it;
    the sweep makes good what fails."""
    if settings.SNAPSHOT_STORE:
        SnapshotStore(settings.SNAPSHOT_STORE).push(snapshot_directory())


def new_log_id() -> str:
    return secrets.token_hex(8)


@contextmanager
def only_writer() -> Iterator[None]:
    """Locks for the session, not a transaction: the lock must be held before the moment that is
    read, and over several transactions. It ends with the connection, so also with the process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [WRITER_LOCK])
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [WRITER_LOCK])


def write_changes() -> int:
    """Brings servers up to now; says how many records it wrote. Nothing to do is nearly free."""
    try:
        with only_writer():
            log = settle()
            if log is None or log.is_held:
                note_unwritten()
                return 0
            if not write_next(log):
                return 0
            push_to_store()
    except DamagedLogError as damage:
        with only_writer():
            note_unwritten()
        ask_for_build(str(damage))
        raise
    ask_for_build()
    return 1


def note_unwritten() -> None:
    """Notes what is stopped while no record tells of it. Only for the writer."""
    if note_changes(snapshot_directory()):
        push_to_store()


def settle() -> DeltaLog | None:
    """Finds the log as the directory has it: the manifest decides which, its records how far. None
    as long as no snapshot is live. Only for the writer."""
    try:
        manifest = snapshot_directory().read_manifest()
    except DirectoryError as error:
        raise DamagedLogError(f"The manifest is damaged: {error}") from error
    if manifest is None or not manifest.log_id:
        return None
    log = DeltaLog.objects.filter(log_id=manifest.log_id).first()
    if log is None:
        log = take_over(manifest)
    folder = DeltaLogFolder(snapshot_directory(), log.log_id)
    try:
        for delta in folder.read_after(log.number):
            take_over_record(log, delta)
    except DirectoryError as error:
        raise DamagedLogError(f"The log of changes is damaged: {error}") from error
    return log


def take_over_record(log: DeltaLog, delta: Delta) -> None:
    log.number, log.position = delta.number, delta.position
    log.reinserted_count += len(delta.entries)
    log.deferred_count += delta.deferred
    log.defined = sorted({*log.defined, *delta.definitions})
    log.save()


@transaction.atomic
def take_over(manifest: Manifest) -> DeltaLog:
    """Takes over what was activated by somebody who died before the tables said so."""
    builds = SnapshotBuild.objects.filter(snapshot_id=manifest.snapshot_id)
    builds = builds.exclude(status__in=[Status.QUEUED, Status.FAILED])
    activated = builds.order_by("-id").first()
    if activated is not None:
        SnapshotBuild.objects.filter(status=Status.LIVE).update(status=Status.REPLACED)
        SnapshotBuild.objects.filter(pk=activated.pk).update(
            status=Status.LIVE, finished_at=manifest.activated_at
        )
    return replace_log(manifest)


def replace_log(manifest: Manifest) -> DeltaLog:
    log = DeltaLog(
        pk=1,
        log_id=manifest.log_id,
        snapshot_id=manifest.snapshot_id,
        number=manifest.delta,
        position=manifest.position,
        is_held=manifest.is_held,
    )
    log.save()
    return log


def write_next(log: DeltaLog) -> bool:
    """Writes one record from where the log is to now, unless nothing that is served changed; says
    whether it did."""
    directory = snapshot_directory()
    served = find_served(log)
    with one_moment() as position:
        drafted = draft_delta(
            since=log.position, position=position, served=served, limit=find_room(log)
        )
    if drafted is None:
        return False
    draft, market = drafted
    if not draft.is_empty:
        record = draft.numbered(market, log.log_id, log.number + 1)
        note_record(directory, record)
        DeltaLogFolder(directory, log.log_id).write(record)
        log.number += 1
    note_written(log, draft, market)
    return not draft.is_empty


def note_written(log: DeltaLog, draft: Draft, market: Market) -> None:
    log.position = market.position
    log.reinserted_count += len(draft.entries)
    log.deferred_count += draft.deferred_count
    log.defined = sorted({*log.defined, *draft.definitions})
    reasons = [{"why": why, "bookings": count} for why, count in draft.deferred]
    log.deferred = [*log.deferred, *reasons][:MAX_REASONS_KEPT]
    with transaction.atomic():
        log.save()
        record_quarantine(draft.quarantine, is_complete=False)


def find_room(log: DeltaLog) -> int:
    """Bounds the deltas that go on while a build is on its way: they must not outgrow what they lie
    beside."""
    return max(min(MAX_REINSERTED, 3 * MAX_REINSERTED - log.reinserted_count), 0)


def needs_build(log: DeltaLog) -> str:
    """Says in words why a build is needed; empty if none is."""
    if log.deferred:
        return str(log.deferred[0]["why"])
    if log.deferred_count:
        return "Changes wait that are too large for deltas."
    if log.reinserted_count > MAX_REINSERTED:
        return f"More than {MAX_REINSERTED:,} bookings were changed since the last build."
    return ""


def ask_for_build(why: str = "") -> SnapshotBuild | None:
    """Asks if the log has become too large, or something waits for a build, and none is on its
    way."""
    log = DeltaLog.objects.first()
    if log is None or log.is_held or not (why := why or needs_build(log)):
        return None
    if SnapshotBuild.objects.filter(status__in=[Status.QUEUED, Status.BUILDING]).exists():
        return None
    just_now = timezone.now() - PAUSE_AFTER_FAILURE
    if SnapshotBuild.objects.filter(status=Status.FAILED, finished_at__gt=just_now).exists():
        return None
    return request_build(reason=why[:MAX_REASON_LENGTH])


def find_served(log: DeltaLog) -> Served:
    """Finds what servers know that have taken up everything so far."""
    try:
        served = find_served_in(log.snapshot_id)
    except (SnapshotError, OSError) as error:
        raise DamagedLogError(f"The live snapshot cannot be read: {error}") from error
    return replace(served, names=served.names.union(log.defined))


def find_served_in(snapshot_id: str) -> Served:
    catalog, names = open_served(snapshot_directory().folder(snapshot_id) / INDEX_FILE)
    return Served(catalog, names, built=names)


@lru_cache(maxsize=2)  # a snapshot never changes
def open_served(path: Path) -> tuple[CompiledCatalog, frozenset[str]]:
    index = Snapshot.open(path)
    return index.catalog, frozenset(index.definition_names())

"""Runs builds of snapshots: asked for, run one at a time, made live, given up, tried again.

A message through the broker is only a hint; `sweep` finds from the table what a lost one left.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from exchange.serving.directory import DirectoryError, content_id, write_info
from exchange.serving.eligibility import EligibilityService
from exchange.serving.store import SnapshotStore
from exchange.snapshots.activation import activate
from exchange.snapshots.build_requests import request_build, start_on_commit
from exchange.snapshots.building import Built, describe, write_snapshot
from exchange.snapshots.checking import SAMPLED_VISITS, SnapshotWrongError, check_snapshot
from exchange.snapshots.collection import no_collection
from exchange.snapshots.composing import Composer
from exchange.snapshots.deltas import (
    ask_for_build,
    only_writer,
    push_to_store,
    snapshot_directory,
)
from exchange.snapshots.keys import publish_keys, record_key_use
from exchange.snapshots.market import Market, read_market
from exchange.snapshots.mending import mend
from exchange.snapshots.models import DeltaLog, Phase, SnapshotBuild
from exchange.snapshots.progress import BuildLostError, Listener, Progress, ignore_progress
from exchange.snapshots.quarantine import Quarantine, read_former_texts, record_quarantine
from matcher_ext import SnapshotError

Status = SnapshotBuild.Status

STALE_AFTER = timedelta(seconds=30)
MAX_ATTEMPTS = 3


def run_build(*, build_id: int, listener: Listener = ignore_progress) -> bool:
    """Runs a build; False if it is not its turn: it has begun before, or another one is running."""
    give_up_stale_builds()
    if not claim(build_id=build_id):
        return False
    try:
        with Progress(build_id, listener) as progress:
            build_and_activate(build_id, progress)
    except SoftTimeLimitExceeded:
        record_failure(build_id, "The build took longer than it may, and was ended.")
        raise
    except BaseException as error:
        record_failure(build_id, str(error) or type(error).__name__)
        raise
    finally:
        start_waiting_build()
    return True


def claim(*, build_id: int) -> bool:
    """Claims a build by compare-and-set from queued to building; a constraint allows one only."""
    now = timezone.now()
    waiting = SnapshotBuild.objects.filter(pk=build_id, status=Status.QUEUED)
    try:
        with transaction.atomic():
            claimed = waiting.update(
                status=Status.BUILDING, phase=Phase.READING, started_at=now, heartbeat_at=now
            )
    except IntegrityError:
        return False
    return claimed == 1


def build_and_activate(build_id: int, progress: Progress) -> None:
    directory = snapshot_directory()
    directory.remove_staged()
    quarantine = Quarantine(read_former_texts)
    with directory.stage() as folder:
        with no_collection():
            market = read_market(
                begin=lambda rows: progress.begin(Phase.READING, rows), advance=progress.advance
            )
            record_position(build_id, market)
            composer = Composer(market, quarantine)
            built = write_snapshot(composer=composer, folder=folder, progress=progress)
        # Named before the check: bits that flip during or after it no longer fit the name.
        snapshot_id = content_id(folder)
        check_staged(built, folder, progress)
        write_info(folder, describe(built, folder, progress.seconds))
        directory.adopt(folder, snapshot_id)
    if settings.SNAPSHOT_STORE:
        SnapshotStore(settings.SNAPSHOT_STORE).push_snapshot(directory, snapshot_id)
    progress.begin(Phase.ACTIVATING)
    publish_keys()
    record_result(build_id, snapshot_id, built)
    go_live(SnapshotBuild.objects.get(pk=build_id), quarantine)
    record_seconds(build_id, progress)


def record_position(build_id: int, market: Market) -> None:
    """Records the position at once: what changes from here on must be kept until the build is
    live."""
    SnapshotBuild.objects.filter(pk=build_id).update(
        position=market.position, read_at=market.read_at
    )


def check_staged(built: Built, folder: Path, progress: Progress) -> None:
    progress.begin(Phase.CHECKING, SAMPLED_VISITS)
    try:
        check_snapshot(built=built, folder=folder, advance=progress.advance)
    except (SnapshotWrongError, SnapshotError, DirectoryError):
        snapshot_directory().keep_failed(folder)
        raise


def record_result(build_id: int, snapshot_id: str, built: Built) -> None:
    SnapshotBuild.objects.filter(pk=build_id).update(
        snapshot_id=snapshot_id,
        booking_count=len(built.entries),
        skipped=built.composer.skipped.first,
        skipped_count=built.composer.skipped.count,
        skipped_reasons=built.composer.skipped.most_frequent(),
        size_bytes=built.size_bytes,
    )


def go_live(build: SnapshotBuild, quarantine: Quarantine) -> None:
    """Activates the build unless somebody went back to an older snapshot: then it is theirs to end
    that."""
    if DeltaLog.objects.filter(is_held=True).exists():
        finish(build, Status.READY)
        return
    activate(build=build)
    record_quarantine(quarantine, is_complete=True)


def finish(build: SnapshotBuild, status: SnapshotBuild.Status) -> None:
    mine = SnapshotBuild.objects.filter(pk=build.pk, status=Status.BUILDING)
    if not mine.update(status=status, finished_at=timezone.now()):
        raise BuildLostError(f"Build {build.pk} was given up while it ran.")


def record_seconds(build_id: int, progress: Progress) -> None:
    SnapshotBuild.objects.filter(pk=build_id).update(phase_seconds=progress.seconds)


def record_failure(build_id: int, reason: str) -> bool:
    mine = SnapshotBuild.objects.filter(pk=build_id, status=Status.BUILDING)
    failed = mine.update(status=Status.FAILED, finished_at=timezone.now(), error=reason)
    return failed == 1


def has_readable_snapshot() -> bool:
    """Tells whether what is live can be loaded. It cannot before the first build, after an upgrade
    that reads another format of the index, and where only an older one can be loaded."""
    service = EligibilityService(settings.SNAPSHOT_DIR)
    return service.live is not None and service.recovery is None


def start_waiting_build() -> None:
    waiting = SnapshotBuild.objects.filter(status=Status.QUEUED).first()
    if waiting is not None:
        start_on_commit(waiting.pk)


def give_up_stale_builds() -> list[SnapshotBuild]:
    """Gives up builds whose worker was lost; by compare-and-set, so each by one caller only."""
    before = timezone.now() - STALE_AFTER
    stale = SnapshotBuild.objects.filter(status=Status.BUILDING, heartbeat_at__lt=before)
    reason = "The worker was lost in the middle of the build."
    return [build for build in stale if give_up(build, before, reason)]


def give_up(build: SnapshotBuild, before: datetime, reason: str) -> bool:
    still_stale = SnapshotBuild.objects.filter(
        pk=build.pk, status=Status.BUILDING, heartbeat_at__lt=before
    )
    gone = still_stale.update(status=Status.FAILED, finished_at=timezone.now(), error=reason)
    return gone == 1


def sweep() -> None:
    """Retries lost builds, starts one that was forgotten, is due, or replaces what is damaged,
    publishes changed keys and records their use. Called every few seconds."""
    for build in give_up_stale_builds():
        if build.attempt < MAX_ATTEMPTS:
            request_build(requested_by=build.requested_by, attempt=build.attempt + 1)
    if not SnapshotBuild.objects.filter(status=Status.BUILDING).exists():
        start_waiting_build()
    ask_for_build()
    mend()
    publish_keys()
    record_key_use()
    if settings.SNAPSHOT_STORE:
        with only_writer():
            push_to_store()


def build_nightly() -> None:
    """Folds the deltas in, and takes up measured truth rates."""
    request_build(reason="Nightly build.")

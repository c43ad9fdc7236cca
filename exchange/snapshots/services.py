"""Builds of snapshots: asked for, run one at a time, made live, given up, tried again.

A message through the broker is only a hint; `sweep` finds from the table what a lost one left.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.snapshots.building import Built, write_snapshot
from exchange.snapshots.checking import check_snapshot
from exchange.snapshots.composing import Composer
from exchange.snapshots.keys import publish_keys, record_key_use
from exchange.snapshots.market import read_market
from exchange.snapshots.models import Phase, SnapshotBuild
from exchange.snapshots.progress import BuildLostError, Listener, Progress, ignore_progress
from exchange.snapshots.requests import request_build, start_on_commit

Status = SnapshotBuild.Status

STALE_AFTER = timedelta(seconds=30)
MAX_ATTEMPTS = 3
KEPT_SNAPSHOTS = 5


def snapshot_directory() -> SnapshotDirectory:
    return SnapshotDirectory(settings.SNAPSHOT_DIR)


def run_build(*, build_id: int, listener: Listener = ignore_progress) -> bool:
    """False if it is not this build's turn: it was started before, or another one is running."""
    give_up_stale_builds()
    if not claim(build_id=build_id):
        return False
    try:
        with Progress(build_id, listener) as progress:
            build_and_activate(build_id, progress)
    except BaseException as error:
        record_failure(build_id, str(error) or type(error).__name__)
        raise
    finally:
        start_waiting_build()
    return True


def claim(*, build_id: int) -> bool:
    """Compare-and-set from queued to building; the constraint refuses a second one."""
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
    market = read_market(
        begin=lambda rows: progress.begin(Phase.READING, rows), advance=progress.advance
    )
    with directory.stage() as folder:
        built = write_snapshot(composer=Composer(market), folder=folder, progress=progress)
        progress.begin(Phase.CHECKING)
        check_snapshot(built=built, folder=folder)
        snapshot_id = directory.adopt(folder)
    progress.begin(Phase.ACTIVATING)
    publish_keys()
    record_result(build_id, snapshot_id, built)
    activate(build=SnapshotBuild.objects.get(pk=build_id))
    directory.remove_old(keep=KEPT_SNAPSHOTS)


def record_result(build_id: int, snapshot_id: str, built: Built) -> None:
    SnapshotBuild.objects.filter(pk=build_id).update(
        snapshot_id=snapshot_id,
        read_at=built.composer.market.read_at,
        booking_count=built.info.booking_count,
        skipped=built.composer.skipped.first,
        skipped_count=built.composer.skipped.count,
        size_bytes=sum(built.info.file_bytes.values()),
    )


@transaction.atomic
def activate(*, build: SnapshotBuild) -> None:
    """The manifest is renamed last, inside the transaction: what the table calls live is what
    servers were told. If the commit then fails, they serve a checked snapshot all the same."""
    mine = SnapshotBuild.objects.select_for_update().filter(pk=build.pk, status=Status.BUILDING)
    if not mine or build.read_at is None:
        raise BuildLostError(f"Build {build.pk} was given up while it ran.")
    SnapshotBuild.objects.filter(status=Status.LIVE).update(status=Status.REPLACED)
    mine.update(status=Status.LIVE, finished_at=timezone.now())
    snapshot_directory().write_manifest(snapshot_id=build.snapshot_id, read_at=build.read_at)


def record_failure(build_id: int, reason: str) -> bool:
    mine = SnapshotBuild.objects.filter(pk=build_id, status=Status.BUILDING)
    failed = mine.update(status=Status.FAILED, finished_at=timezone.now(), error=reason)
    return failed == 1


def has_readable_snapshot() -> bool:
    """False before the first build, and after an upgrade that reads another format of the index."""
    return EligibilityService(settings.SNAPSHOT_DIR).live is not None


def start_waiting_build() -> None:
    waiting = SnapshotBuild.objects.filter(status=Status.QUEUED).first()
    if waiting is not None:
        start_on_commit(waiting.pk)


def give_up_stale_builds() -> list[SnapshotBuild]:
    """Builds whose worker was lost; compare-and-set, so each is given up by one caller only."""
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
    """Every few seconds: retries lost builds, starts a forgotten one, publishes changed keys and
    records their use."""
    for build in give_up_stale_builds():
        if build.attempt < MAX_ATTEMPTS:
            request_build(requested_by=build.requested_by, attempt=build.attempt + 1)
    if not SnapshotBuild.objects.filter(status=Status.BUILDING).exists():
        start_waiting_build()
    publish_keys()
    record_key_use()

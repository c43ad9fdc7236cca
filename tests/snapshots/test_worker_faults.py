"""A real Celery worker on a real Postgres and Redis, hit where its build shows that it is: killed
with -9, out of disk, its files damaged. What was served stays; the next worker's build is clean."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection

from exchange.celery import app
from exchange.launcher.postgres import start_postgres
from exchange.launcher.processes import Running
from exchange.market.models import Campaign
from exchange.serving.directory import INDEX_FILE, STAGED_PREFIX, SnapshotDirectory
from exchange.snapshots.deltas import WRITER_LOCK, write_changes
from exchange.snapshots.models import DeltaLog, Phase, SnapshotBuild
from tests.conftest import start_worker
from tests.snapshots.steps import build, is_over, make_stale, served_names, wait_until
from tests.snapshots.story import Story, run_many
from tests.snapshots.test_faults import flip_a_bit

Status = SnapshotBuild.Status
CAMPAIGNS = 3_000  # so many that every phase takes long enough to be seen
TRIES = 8


@pytest.fixture
def market(story: Story, directory: SnapshotDirectory) -> Story:
    """Makes a market with a snapshot live, and a change that only the next one, or a delta, has."""
    run_many(story.soda, [story.herald, story.tribune], CAMPAIGNS)
    build()
    Campaign.objects.filter(pk=story.summer.pk).update(name="Changed")
    return story


def pid_of_child() -> int:
    """Finds the one process of the worker that runs tasks."""
    while not (stats := app.control.inspect(timeout=0.5).stats()):
        pass
    (worker,) = stats.values()
    return int(worker["pool"]["processes"][0])


def served_name(directory: SnapshotDirectory) -> str:
    names = served_names(directory)
    return next(name for name in names if not name.startswith("Campaign"))


@contextmanager
def writer_is_busy() -> Iterator[None]:
    """Holds the writer's lock: whoever goes live waits until this is over."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [WRITER_LOCK])
        yield
        cursor.execute("SELECT pg_advisory_unlock(%s)", [WRITER_LOCK])


def stop_process(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    state = Path(f"/proc/{pid}/stat")
    while state.read_text().rpartition(")")[2].split()[0] != "T":
        pass


def stop_in(phase: Phase, build: SnapshotBuild, child: int, worker: Running) -> bool:
    """Tells whether the process stands still in the phase. It goes on for a moment at a time, and
    stands still while we look: so it does not get away from us, however slow we are."""

    def is_there() -> bool:
        stop_process(child)
        build.refresh_from_db(fields=["phase", "status"])
        if build.phase == phase or build.is_over:
            return True
        os.kill(child, signal.SIGCONT)
        return False

    wait_until(is_there, worker)
    return not build.is_over


def strike(phase: Phase, worker: Running, blow: Callable[[int], None]) -> SnapshotBuild:
    """Stops the process when its build shows the phase; a build that was quicker is let go."""
    for _ in range(TRIES):
        child = pid_of_child()
        build = SnapshotBuild.objects.create()
        app.send_task("snapshots.build", [build.pk])
        if stop_in(phase, build, child, worker):
            blow(child)
            return build
        os.kill(child, signal.SIGCONT)
        wait_until(lambda build=build: is_over(build), worker)  # type: ignore[misc]
        Campaign.objects.filter(name="Changed").update(bid_cpm=7)
    pytest.fail(f"no build was seen in {phase}")


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)


def assert_next_worker_builds_cleanly(
    worker: Running, directory: SnapshotDirectory, lost: SnapshotBuild
) -> None:
    lost.refresh_from_db()
    if not lost.is_over:
        make_stale(lost)
    app.send_task("snapshots.sweep")
    if lost.status == Status.FAILED:
        SnapshotBuild.objects.filter(status=Status.QUEUED).exists() or app.send_task(
            "snapshots.build", [SnapshotBuild.objects.create().pk]
        )
    later = SnapshotBuild.objects.filter(pk__gt=lost.pk, status=Status.LIVE)
    wait_until(later.exists, worker)
    wait_until(lambda: not SnapshotBuild.objects.filter(status=Status.BUILDING).exists(), worker)
    assert served_name(directory) == "Changed"
    lost.refresh_from_db()
    assert lost.status == Status.FAILED
    assert SnapshotBuild.objects.filter(status=Status.LIVE).count() == 1
    assert not list(directory.root.glob(f"{STAGED_PREFIX}*"))
    Campaign.objects.filter(name="Changed").update(name="Afterwards")
    write_changes()
    assert served_name(directory) == "Afterwards"
    log = DeltaLog.objects.get()
    numbers = sorted(int(path.stem) for path in (directory.root / "deltas" / log.log_id).iterdir())
    assert numbers == list(range(numbers[0], log.number + 1)), "nothing lost, nothing doubled"


@pytest.mark.parametrize("phase", [Phase.INDEXING, Phase.WRITING, Phase.CHECKING, Phase.ACTIVATING])
def test_worker_killed(
    phase: Phase, market: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    held: AbstractContextManager[None] = nullcontext()
    if phase == Phase.ACTIVATING:
        held = writer_is_busy()
    with held:
        lost = strike(phase, worker, kill)
    assert served_name(directory) in {"Summer", "Changed"}
    assert_next_worker_builds_cleanly(worker, directory, lost)


def test_worker_whose_disk_is_full(
    market: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    child = pid_of_child()
    limits = resource.prlimit(child, resource.RLIMIT_FSIZE)
    resource.prlimit(child, resource.RLIMIT_FSIZE, (100_000, limits[1]))
    failed = SnapshotBuild.objects.create()
    app.send_task("snapshots.build", [failed.pk])
    wait_until(lambda: is_over(failed), worker)
    assert (failed.status, "too large" in failed.error) == (Status.FAILED, True)
    assert served_name(directory) == "Summer"
    assert not list(directory.root.glob(f"{STAGED_PREFIX}*"))
    resource.prlimit(child, resource.RLIMIT_FSIZE, limits)
    assert_next_worker_builds_cleanly(worker, directory, failed)


def test_snapshot_damaged_while_it_is_checked_never_goes_live(
    market: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    def damage(child: int) -> None:
        (staged,) = directory.root.glob(f"{STAGED_PREFIX}*")
        flip_a_bit(staged / INDEX_FILE)
        os.kill(child, signal.SIGCONT)

    hurt = strike(Phase.CHECKING, worker, damage)

    def has_ended() -> bool:
        """Tells whether the build ended: with an error, or with the process that read the
        damage."""
        return is_over(hurt) or pid_of_child() != child

    child = pid_of_child()
    wait_until(has_ended, worker)
    hurt.refresh_from_db()
    assert hurt.status in {Status.FAILED, Status.BUILDING}
    assert served_name(directory) == "Summer"
    assert_next_worker_builds_cleanly(worker, directory, hurt)


def test_redis_emptied_in_the_middle_of_a_build(
    market: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    client = redis.Redis.from_url(django_settings.REDIS_URL)

    def empty(child: int) -> None:
        client.flushall()
        os.kill(child, signal.SIGCONT)

    running = strike(Phase.INDEXING, worker, empty)
    wait_until(lambda: is_over(running), worker)
    assert running.status == Status.LIVE
    assert served_name(directory) == "Changed"
    Campaign.objects.filter(name="Changed").update(name="Unannounced")
    app.send_task("snapshots.write_changes")  # as beat does, every second
    wait_until(lambda: served_name(directory) == "Unannounced", worker)


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.parametrize("phase", list(Phase)[:-1])
def test_postgres_restarted_under_a_worker(
    phase: Phase, market: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    from tests.services import _servers

    assert _servers.postgres

    def restart(child: int) -> None:
        assert _servers.postgres
        connection.close()
        _servers.running[0].stop()
        os.kill(child, signal.SIGCONT)
        _servers.running[0] = start_postgres(_servers.postgres, dict(os.environ))

    lost = strike(phase, worker, restart)
    wait_until(lambda: is_over(lost) or pid_of_child() > 0, worker)
    time.sleep(5)  # whatever it still does, it does now
    lost.refresh_from_db()
    assert lost.status != Status.LIVE
    assert served_name(directory) == "Summer"
    assert_next_worker_builds_cleanly(worker, directory, lost)


@pytest.mark.soak
@pytest.mark.faults
@pytest.mark.parametrize("phase", [Phase.INDEXING, Phase.WRITING, Phase.CHECKING])
def test_all_of_the_worker_killed_and_another_one_started(
    phase: Phase, market: Story, directory: SnapshotDirectory, worker: Running, shared_root: Path
) -> None:
    worker.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELINE_SNAPSHOT_DIR", str(shared_root))
        first = start_worker()

        def kill_both(child: int) -> None:
            os.kill(first.process.pid, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)

        lost = strike(phase, first, kill_both)
        first.stop()
        second = start_worker()
        try:
            assert_next_worker_builds_cleanly(second, directory, lost)
        finally:
            second.stop()

"""Processes that are killed, connections that break, disks that fill, bits that flip: nothing lost,
nothing doubled, nothing wrong served, and the next build is clean.

The process that suffers is a fork of this one: as real as any other, and there at once.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from exchange.market.models import Campaign
from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import INDEX_FILE, STAGED_PREFIX, SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.snapshots import activation, building, checking, deltas, services
from exchange.snapshots.activation import CannotActivateError, activate
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.deltas import WRITER_LOCK, write_changes
from exchange.snapshots.models import DeltaLog, SnapshotBuild
from exchange.snapshots.services import run_build, sweep
from tests.snapshots.steps import AMERICAN, build, make_stale, served_names
from tests.snapshots.story import Story

Status = SnapshotBuild.Status
FAILED = 7


def in_another_process(work: Callable[[], object]) -> int:
    """Gives the exit code, negative if a signal ended it."""
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            connection.connection = None  # the parent's; this process opens its own
            work()
            code = 0
        finally:
            os._exit(code)  # whatever happened: nothing of the test run may go on in here
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def die(*_args: Any, **_kwargs: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(work: Callable[..., Any]) -> Callable[..., None]:
    def work_and_die(*args: Any, **kwargs: Any) -> None:
        work(*args, **kwargs)
        die()

    return work_and_die


def run_waiting_build() -> None:
    run_build(build_id=request_build().pk)


def assert_next_build_is_clean(directory: SnapshotDirectory, story: Story) -> None:
    """Checks the next build, also with a change that comes after everything."""
    for running in SnapshotBuild.objects.filter(status=Status.BUILDING):
        make_stale(running)
    sweep()
    for waiting in SnapshotBuild.objects.filter(status=Status.QUEUED):
        assert run_build(build_id=waiting.pk)
    done = build()
    assert done.status == Status.LIVE
    assert not list(directory.root.glob(f"{STAGED_PREFIX}*"))
    assert SnapshotBuild.objects.filter(status=Status.LIVE).count() == 1
    Campaign.objects.update(name="Afterwards")
    assert write_changes() == 1
    assert served_names(directory) == ["Afterwards"]
    log = DeltaLog.objects.get()
    numbers = sorted(int(path.stem) for path in (directory.root / "deltas" / log.log_id).iterdir())
    assert numbers == list(range(numbers[0], log.number + 1))


POINTS = {
    "in the middle of reading": (services, "record_position", die),
    "in the middle of writing": (building, "write_bookings", die),
    "in the middle of checking": (checking, "compare", die),
    "before the folder has its name": (SnapshotDirectory, "adopt", die),
    "after the folder has its name": (services, "record_result", die),
    "before going live": (activation, "switch", die),
    "while going live, tables first": (SnapshotDirectory, "publish", die),
    "while going live, servers know": (
        SnapshotDirectory,
        "publish",
        die_after(SnapshotDirectory.publish),
    ),
    "after going live": (services, "record_quarantine", die),
}


@pytest.mark.parametrize("point", POINTS)
def test_build_killed(
    point: str, story: Story, directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    build()
    Campaign.objects.update(name="Changed")
    place, name, instead = POINTS[point]

    def suffer() -> None:
        monkeypatch.setattr(place, name, instead)
        run_waiting_build()

    assert in_another_process(suffer) == -signal.SIGKILL
    went_live = point in {"while going live, servers know", "after going live"}
    assert served_names(directory) == ["Changed" if went_live else "Summer"]
    write_changes()
    assert served_names(directory) == ["Changed"], "the delta does not wait for the build"
    assert_next_build_is_clean(directory, story)


@pytest.mark.parametrize(
    ("place", "name", "instead"),
    [
        (deltas, "draft_delta", die),
        (DeltaLogFolder, "write", die),
        (deltas, "note_written", die),
    ],
    ids=["while reading", "while writing", "after the record is there"],
)
def test_writer_of_deltas_killed(
    place: object,
    name: str,
    instead: Callable[..., None],
    story: Story,
    directory: SnapshotDirectory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build()
    before = DeltaLog.objects.get().number
    Campaign.objects.update(name="Changed")

    def suffer() -> None:
        monkeypatch.setattr(place, name, instead)
        write_changes()

    assert in_another_process(suffer) == -signal.SIGKILL
    write_changes()
    assert served_names(directory) == ["Changed"]
    assert DeltaLog.objects.get().number == before + 1, "neither lost nor doubled"
    assert_next_build_is_clean(directory, story)


def limit_files() -> None:
    """Keeps files from growing, as on a full disk; the failure is an error and no signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def test_full_disk_fails_the_build_and_keeps_what_is_served(
    story: Story, directory: SnapshotDirectory
) -> None:
    build()
    Campaign.objects.update(name="Changed")

    def suffer() -> None:
        limit_files()
        run_waiting_build()

    assert in_another_process(suffer) == FAILED
    failed = SnapshotBuild.objects.get(status=Status.FAILED)
    assert "too large" in failed.error.lower()
    assert served_names(directory) == ["Summer"]
    assert not list(directory.root.glob(f"{STAGED_PREFIX}*"))
    assert_next_build_is_clean(directory, story)


def test_full_disk_holds_a_delta_up_until_there_is_room(
    story: Story, directory: SnapshotDirectory
) -> None:
    build()
    before = DeltaLog.objects.get().number
    Campaign.objects.update(name="Changed")

    def suffer() -> None:
        limit_files()
        write_changes()

    assert in_another_process(suffer) == FAILED
    assert served_names(directory) == ["Summer"]
    write_changes()
    assert served_names(directory) == ["Changed"]
    assert DeltaLog.objects.get().number == before + 1
    assert_next_build_is_clean(directory, story)


def test_lost_database_connections_fail_what_was_under_way_and_nothing_else(
    story: Story, directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends connections, as a restart of Postgres does for those who are connected."""
    build()
    Campaign.objects.update(name="Changed")

    def lose_connections(*_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    def suffer() -> None:
        monkeypatch.setattr(deltas, "note_written", lose_connections)
        write_changes()

    assert in_another_process(suffer) == FAILED
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [WRITER_LOCK])
        assert cursor.fetchone() == (True,), "the lock went with the connection"
        cursor.execute("SELECT pg_advisory_unlock(%s)", [WRITER_LOCK])
    write_changes()
    assert served_names(directory) == ["Changed"]
    assert_next_build_is_clean(directory, story)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    # As damage does it: in place, and without a new modification time.
    stat = path.stat()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_damaged_snapshot_is_never_made_live_again(
    story: Story, directory: SnapshotDirectory
) -> None:
    first = build()
    Campaign.objects.update(name="Changed")
    build()
    flip_a_bit(directory.folder(first.snapshot_id) / INDEX_FILE)
    with pytest.raises(CannotActivateError, match="damaged"):
        activate(build=first)
    assert served_names(directory) == ["Changed"]


def test_servers_that_run_go_on_while_the_live_snapshot_is_damaged(
    story: Story, directory: SnapshotDirectory
) -> None:
    live = build()
    server = EligibilityService(directory.root)
    flip_a_bit(directory.folder(live.snapshot_id) / "bookings.arrow")
    assert server.answer("daily-herald", AMERICAN).count == 1
    Campaign.objects.update(name="Changed")
    assert_next_build_is_clean(directory, story)
    server.refresh()
    assert server.answer("daily-herald", AMERICAN).document()["eligible"][0]["campaign"] == (
        "Afterwards"
    )


@pytest.mark.soak
@pytest.mark.faults
def test_postgres_restarted_in_the_middle_of_builds_and_deltas(
    story: Story, directory: SnapshotDirectory
) -> None:
    from exchange.launcher.postgres import start_postgres
    from tests.services import _servers

    assert _servers.postgres
    build()
    for turn in range(5):
        Campaign.objects.update(name=f"Turn {turn}")
        child = os.fork()
        if child == 0:
            connection.connection = None
            try:
                run_waiting_build()
                write_changes()
            finally:
                os._exit(0)
        time.sleep(0.1 * turn)
        connection.close()
        _servers.running[0].stop()
        _servers.running[0] = start_postgres(_servers.postgres, dict(os.environ))
        os.waitpid(child, 0)
        assert served_names(directory)[0] in {
            f"Turn {turn}",
            f"Turn {turn - 1}",
            "Summer",
            "Afterwards",
        }
        assert_next_build_is_clean(directory, story)

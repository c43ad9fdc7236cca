"""Builds by a real Celery worker: after edits, in bursts, and after a kill."""

from __future__ import annotations

import os
import signal

import pytest
import redis
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings as django_settings
from django.db import connection, transaction

from exchange.accounts.models import Organisation, Role
from exchange.celery import app
from exchange.keys.services import create_api_key, revoke_api_key
from exchange.launcher.processes import Running
from exchange.market.models import Campaign
from exchange.market.services import save_campaign
from exchange.serving.directory import STAGED_PREFIX, SnapshotDirectory, hash_key
from exchange.snapshots import deltas, tasks
from exchange.snapshots.models import DeltaLog, SnapshotBuild
from tests.people import hire
from tests.serving.asking import Client
from tests.serving.conftest import running_server
from tests.snapshots.steps import (
    AMERICAN,
    Server,
    build,
    eligible,
    is_over,
    make_stale,
    served_names,
    wait_until,
)
from tests.snapshots.story import Story

Status = SnapshotBuild.Status


def block_reads_of_bookings() -> None:
    """Lets a build wait in the middle of its read, until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE market_booking IN ACCESS EXCLUSIVE MODE")


def test_saved_change_is_served_without_further_ado(
    story: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    alice = hire("alice", Role.CAMPAIGN_MANAGER, Organisation.objects.get())
    build()
    story.summer.expression = "geo.country = 'DEU'"
    save_campaign(campaign=story.summer, by=alice)
    german = {**AMERICAN, "geo.country": "DEU"}
    at_herald = [story.at_herald.pk]
    wait_until(lambda: eligible(directory, german, "daily-herald") == at_herald, worker)
    assert eligible(directory, AMERICAN, "daily-herald") == []
    assert SnapshotBuild.objects.count() == 1


def test_burst_of_edits_during_a_build_is_beside_it_when_it_goes_live(
    story: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    alice = hire("alice", Role.CAMPAIGN_MANAGER, Organisation.objects.get())
    first = SnapshotBuild.objects.create()
    with transaction.atomic():
        block_reads_of_bookings()
        app.send_task("snapshots.build", [first.pk])
        wait_until(lambda: SnapshotBuild.objects.filter(status=Status.BUILDING).exists(), worker)
        for number in range(20):
            story.summer.name = f"Summer {number}"
            save_campaign(campaign=story.summer, by=alice)
    wait_until(lambda: served_names(directory) == ["Summer 19"], worker)
    assert SnapshotBuild.objects.get().status == Status.LIVE


def test_build_killed_in_the_middle_is_followed_by_a_clean_one(
    story: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    lost = SnapshotBuild.objects.create()
    with transaction.atomic():
        block_reads_of_bookings()
        app.send_task("snapshots.build", [lost.pk])
        os.kill(pid_of_build(worker), signal.SIGKILL)
    lost.refresh_from_db()
    assert lost.status == Status.BUILDING
    assert directory.read_manifest() is None
    (directory.root / f"{STAGED_PREFIX}left").mkdir(parents=True)
    make_stale(lost)
    app.send_task("snapshots.sweep")
    wait_until(lambda: SnapshotBuild.objects.filter(status=Status.LIVE).exists(), worker)
    lost.refresh_from_db()
    assert lost.status == Status.FAILED
    assert SnapshotBuild.objects.get(status=Status.LIVE).attempt == 2
    assert not list(directory.root.glob(f"{STAGED_PREFIX}*"))
    assert eligible(directory, AMERICAN, "daily-herald") == [story.at_herald.pk]


def pid_of_build(worker: Running) -> int:
    """Finds the worker's child that runs the build, once it does."""
    found: list[int] = []

    def look() -> bool:
        active = app.control.inspect(timeout=0.5).active() or {}
        tasks = [task for tasks in active.values() for task in tasks]
        found.extend(t["worker_pid"] for t in tasks if t["name"] == "snapshots.build")
        return bool(found)

    wait_until(look, worker)
    wait_until(lambda: waits_for_lock(), worker)
    return found[0]


def waits_for_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        (count,) = cursor.fetchone()
    return bool(count)


def test_progress_is_seen_while_the_build_reads(story: Story, worker: Running) -> None:
    build = SnapshotBuild.objects.create()
    with transaction.atomic():
        block_reads_of_bookings()
        app.send_task("snapshots.build", [build.pk])
        wait_until(lambda: SnapshotBuild.objects.filter(status=Status.BUILDING).exists(), worker)
        build.refresh_from_db()
        first_beat = build.heartbeat_at
        assert first_beat is not None

        def has_beaten() -> bool:
            build.refresh_from_db()
            return build.heartbeat_at is not None and build.heartbeat_at > first_beat

        wait_until(has_beaten, worker)
        assert build.phase == "reading"
    wait_until(lambda: is_over(build), worker)
    assert build.status == Status.LIVE


def test_keys_follow_creation_and_revocation(
    story: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    key, text = create_api_key(
        name="Ad server", organisation=Organisation.objects.get(), publishers=[story.herald]
    )
    wait_until(lambda: hash_key(text) in directory.read_keys(), worker)
    revoke_api_key(key=key)
    wait_until(lambda: hash_key(text) not in directory.read_keys(), worker)


def test_message_lost_by_the_broker_is_made_good_by_the_sweep(
    story: Story, worker: Running
) -> None:
    SnapshotBuild.objects.create()
    app.send_task("snapshots.sweep")
    wait_until(lambda: SnapshotBuild.objects.filter(status=Status.LIVE).exists(), worker)


def test_saved_change_is_answered_by_every_server_process(
    story: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    operator = Organisation.objects.get()
    alice = hire("alice", Role.CAMPAIGN_MANAGER, operator)
    _, key = create_api_key(name="Ad server", organisation=operator, publishers=[story.herald])
    build()
    with running_server(directory, processes=2) as server:
        # A connection stays with the process that took it.
        clients = [Client(server.port) for _ in range(8)]
        for name in ("Autumn", "Winter"):
            story.summer.name = name
            save_campaign(campaign=story.summer, by=alice)
            for client in clients:
                wait_until(lambda: answers_with(name, client, key), worker)  # noqa: B023


def answers_with(name: str, client: Client, key: str) -> bool:
    return name in client.ask(AMERICAN, key=key).body.decode()


def test_change_whose_message_was_lost_with_all_of_redis_is_found_by_the_sweep(
    story: Story, directory: SnapshotDirectory, worker: Running
) -> None:
    build()
    with transaction.atomic():
        block_reads_of_bookings()
        Campaign.objects.update(name="Unannounced")
        redis.Redis.from_url(django_settings.REDIS_URL).flushall()
    app.send_task("snapshots.write_changes")  # as beat does, every second
    wait_until(lambda: served_names(directory) == ["Unannounced"], worker)


def test_changes_that_take_too_long_are_left_to_a_build(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_too_long(_log: DeltaLog) -> bool:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(deltas, "write_next", take_too_long)
    with pytest.raises(SoftTimeLimitExceeded):
        tasks.write_changes()
    assert "too long" in SnapshotBuild.objects.get(status=Status.QUEUED).reason

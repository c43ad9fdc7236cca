"""What operators are warned of: builds that fail, changes that nobody serves."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from exchange.market.models import Campaign
from exchange.site.health import Watch
from exchange.site.middleware import RESPONSES
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.models import DeltaLog, SnapshotBuild
from exchange.snapshots.watching import BuildWatch
from tests.snapshots.steps import build
from tests.snapshots.story import Story


@pytest.mark.django_db
def test_failed_builds_are_counted_until_one_succeeds() -> None:
    watch = BuildWatch()
    assert watch.look().failed == 0
    for _ in range(2):
        SnapshotBuild.objects.create(status="failed", finished_at=timezone.now())
    assert watch.look().failed == 2
    SnapshotBuild.objects.create(status="replaced", snapshot_id="a" * 32)
    assert watch.look().failed == 0
    SnapshotBuild.objects.create(status="failed", finished_at=timezone.now())
    assert watch.look().failed == 1


@pytest.mark.django_db(transaction=True)
def test_a_change_waits_until_its_delta_is_written(story: Story) -> None:
    build()
    watch = BuildWatch()
    assert watch.look().waiting_seconds == 0
    Campaign.objects.update(name="Another name")
    assert watch.look().waiting_seconds == 0.0  # seen for the first time
    first, second = watch.look().waiting_seconds, watch.look().waiting_seconds
    assert 0 < first < second
    write_changes()
    assert watch.look().waiting_seconds == 0


@pytest.mark.django_db(transaction=True)
def test_what_is_held_back_does_not_wait(story: Story) -> None:
    build()
    DeltaLog.objects.update(is_held=True)
    Campaign.objects.update(name="Another name")
    watch = BuildWatch()
    watch.look()
    assert watch.look().waiting_seconds == 0


@pytest.mark.django_db
def test_pages_read_what_was_seen_last() -> None:
    watch = Watch()
    assert watch.builds() is None
    watch.look()
    builds = watch.builds()
    assert builds is not None
    assert builds.failed == 0


@pytest.mark.django_db
def test_answers_are_counted_by_their_status(client: Client) -> None:
    def count(code: str) -> float:
        return sum(
            sample.value
            for metric in RESPONSES.collect()
            for sample in metric.samples
            if sample.name.endswith("_total") and sample.labels == {"code": code}
        )

    before = count("200"), count("404")
    client.get("/login/")
    client.get("/welcome/nobody-s/")
    assert (count("200"), count("404")) == (before[0] + 1, before[1] + 1)

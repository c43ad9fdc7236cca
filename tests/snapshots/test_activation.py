"""Going live with everything saved since, going back, and what is kept for both."""

from __future__ import annotations

import pytest

from exchange.market.models import Booking, Campaign
from exchange.snapshots import services
from exchange.snapshots.activation import KEPT_SNAPSHOTS, activate, roll_back
from exchange.snapshots.deltas import write_changes
from exchange.snapshots.market import read_market
from exchange.snapshots.models import Change, DeltaLog, SnapshotBuild
from tests.snapshots.steps import Server, build
from tests.snapshots.story import Story

Status = SnapshotBuild.Status


def test_changes_during_a_build_are_beside_the_new_snapshot_when_it_goes_live(
    story: Story, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = read_market

    def read_and_be_overtaken(**kwargs: object) -> object:
        market = read(**kwargs)  # type: ignore[arg-type]
        Campaign.objects.update(name="Overtaking")
        write_changes()
        assert server.item()["campaign"] == "Overtaking"
        return market

    before = server.number
    monkeypatch.setattr(services, "read_market", read_and_be_overtaken)
    done = build()
    assert server.item()["campaign"] == "Overtaking"
    assert server.service.live
    assert server.service.live.manifest.snapshot_id == done.snapshot_id
    assert server.number > before + 1
    assert write_changes() == 0


def test_build_folds_the_deltas_in(story: Story, server: Server) -> None:
    Campaign.objects.update(name="Winter")
    write_changes()
    number = server.number
    done = build()
    log = DeltaLog.objects.get()
    assert (log.reinserted_count, log.snapshot_id) == (0, done.snapshot_id)
    assert log.number > number, "numbers are never used again"
    assert server.item()["campaign"] == "Winter"
    assert server.service.live
    assert not server.service.live.changed


def test_rolled_back_snapshot_is_served_as_it_was(story: Story, server: Server) -> None:
    first = SnapshotBuild.objects.get(status=Status.LIVE)
    Campaign.objects.update(name="Second")
    second = build()
    Campaign.objects.update(name="Third")
    write_changes()
    last = server.number
    roll_back(build=first)
    assert server.item()["campaign"] == "Summer"
    assert server.number > last
    assert write_changes() == 0, "what changed since is held back"
    assert DeltaLog.objects.get().is_held
    ready = build()
    assert ready.status == Status.READY, "a build does not end what somebody decided"
    assert server.item()["campaign"] == "Summer"
    activate(build=second)
    assert server.item()["campaign"] == "Third"
    Campaign.objects.update(name="Fourth")
    write_changes()
    assert server.item()["campaign"] == "Fourth"


def test_older_snapshot_that_changes_do_not_fit_beside_asks_for_a_build_at_once(
    story: Story, server: Server
) -> None:
    first = SnapshotBuild.objects.get(status=Status.LIVE)
    Booking.objects.filter(pk=story.at_herald.pk).update(policy="any", hop_limit=3)
    build()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
    activate(build=first)
    assert "any path" in SnapshotBuild.objects.get(status=Status.QUEUED).reason


def test_activation_whose_commit_failed_is_completed_by_the_next_writer(
    story: Story, server: Server
) -> None:
    first = SnapshotBuild.objects.get(status=Status.LIVE)
    Campaign.objects.update(name="Second")
    second = build()
    log = DeltaLog.objects.get()
    roll_back(build=first)
    # As if the transaction of the rollback had not been committed.
    SnapshotBuild.objects.filter(pk=first.pk).update(status=Status.REPLACED)
    SnapshotBuild.objects.filter(pk=second.pk).update(status=Status.LIVE)
    log.save()
    write_changes()
    assert SnapshotBuild.objects.get(status=Status.LIVE) == first
    assert DeltaLog.objects.get().is_held


def test_changes_are_forgotten_once_every_kept_snapshot_has_seen_them(
    story: Story, server: Server
) -> None:
    for number in range(KEPT_SNAPSHOTS + 2):
        Campaign.objects.update(name=f"Summer {number}")
        build()
    assert 0 < Change.objects.count() <= KEPT_SNAPSHOTS

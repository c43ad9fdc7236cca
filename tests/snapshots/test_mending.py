"""What is live is lost or damaged: nothing that was stopped is served, and the build that replaces
it starts by itself."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.utils import timezone

from exchange.celery import app
from exchange.launcher.processes import Running
from exchange.market.models import Booking, Campaign, Edge
from exchange.serving.deltas import DeltaLogFolder
from exchange.serving.directory import KEYS_FILE, MANIFEST_FILE, SnapshotDirectory
from exchange.serving.recovery import REQUEST_FILE
from exchange.serving.stops import STOPS_FILE, Stops, read_stops
from exchange.snapshots import activation
from exchange.snapshots.activation import activate, roll_back
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.deltas import DamagedLogError, open_served, write_changes
from exchange.snapshots.keys import publish_keys
from exchange.snapshots.models import Change, DeltaLog, SnapshotBuild
from exchange.snapshots.services import has_readable_snapshot, run_build, sweep
from tests.serving.history import (
    SNAPSHOT_DAMAGES,
    Damage,
    damage_manifest,
    damage_stops,
    flip_a_bit,
    remove_manifest,
    remove_stops,
)
from tests.snapshots.steps import AMERICAN, Server, build, is_over, wait_until
from tests.snapshots.story import Story, run_campaign

Status = SnapshotBuild.Status


def stops_in(directory: SnapshotDirectory) -> Stops:
    stops = read_stops(directory)
    assert stops is not None
    return stops


def log_in(directory: SnapshotDirectory) -> DeltaLogFolder:
    return DeltaLogFolder(directory, DeltaLog.objects.get().log_id)


def flip_last_record(directory: SnapshotDirectory) -> None:
    log = log_in(directory)
    flip_a_bit(log.path(log.last_number()))


def remove_last_record(directory: SnapshotDirectory) -> None:
    log = log_in(directory)
    log.path(log.last_number()).unlink()


DAMAGES: dict[str, Damage] = {
    **SNAPSHOT_DAMAGES,
    "manifest damaged": damage_manifest,
    "manifest removed": remove_manifest,
    "bit of a record": flip_last_record,
    "record removed": remove_last_record,
}


def run_waiting() -> SnapshotBuild:
    """Unless a worker of other tests has taken it: then until that one is done."""
    waiting = SnapshotBuild.objects.get(status=Status.QUEUED)
    run_build(build_id=waiting.pk)
    until = time.monotonic() + 60
    while not is_over(waiting):
        assert time.monotonic() < until, waiting.status
        time.sleep(0.05)
    return waiting


@pytest.fixture
def winter(story: Story) -> Booking:
    """Makes a second campaign at the Herald: the one that goes on."""
    campaign = run_campaign(story.soda, "Winter", "user.age >= 18")
    return Booking.objects.create(campaign=campaign, publisher=story.herald)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_paused_campaign_stays_so_and_the_build_starts_by_itself(
    story: Story, winter: Booking, directory: SnapshotDirectory, damage: Damage
) -> None:
    build()
    Campaign.objects.filter(pk=winter.campaign_id).update(bid_cpm=4)
    build()
    Campaign.objects.filter(pk=story.summer.pk).update(status="paused")
    assert write_changes() == 1
    damage(directory)
    server = Server(directory)
    answered = server.ask(AMERICAN)
    assert story.at_herald.pk not in answered
    assert server.service.recovery
    assert not has_readable_snapshot()
    server.service.refresh()  # a second look, and it asks
    sweep()
    done = run_waiting()
    assert done.status == Status.LIVE, done.error
    assert done.reason
    assert server.ask(AMERICAN) == [winter.pk]
    assert server.service.recovery is None
    sweep()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
    assert not (directory.root / REQUEST_FILE).exists()


@pytest.mark.parametrize("damage", SNAPSHOT_DAMAGES.values(), ids=SNAPSHOT_DAMAGES)
def test_the_sweep_notices_by_itself(
    story: Story, directory: SnapshotDirectory, damage: Damage
) -> None:
    build()
    sweep()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()
    damage(directory)
    sweep()
    run_waiting()
    sweep()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


@pytest.mark.parametrize("spoil", [damage_stops, remove_stops])
def test_lost_stops_are_written_anew(
    story: Story, winter: Booking, directory: SnapshotDirectory, spoil: Damage
) -> None:
    build()
    Campaign.objects.filter(pk=story.summer.pk).update(status="paused")
    write_changes()
    spoil(directory)
    sweep()
    stops = stops_in(directory)
    log = DeltaLog.objects.get()
    assert stops.number == log.number
    assert stops.bookings_after(log.number - 1) == [story.at_herald.pk, story.at_tribune.pk]
    flip_last_record(directory)
    assert Server(directory).ask(AMERICAN) == [winter.pk]


def test_stops_lost_with_the_log_are_found_in_the_changes(
    story: Story, winter: Booking, directory: SnapshotDirectory
) -> None:
    build()
    Campaign.objects.filter(pk=story.summer.pk).update(status="paused")
    write_changes()
    flip_last_record(directory)
    remove_stops(directory)
    assert Server(directory).service.live is None
    sweep()
    assert Server(directory).ask(AMERICAN) == [winter.pk]


def test_what_stops_is_noted_before_it_is_published(
    story: Story, directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that whoever sees the record, or the manifest, finds it in the stops."""
    seen: list[bool] = []
    write, publish = DeltaLogFolder.write, SnapshotDirectory.publish

    def look_and_write(log: DeltaLogFolder, delta: Any) -> None:
        if log.log_id == stops_in(directory).manifest.log_id:
            seen.append(stops_in(directory).number == delta.number)
        write(log, delta)

    def look_and_publish(there: SnapshotDirectory, manifest: Any) -> None:
        seen.append(stops_in(there).manifest == manifest)
        publish(there, manifest)

    monkeypatch.setattr(DeltaLogFolder, "write", look_and_write)
    monkeypatch.setattr(SnapshotDirectory, "publish", look_and_publish)
    first = build()
    Campaign.objects.update(status="paused")
    write_changes()
    Campaign.objects.update(status="live")
    build()
    roll_back(build=first)
    activate(build=first)
    assert seen == [True] * 5


def test_an_edge_that_was_closed_stays_closed_and_one_opened_again_is_open(
    story: Story, directory: SnapshotDirectory
) -> None:
    build()
    tribune_edge = Edge.objects.get(seller=story.tribune)
    for is_active in (False, True):
        Edge.objects.filter(pk=tribune_edge.pk).update(is_active=is_active)
        write_changes()
    Edge.objects.filter(pk=story.herald_to_northgate.pk).update(expression="geo.country = 'DEU'")
    write_changes()
    stops = stops_in(directory)
    definitions = stops.definitions_after(stops.snapshots[0].floor)
    assert definitions[f"edge.{tribune_edge.pk}"] == "true"
    assert definitions[f"edge.{story.herald_to_northgate.pk}"] == "geo.country = 'DEU'"
    Edge.objects.filter(pk=story.northgate_to_soda.pk).update(is_active=False)
    write_changes()
    log = log_in(directory)
    flip_a_bit(log.path(log.last_number()))
    assert Server(directory).ask(AMERICAN, "evening-tribune") == []


def test_bookings_that_nobody_could_name_end_with_the_build(
    story: Story, winter: Booking, directory: SnapshotDirectory
) -> None:
    """Ends bookings by a statement over very many rows: no record tells which ended."""
    build()
    before = Change.objects.latest("id").pk if Change.objects.exists() else 0
    Campaign.objects.filter(pk=story.summer.pk).update(status="paused")
    Change.objects.filter(pk__gt=before).update(object_id=None)
    build()
    SNAPSHOT_DAMAGES["folder removed"](directory)
    assert Server(directory).ask(AMERICAN) == [winter.pk]


def test_changes_are_stopped_while_somebody_went_back(
    story: Story, winter: Booking, directory: SnapshotDirectory
) -> None:
    """Serves the snapshot that they chose as it was; another one that has to stand in is not."""
    build()
    Campaign.objects.filter(pk=winter.campaign_id).update(bid_cpm=4)
    second = build()
    Campaign.objects.filter(pk=winter.campaign_id).update(bid_cpm=3)
    build()
    roll_back(build=second)
    Campaign.objects.filter(pk=story.summer.pk).update(status="paused")
    assert write_changes() == 0
    assert Server(directory).ask(AMERICAN) == [story.at_herald.pk, winter.pk]
    SNAPSHOT_DAMAGES["folder removed"](directory)
    server = Server(directory)
    assert server.ask(AMERICAN) == [], "one is paused, the other changed since the first build"
    assert server.service.live is not None
    sweep()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists(), "theirs to end"
    newest = build()
    assert newest.status == Status.READY
    activate(build=newest)
    assert server.ask(AMERICAN) == [winter.pk]
    assert server.service.recovery is None


def test_what_is_paused_while_the_live_folder_is_gone_is_paused(
    story: Story, winter: Booking, directory: SnapshotDirectory
) -> None:
    """Shows it where no record can be written, by a worker that starts anew."""
    build()
    Campaign.objects.filter(pk=story.at_tribune.campaign_id).update(bid_cpm=5)
    Booking.objects.filter(pk=story.at_tribune.pk).update(is_active=False)
    build()
    SNAPSHOT_DAMAGES["folder removed"](directory)
    server = Server(directory)
    assert winter.pk in server.ask(AMERICAN)
    open_served.cache_clear()
    Campaign.objects.filter(pk=winter.campaign_id).update(status="paused")
    with pytest.raises(DamagedLogError, match="cannot be read"):
        write_changes()
    assert winter.pk not in server.ask(AMERICAN)
    assert SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


def test_stops_are_pruned_with_the_snapshots(
    story: Story, directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activation, "KEPT_SNAPSHOTS", 2)
    sizes = []
    for turn in range(6):
        Campaign.objects.update(name=f"Turn {turn}")
        build()
        Campaign.objects.update(name=f"Turn {turn}, later")
        write_changes()
        stops = stops_in(directory)
        assert {kept.snapshot_id for kept in stops.snapshots} == set(directory.snapshot_ids())
        sizes.append((directory.root / STOPS_FILE).stat().st_size)
    assert len(stops.touched) <= 4
    assert max(sizes) < 3_000


def test_a_manifest_that_was_never_published_is_not_gone_back_to(
    story: Story, directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lets an activation die; what is stopped under the same number must count against it."""
    build()
    Campaign.objects.update(name="Changed")

    def fail(*_: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(SnapshotDirectory, "publish", fail)
        with pytest.raises(OSError, match="killed"):
            build()
    Campaign.objects.update(status="paused")
    write_changes()
    SNAPSHOT_DAMAGES["folder removed"](directory)
    server = Server(directory)
    assert server.service.live is None or server.ask(AMERICAN) == []


def test_numbers_go_on_after_the_manifest_was_lost(
    story: Story, directory: SnapshotDirectory
) -> None:
    build()
    Campaign.objects.update(name="Changed")
    write_changes()
    before = DeltaLog.objects.get().number
    (directory.root / MANIFEST_FILE).unlink()
    assert write_changes() == 0
    sweep()
    run_waiting()
    assert DeltaLog.objects.get().number > before


def test_lost_keys_are_published_again(story: Story, directory: SnapshotDirectory) -> None:
    build()
    publish_keys()
    whole = (directory.root / KEYS_FILE).read_bytes()
    for spoiled in (b"", b"{", whole[:-2]):
        (directory.root / KEYS_FILE).write_bytes(spoiled)
        sweep()
        assert (directory.root / KEYS_FILE).read_bytes() == whole
    (directory.root / KEYS_FILE).unlink()
    sweep()
    assert (directory.root / KEYS_FILE).read_bytes() == whole


def test_a_build_that_fails_is_asked_for_again_only_after_a_while(
    story: Story, directory: SnapshotDirectory
) -> None:
    build()
    SNAPSHOT_DAMAGES["folder removed"](directory)
    sweep()
    SnapshotBuild.objects.filter(status=Status.QUEUED).update(
        status=Status.FAILED, finished_at=timezone.now()
    )
    sweep()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


def let_build(worker: Running) -> None:
    """Lets the worker build, which would else take the build away from us."""
    queued = request_build()
    wait_until(lambda: is_over(queued), worker)


def test_a_worker_mends_it_without_anybody(
    story: Story, winter: Booking, directory: SnapshotDirectory, worker: Running
) -> None:
    let_build(worker)
    Campaign.objects.filter(pk=winter.campaign_id).update(bid_cpm=4)
    let_build(worker)
    Booking.objects.filter(pk=winter.pk).update(is_active=False)
    write_changes()
    SNAPSHOT_DAMAGES["index removed"](directory)
    server = Server(directory)
    assert server.ask(AMERICAN) == [story.at_herald.pk]
    assert server.service.recovery
    app.send_task("snapshots.sweep")

    def is_mended() -> bool:
        assert server.ask(AMERICAN) == [story.at_herald.pk]
        return server.service.recovery is None

    wait_until(is_mended, worker)

"""Builds as rows: asked for, claimed, made live, given up; in this process, on real Postgres."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.utils import timezone

from exchange.accounts.models import Organisation, Role
from exchange.market.models import Booking, Campaign, Edge, ValueList
from exchange.market.services import save_value_list
from exchange.serving.directory import INDEX_FILE, MANIFEST_FILE, SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.snapshots import services
from exchange.snapshots.activation import KEPT_SNAPSHOTS, activate
from exchange.snapshots.build_requests import request_build
from exchange.snapshots.building import Built
from exchange.snapshots.checking import check_snapshot
from exchange.snapshots.models import Phase, Quarantined, SnapshotBuild
from exchange.snapshots.progress import BuildLostError
from exchange.snapshots.services import MAX_ATTEMPTS, claim, run_build, sweep
from tests.people import hire
from tests.snapshots.steps import AMERICAN, build, eligible, make_stale
from tests.snapshots.story import Story, run_campaign

Status = SnapshotBuild.Status


def test_build_goes_live_and_is_served(story: Story, directory: SnapshotDirectory) -> None:
    done = build()
    assert (done.status, done.booking_count, done.skipped_count) == (Status.LIVE, 2, 0)
    assert done.percent == 100
    manifest = directory.read_manifest()
    assert manifest is not None
    assert (manifest.snapshot_id, manifest.read_at) == (done.snapshot_id, done.read_at)
    assert directory.read_info(done.snapshot_id).campaign_count == 1
    assert done.size_bytes > 0
    assert eligible(directory, AMERICAN, "daily-herald") == [story.at_herald.pk]
    assert eligible(directory, AMERICAN, "evening-tribune") == [story.at_tribune.pk]


def test_every_edge_on_the_path_must_hold(story: Story, directory: SnapshotDirectory) -> None:
    build()
    child = {**AMERICAN, "user.age": 12}
    assert eligible(directory, child, "daily-herald") == []
    assert eligible(directory, child, "evening-tribune") == [story.at_tribune.pk]


def test_path_is_the_cheapest_and_changes_with_the_graph(
    story: Story, directory: SnapshotDirectory
) -> None:
    def item() -> dict[str, object]:
        answer = EligibilityService(directory.root).answer("daily-herald", AMERICAN).document()
        found: dict[str, object] = answer["eligible"][0]
        return found

    build()
    assert item()["path"] == ["daily-herald", "northgate", "solberg-soda"]
    assert item()["net_cpm"] == 3.6
    Edge.objects.filter(pk=story.northgate_to_soda.pk).update(is_active=False)
    build()
    assert item()["path"] == ["daily-herald", "southgate", "solberg-soda"]
    assert item()["net_cpm"] == 3.4


def test_flight_is_honoured(story: Story, directory: SnapshotDirectory) -> None:
    now = timezone.now()
    Campaign.objects.filter(pk=story.summer.pk).update(
        starts_at=now - timedelta(days=2), ends_at=now - timedelta(days=1)
    )
    build()
    service = EligibilityService(directory.root)
    assert service.answer("daily-herald", AMERICAN).count == 0
    in_flight = now - timedelta(days=1, hours=12)
    assert service.answer("daily-herald", AMERICAN, at=in_flight).count == 1


def test_bookings_that_cannot_be_built_are_kept_with_their_reason(
    story: Story, directory: SnapshotDirectory
) -> None:
    broken = run_campaign(story.soda, "Broken", "shoe_size = 43")
    left_out = Booking.objects.create(campaign=broken, publisher=story.herald)
    done = build()
    assert (done.status, done.booking_count, done.skipped_count) == (Status.LIVE, 2, 1)
    assert done.skipped[0]["booking_id"] == left_out.pk
    assert "shoe_size" in done.skipped[0]["reason"]
    assert eligible(directory, AMERICAN, "daily-herald") == [story.at_herald.pk]


@pytest.mark.django_db(transaction=True)
def test_empty_market_can_be_built(directory: SnapshotDirectory) -> None:
    assert build().booking_count == 0
    assert eligible(directory, {}, "nobody") == []


def test_next_build_replaces_the_live_one(story: Story) -> None:
    first = build()
    Campaign.objects.filter(pk=story.summer.pk).update(name="Winter")
    second = build()
    first.refresh_from_db()
    assert (first.status, second.status) == (Status.REPLACED, Status.LIVE)
    assert first.snapshot_id != second.snapshot_id


def test_same_market_gives_the_same_snapshot(
    story: Story,
    directory: SnapshotDirectory,
) -> None:
    assert build().snapshot_id == build().snapshot_id
    assert len(directory.snapshot_ids()) == 1


def test_only_the_last_snapshots_are_kept(story: Story, directory: SnapshotDirectory) -> None:
    for number in range(KEPT_SNAPSHOTS + 2):
        Campaign.objects.filter(pk=story.summer.pk).update(name=f"Summer {number}")
        last = build()
    assert len(directory.snapshot_ids()) == KEPT_SNAPSHOTS
    assert last.snapshot_id in directory.snapshot_ids()


@pytest.mark.django_db(transaction=True)
def test_burst_of_requests_is_one_waiting_build() -> None:
    found: list[int] = []

    def ask() -> None:
        found.append(request_build().pk)
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == SnapshotBuild.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_request_during_a_build_is_another_build() -> None:
    first = request_build()
    assert claim(build_id=first.pk)
    assert request_build().pk != first.pk


@pytest.mark.django_db(transaction=True)
def test_waiting_build_does_not_start_before_the_requester_commits() -> None:
    """Waits, because it would else read the market without the change that it was asked for."""
    waiting = request_build()
    is_claimed = threading.Event()

    def claim_elsewhere() -> None:
        claim(build_id=waiting.pk)
        is_claimed.set()
        connection.close()

    claimer = threading.Thread(target=claim_elsewhere)
    with transaction.atomic():
        request_build()
        claimer.start()
        assert not is_claimed.wait(0.3)
    claimer.join()
    assert is_claimed.is_set()


@pytest.mark.django_db(transaction=True)
def test_build_is_claimed_once_and_runs_alone() -> None:
    first = request_build()
    assert claim(build_id=first.pk)
    assert not claim(build_id=first.pk)
    second = request_build()
    assert not run_build(build_id=second.pk)
    second.refresh_from_db()
    assert second.status == Status.QUEUED


@pytest.mark.django_db(transaction=True)
def test_lost_build_is_given_up_and_tried_again() -> None:
    lost = request_build()
    assert claim(build_id=lost.pk)
    sweep()
    lost.refresh_from_db()
    assert lost.status == Status.BUILDING
    make_stale(lost)
    sweep()
    lost.refresh_from_db()
    assert lost.status == Status.FAILED
    assert "worker was lost" in lost.error
    retry = SnapshotBuild.objects.get(status=Status.QUEUED)
    assert retry.attempt == 2


@pytest.mark.django_db(transaction=True)
def test_build_that_keeps_losing_its_worker_is_not_tried_for_ever() -> None:
    SnapshotBuild.objects.create(attempt=MAX_ATTEMPTS)
    lost = request_build()
    assert claim(build_id=lost.pk)
    make_stale(lost)
    sweep()
    assert not SnapshotBuild.objects.filter(status=Status.QUEUED).exists()


def test_build_that_was_given_up_never_goes_live(
    story: Story,
    directory: SnapshotDirectory,
) -> None:
    done = build()
    manifest = directory.read_manifest()
    SnapshotBuild.objects.filter(pk=done.pk).update(status=Status.FAILED)
    with pytest.raises(BuildLostError):
        activate(build=done)
    assert directory.read_manifest() == manifest


def test_failing_build_says_why_and_changes_nothing(
    story: Story, directory: SnapshotDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build()

    def damage(*, built: Built, folder: Path, advance: Callable[[int], None]) -> None:
        index = folder / INDEX_FILE
        index.write_bytes(index.read_bytes()[:-8])
        check_snapshot(built=built, folder=folder, advance=advance)

    monkeypatch.setattr(services, "check_snapshot", damage)
    Campaign.objects.filter(pk=story.summer.pk).update(name="Winter")
    queued = request_build()
    with pytest.raises(ValueError, match=INDEX_FILE):
        run_build(build_id=queued.pk)
    queued.refresh_from_db()
    assert queued.status == Status.FAILED
    assert INDEX_FILE in queued.error
    names = {path.name for path in directory.root.iterdir()}
    assert {first.snapshot_id, MANIFEST_FILE} <= names
    assert not [name for name in names if name.startswith(".staged")]
    assert len([name for name in names if name.startswith(".failed")]) == 1
    manifest = directory.read_manifest()
    assert manifest is not None
    assert manifest.snapshot_id == first.snapshot_id


def test_progress_names_every_phase_in_order(story: Story) -> None:
    seen: list[tuple[Phase, int, int]] = []
    queued = request_build()
    run_build(build_id=queued.pk, listener=lambda *state: seen.append(state))
    phases = list(dict.fromkeys(phase for phase, _, _ in seen))
    assert phases == list(Phase)
    assert (Phase.INDEXING, 2, 2) in seen


def test_former_text_that_uses_a_list_is_served_by_the_next_build(
    story: Story, directory: SnapshotDirectory
) -> None:
    """Uses the list nowhere else: its condition is found only with the good form."""
    erin = hire("erin", Role.ADMIN, Organisation.objects.get())
    save_value_list(
        value_list=ValueList(organisation=story.soda.organisation, name="nordics"),
        values=["SWE", "NOR"],
        by=erin,
    )
    Campaign.objects.update(expression="geo.country in $nordics")
    Campaign.objects.update(expression="nonsense")
    build()
    assert eligible(directory, AMERICAN, "daily-herald") == []
    swede = {**AMERICAN, "geo.country": "SWE"}
    assert eligible(directory, swede, "daily-herald") == [story.at_herald.pk]


def test_campaign_without_a_booking_is_quarantined_too(story: Story) -> None:
    lonely = run_campaign(story.soda, "Lonely", "nonsense")
    build()
    assert [row.object_id for row in Quarantined.objects.all()] == [lonely.pk]
